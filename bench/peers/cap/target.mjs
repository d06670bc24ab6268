import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clusterPort, psql, SHARED } from '../../data/cluster.mjs'
import { isRequired, KEY, TABLES } from '../../data/tables.mjs'
import { toODataForms, withConstant } from '../../forms-odata.mjs'

// SAP CAP. It uses lower-case names and stores collections as jsonb, so views in a separate schema map them
// to the shared tables.

const ROOT = '/odata/v4/svc'
const odata = toODataForms(ROOT)

export const forms = {
  cap: {
    ...odata,
    'filter-functions': withConstant(odata['filter-functions']),
    // Its next links contain a row count, so page 1,000 can be requested directly.
    'page-1000': values => ({
      path: `${odata['page-1'](values).path}&$skip=${(values.page - 1) * values.size}`,
    }),
    walk: {
      first: () => ({ path: `${ROOT}/Property?$orderby=ModificationTimestamp,ListingKey` }),
      next: ({ link }) => link && { path: link.startsWith('/') ? link : `${ROOT}/${link}` },
    },
  },
}
export const skips = { 'any-lambda': 'CAP has no lambda on a collection of texts' }

const TYPES = { i: 'Integer', t: 'Timestamp', D: 'Date', b: 'Boolean', c: 'many String' }
const toText = name => (/Remarks|Directions|URL|Description/.test(name) ? 'String(8000)' : 'String(255)')
const toType = ({ name, type }) =>
  type === 's' ? toText(name) : (TYPES[type] ?? `Decimal(${type.slice(1).replace('.', ',')})`)
const STAMP = ' @cds.on.insert : $now @cds.on.update : $now'
const NAVIGATIONS =
  'Media : Association to many Media on Media.ResourceRecordKey = ListingKey; Rooms : Association to many Rooms on Rooms.ListingKey = ListingKey; ListAgent : Association to one Member on ListAgent.MemberKey = ListAgentKey;'

function toEntity([table, columns]) {
  const isListing = table === 'Property'
  const elements = columns.map(
    c =>
      `${c.name === KEY[table] ? 'key ' : ''}![${c.name}] : ${toType(c)}${isListing && c.name === 'ModificationTimestamp' ? STAMP : ''};`,
  )
  return `entity ${table} { ${elements.join(' ')} ${isListing ? NAVIGATIONS : ''} }`
}

const toLower = name => (name === 'Order' ? '"order"' : name.toLowerCase())

function toViews([table, columns]) {
  const view = table.toLowerCase()
  const list = columns.map(
    ({ name, type }) => `${type === 'c' ? `to_jsonb("${name}")` : `"${name}"`} AS ${toLower(name)}`,
  )
  return `CREATE VIEW cap.${view} AS SELECT ${list.join(',')} FROM public."${table}"; CREATE VIEW cap.svc_${view} AS SELECT * FROM cap.${view};`
}

const inserted = TABLES.Property.filter(column => isRequired('Property', column) && column.type !== 'c').map(
  ({ name }) => name,
)
/** It inserts every column through the view, with collections as text. */
const INSERTS = `CREATE FUNCTION cap.ins() RETURNS trigger LANGUAGE plpgsql AS $f$ BEGIN INSERT INTO public."Property" (${inserted.map(name => `"${name}"`)})
  VALUES (${inserted.map(name => `new.${name.toLowerCase()}`)}); RETURN new; END $f$; CREATE TRIGGER ins INSTEAD OF INSERT ON cap.property FOR EACH ROW EXECUTE FUNCTION cap.ins();
  DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_cast WHERE castsource = 'text'::regtype AND casttarget = 'jsonb'::regtype) THEN CREATE CAST (text AS jsonb) WITH INOUT AS ASSIGNMENT; END IF; END $$;`
/**
 * It sorts null lowest, as OData requires, and needs indexes for that. All servers pay for them in writes.
 */
const INDEXES = `CREATE INDEX IF NOT EXISTS cap_1 ON "Property" ("City","ListPrice" NULLS FIRST,"ListingKey" NULLS FIRST);
  CREATE INDEX IF NOT EXISTS cap_2 ON "Property" ("StandardStatus","ModificationTimestamp" NULLS FIRST,"ListingKey" NULLS FIRST);
  CREATE INDEX IF NOT EXISTS cap_3 ON "Property" ("ModificationTimestamp" NULLS FIRST,"ListingKey" NULLS FIRST); ANALYZE "Property";`

const tables = Object.keys(TABLES)
const MODEL = Object.entries(TABLES).map(toEntity).join('\n')
const SERVICE = `using { ${tables.map(t => `${t} as ${t}_`).join(', ')} } from '../db/schema';
service svc @(path:'${ROOT}') { ${tables.map(t => `entity ${t} as projection on ${t}_;`).join(' ')} }`

const settingsFor = pool => ({
  query: { limit: { default: 1000, max: 1000 } },
  requires: {
    auth: { kind: 'dummy' },
    db: {
      kind: 'postgres',
      impl: '@cap-js/postgres',
      credentials: {
        host: '127.0.0.1',
        port: clusterPort,
        user: 'postgres',
        password: 'x',
        database: SHARED,
      },
      pool: { min: 2, max: pool },
      client: { options: '-c timezone=UTC -c search_path=cap,public -c plan_cache_mode=force_custom_plan' },
    },
  },
  log: { levels: { cds: 'warn', odata: 'warn' } },
})

export const server = {
  name: 'cap',
  port: 4821,
  database: SHARED,
  settle: 1500,
  command: ({ cwd }) => [process.execPath, `${cwd}/node_modules/@sap/cds/bin/serve.js`, 'all'],
  prepare({ cwd, env }) {
    psql(
      `DROP SCHEMA IF EXISTS cap CASCADE; CREATE SCHEMA cap; ${Object.entries(TABLES).map(toViews).join('\n')} ${INSERTS} ${INDEXES}`,
      SHARED,
    )
    for (const folder of ['db', 'srv']) mkdirSync(join(cwd, folder), { recursive: true })
    writeFileSync(join(cwd, 'db/schema.cds'), MODEL)
    writeFileSync(join(cwd, 'srv/svc.cds'), SERVICE)
    writeFileSync(join(cwd, '.cdsrc.json'), JSON.stringify(settingsFor(Number(env.POOL))))
  },
}
