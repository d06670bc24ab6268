import { rm } from 'node:fs/promises'
import type { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../../src/app.js'
import { readConfig } from '../../src/config/config.js'
import { openDatabase } from '../../src/data/database.js'
import { migrate } from '../../src/data/migrate.js'
import { signToken } from '../../src/http/auth/sign-token.js'
import { type EdmType, ENTITIES } from '../../src/model/model.js'
import { createSender, FULL_GRANT } from '../support/app.js'
import { rowsOf } from '../support/assertions.js'
import { copyDataDir, DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { DATABASE_LIMITS } from '../support/setup.js'

// Values that clients cannot read: no writer can store them, and those of older databases become null.

const BAD_TIMES = ['infinity', '-infinity', '0044-03-15 12:00:00Z BC', '10000-01-01 00:00:00Z']
const BAD_VALUES: { readonly [type in EdmType]?: readonly string[] } = {
  Decimal: ['NaN', 'Infinity', '-Infinity', 'NaN'],
  Date: ['infinity', '-infinity', '0044-03-15 BC', '10000-01-01'],
  DateTimeOffset: BAD_TIMES,
}
const GOOD_VALUES: { readonly [type in EdmType]?: readonly string[] } = {
  Decimal: ['-1e300', '1e300'],
  Date: ['0001-01-01', '9999-12-31'],
  DateTimeOffset: ['0001-01-01T00:00:00Z', '9999-12-31T23:59:59.999Z'],
}

interface Column {
  readonly table: string
  readonly name: string
  readonly bad: readonly string[]
  readonly good: readonly string[]
}

const COLUMNS: readonly Column[] = [...ENTITIES.values()].flatMap(({ name: table, fields, hidden }) =>
  [...fields.values(), ...hidden.values()].flatMap(field => {
    const bad = field.kind === 'scalar' ? BAD_VALUES[field.type] : undefined
    const good = field.kind === 'scalar' ? GOOD_VALUES[field.type] : undefined
    return bad && good ? [{ table, name: field.name, bad, good }] : []
  }),
)
/** Columns that triggers set to the present time with a change of another column, or of the photos. */
const STAMPED = ['ModificationTimestamp', 'EventTimestamp', 'PhotosChangeTimestamp', 'MediaChangeTimestamp']
const KEYS = ['K1', 'K2', 'K3', 'K4']

const isPresent = (value: unknown) => value === null || /^20\d\d-/.test(String(value))

const columnsOf = (table: string) => COLUMNS.filter(column => column.table === table)

/** One record of each entity for each key. Listings, their children and their people have events. */
async function insertRecords(client: Client): Promise<void> {
  for (const key of KEYS)
    await client.query(`
      insert into "Lookup" ("LookupKey", "LookupName", "LookupValue") values ('${key}', 'Roof', '${key}');
      insert into "Member" ("MemberKey") values ('${key}');
      insert into "Office" ("OfficeKey") values ('${key}');
      insert into "Property" ("ListingKey", "StandardStatus", "ListAgentKey", "ListPrice") values ('${key}', 'Active', '${key}', 5);
      insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey") values ('${key}', 'Property', '${key}');
      insert into "Rooms" ("RoomKey", "ListingKey") values ('${key}', '${key}');
      insert into "OpenHouse" ("OpenHouseKey", "ListingKey") values ('${key}', '${key}')`)
}

/** Drops the constraints, as in a database of an earlier version, and writes bad values to all columns. */
async function storeBadValues(client: Client): Promise<void> {
  const { rows } = await client.query<{ readonly statement: string }>(
    `select format('alter table %s drop constraint %I', conrelid::regclass, conname) as statement from pg_constraint where contype = 'c' and connamespace = 'public'::regnamespace`,
  )
  for (const { statement } of rows) await client.query(statement)
  await client.query(`drop function if exists check_values, replace_bad_values;
    delete from "_prisma_migrations" where migration_name like '%_value_checks'`)
  await insertRecords(client)
  for (const { name: table, key } of ENTITIES.values())
    for (const [i, record] of KEYS.entries()) {
      const assignments = columnsOf(table).map(({ name, bad }) => `"${name}" = '${bad[i]}'`)
      const condition =
        table === 'EntityEvent' ? `"ResourceRecordKey" = '${record}'` : `"${key.name}" = '${record}'`
      // Only an import sets its own ModificationTimestamp.
      await client.query(`begin; set local listing.import = 'on'`)
      await client.query(`update "${table}" set ${assignments.join(', ')} where ${condition}`)
      await client.query('commit')
    }
}

interface StartedService {
  readonly warnings: readonly string[]
  readonly send: ReturnType<typeof createSender>
  readonly server: RunningServer
}

describe.each(DATABASE_KINDS)('a %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await database.withClient(insertRecords)
  })
  afterAll(() => database?.close())

  test('refuses values that clients cannot read in each column, and accepts the first and last values', async () => {
    expect(COLUMNS.length).toBeGreaterThan(40)
    await database.withClient(async client => {
      const write = ({ table, name }: Column, value: string) =>
        client
          .query(`begin; set local listing.import = 'on'; update "${table}" set "${name}" = '${value}'`)
          .then(
            () => 'stored',
            (error: { readonly code?: string }) => error.code,
          )
      for (const column of COLUMNS) {
        const results: unknown[] = []
        for (const value of [...column.bad, ...column.good]) {
          results.push(await write(column, value))
          await client.query('rollback')
        }
        expect([column.table, column.name, ...results]).toEqual([
          column.table,
          column.name,
          ...column.bad.map(() => '23514'),
          ...column.good.map(() => 'stored'),
        ])
      }
    })
  })

  test('gets constraints for new columns at the next start, and none twice', async () => {
    const readConstraints = () =>
      database.prisma.$queryRawUnsafe(
        `select oid::text, conname from pg_constraint where contype = 'c' order by 1`,
      )
    const before = await readConstraints()
    const warnings: string[] = []
    const start = () => migrate(database, undefined, { onWarning: message => warnings.push(message) })
    await start()
    expect(await readConstraints()).toEqual(before)
    await database.withClient(async client => {
      await client.query(`alter table "Rooms" add column "NewArea" numeric, add column "NewDate" date`)
      await client.query(
        `update "Rooms" set "NewArea" = 'NaN', "NewDate" = 'infinity' where "RoomKey" = 'K1'`,
      )
      await start()
      expect(warnings).toEqual([
        "Rooms 'K1': NewDate was infinity, which clients cannot read, and is null now",
        "Rooms 'K1': NewArea was NaN, which clients cannot read, and is null now",
      ])
      for (const column of [`"NewArea" = 'Infinity'`, `"NewDate" = '0044-03-15 BC'`, `"RoomArea" = 'NaN'`])
        await expect(client.query(`update "Rooms" set ${column}`)).rejects.toMatchObject({ code: '23514' })
      await client.query(`alter table "Rooms" drop column "NewArea", drop column "NewDate"`)
      await start()
      await expect(client.query(`update "Rooms" set "RoomArea" = 'NaN'`)).rejects.toMatchObject({
        code: '23514',
      })
    })
  })
})

describe.each(DATABASE_KINDS)('an older %s database with values that clients cannot read', kind => {
  let env: Readonly<Record<string, string>>
  let remove: () => Promise<void>
  beforeAll(async () => {
    if (kind === 'server') {
      const database = await openTestDatabase(kind)
      env = { DATABASE_URL: database.settings.databaseUrl ?? '' }
      remove = () => database.close()
      await database.withClient(storeBadValues)
    } else {
      const dataDir = await copyDataDir()
      env = { DATA_DIR: dataDir, SAMPLE_DATA: 'false' }
      remove = () => rm(dataDir, { recursive: true, force: true })
      const database = await openDatabase({ ...DATABASE_LIMITS, dataDir }, 'command')
      await database.withClient(storeBadValues).finally(() => database.close())
    }
  })
  afterAll(async () => {
    await remove?.()
  })

  async function start(readEngine: 'sql' | 'prisma'): Promise<StartedService> {
    const settings = {
      JWT_SECRET: 'a secret of the tests, long enough for HS256',
      LOG_LEVEL: 'warn',
      PORT: '0',
      READ_ENGINE: readEngine,
      ...env,
    }
    const config = readConfig(settings)
    const warnings: string[] = []
    const logger = pino({ level: 'warn' }, { write: line => warnings.push(JSON.parse(line).msg) })
    const server = await startServer(config, logger, () => undefined)
    if (!config.jwtSecret) throw new Error('These settings have no secret')
    const authorization = `Bearer ${signToken(FULL_GRANT, config.jwtSecret, config)}`
    return { warnings, server, send: createSender(`http://127.0.0.1:${server.port}`, authorization) }
  }

  test.each(['sql', 'prisma'] as const)(
    'reads them as null with READ_ENGINE=%s',
    { timeout: 60_000 },
    async engine => {
      const { warnings, server, send } = await start(engine)
      try {
        // The first start replaces them and logs each. The second finds none.
        const replaced = warnings.filter(line => line.includes('which clients cannot read'))
        if (engine === 'sql') expectWarnings(replaced)
        else expect(replaced).toEqual([])
        // The service keeps no rows of Field but its own.
        const tables = [...ENTITIES.keys()].filter(name => name !== 'Field')
        for (const table of tables) await expectNulls(send, table)
        for (const type of ['application/x-ndjson', 'text/csv']) {
          const { status, text } = await send('/odata/Property', { headers: { Accept: type } })
          expect([status, text]).toEqual([200, expect.not.stringMatching(/NaN|infinity|BC|10000-/i)])
        }
        await expectGraphQLNulls(send)
        const found = await send(
          '/odata/Property?$filter=ListPrice eq null and CloseDate eq null&$select=ListingKey',
        )
        expect(rowsOf(found).map(row => row['ListingKey'])).toEqual(KEYS)
        // A change of another field is accepted.
        for (const key of KEYS) {
          const body = { ChangedByMemberKey: 'K1', City: `Waco ${engine}` }
          const answer = await send(`/odata/Property('${key}')`, { method: 'PATCH', body })
          expect([answer.status, answer.json]).toMatchObject([
            200,
            { City: `Waco ${engine}`, ListPrice: null },
          ])
        }
      } finally {
        await server.close()
      }
    },
  )

  /** There is a line for each value, except those that a change of another column replaced. */
  function expectWarnings(lines: readonly string[]): void {
    const expected = COLUMNS.filter(({ name }) => !STAMPED.includes(name)).flatMap(({ table, name }) =>
      KEYS.map(key => `${table} '${key}': ${name} was `),
    )
    expect(expected.filter(start => !lines.some(line => line.startsWith(start)))).toEqual([])
    expect(lines).toContain("Property 'K1': ListPrice was NaN, which clients cannot read, and is null now")
    expect(lines.filter(line => line.startsWith("EntityEvent '"))).toContainEqual(
      expect.stringMatching(
        /^EntityEvent '\d+, public': EventTimestamp was .+, and is the present time now$/,
      ),
    )
  }

  /** The table's records have null in all columns but those that each write sets. */
  async function expectNulls(send: StartedService['send'], table: string): Promise<void> {
    const key = table === 'EntityEvent' ? 'ResourceRecordKey' : ENTITIES.get(table)?.key.name
    const answer = await send(`/odata/${table}?$filter=${key} in ('${KEYS.join("','")}')`)
    expect([table, answer.status, answer.text]).toEqual([
      table,
      200,
      expect.not.stringMatching(/NaN|infinity|BC"|10000-|-00T/i),
    ])
    const rows = rowsOf(answer)
    expect(rows.length, table).toBeGreaterThanOrEqual(KEYS.length)
    const shown = columnsOf(table).filter(({ name }) => name in (rows[0] ?? {}))
    for (const row of rows)
      expect(Object.fromEntries(shown.map(({ name }) => [name, row[name]])), table).toEqual(
        Object.fromEntries(
          shown.map(({ name }) => [name, STAMPED.includes(name) ? expect.toSatisfy(isPresent) : null]),
        ),
      )
  }

  async function expectGraphQLNulls(send: StartedService['send']): Promise<void> {
    const names = columnsOf('Property').map(({ name }) => name)
    const query = `{ properties(first: 10, orderBy: [{ ListPrice: DESC }]) { nodes { ListingKey ${names.join(' ')} } } }`
    const { json } = await send('/graphql', { method: 'POST', body: { query } })
    const nulls = Object.fromEntries(names.filter(name => !STAMPED.includes(name)).map(name => [name, null]))
    expect(json).toMatchObject({ data: { properties: { nodes: KEYS.map(() => nulls) } } })
  }
})
