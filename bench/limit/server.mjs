import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { WIDE } from '../data/tables.mjs'
import { STATEMENTS, updateOf } from './statements.mjs'

// The limit of the machine: node:http, a pool of pg, prepared statements, and result bytes that are passed
// on. It parses no query language and no tokens, and checks only that a member exists. The path names
// statement and values: /limit/NAME?values.

const PORT = Number(process.env.PORT)
const openPool = options =>
  new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10, options, idleTimeoutMillis: 0 })
const prepared = openPool('-c timezone=UTC')
// These statements are planned for each value. The others use one generic plan.
const planned = openPool('-c timezone=UTC -c plan_cache_mode=force_custom_plan')
const PLANNED = new Set([
  'list-200-status',
  'filter-functions',
  'any-lambda',
  'sorted-unindexed',
  'map-box',
  'address-contains',
  'radius-by-distance',
  'search-sorted',
])

const run = async (name, values) =>
  (await (PLANNED.has(name) ? planned : prepared).query({ name, text: STATEMENTS[name], values })).rows

const CONTEXT = '"@odata.context":"$metadata#Property"'
const join = rows => `[${rows.map(({ json }) => json).join(',')}]`
const toPage = json => `{${CONTEXT},"value":${json}}`

const FORMS = {
  'by-key': ([row]) => row && `{"@odata.context":"$metadata#Property/$entity",${row.json.slice(1)}`,
  'list-50-wide': rows => toPage(join(rows)),
  'sorted-unindexed': rows => toPage(join(rows)),
  'count-only': ([{ json }]) => `{${CONTEXT},"@odata.count":${json},"value":[]}`,
  'gql-nested': ([{ json }]) => `{"data":{"properties":${json}}}`,
}
const toList = ([{ json }]) => toPage(json)

async function readPage(name, query) {
  const after = query.get('time')
  const rows = await run(after ? `${name}-after` : name, [
    query.get('size'),
    ...(after ? [after, query.get('key')] : []),
  ])
  const last = name === 'page' ? rows[0] : rows.at(-1)
  const { time, key } = name === 'page' || !last ? (last ?? {}) : toCursor(JSON.parse(last.json))
  const link = `http://127.0.0.1:${PORT}/limit/${name}?size=${query.get('size')}&time=${encodeURIComponent(time)}&key=${key}`
  return key
    ? `{${CONTEXT},"value":${name === 'page' ? last.json : join(rows)},"@odata.nextLink":"${link}"}`
    : toPage('[]')
}

const toCursor = record => ({ time: record.ModificationTimestamp, key: record.ListingKey })

const FIELDS = new Set(WIDE)

async function change(key, body) {
  const fields = Object.keys(body).sort()
  if (!fields.every(name => FIELDS.has(name))) return 400
  const { rowCount } = await prepared.query({
    name: fields.join().slice(0, 60),
    text: updateOf(fields),
    values: [key, ...fields.map(name => body[name])],
  })
  return rowCount ? 204 : 404
}

let created = 0
const toDraft = b => [
  `Draft${process.pid}-${Date.now().toString(36)}-${created++}`,
  b.ListAgentKey,
  b.ListOfficeKey,
  b.PropertyType,
  b.StreetNumber,
  b.StreetName,
  b.City,
]

function send(res, status, body = '') {
  res
    .writeHead(status, {
      'OData-Version': '4.01',
      ...(body && { 'Content-Type': 'application/json' }),
      'Content-Length': Buffer.byteLength(body),
    })
    .end(body)
}

const METHODS = {
  async GET(res, name, query) {
    const paged = name === 'page' || name.startsWith('walk')
    const body = paged
      ? await readPage(name, query)
      : (FORMS[name] ?? toList)(await run(name, [...query.values()]))
    send(res, body ? 200 : 404, body)
  },
  async PATCH(res, _name, query, req) {
    send(res, await change(query.get('key'), JSON.parse(await text(req))))
  },
  async POST(res, _name, _query, req) {
    const [row] = await run('create', toDraft(JSON.parse(await text(req))))
    send(res, row ? 201 : 400, row && `{${CONTEXT},${row.json.slice(1)}`)
  },
  async DELETE(res, _name, query) {
    const { rowCount } = await prepared.query({
      name: 'delete',
      text: STATEMENTS.delete,
      values: [query.get('key')],
    })
    send(res, rowCount ? 204 : 404)
  },
}

createServer((req, res) => {
  const [path, query] = req.url.split('?')
  METHODS[req.method](res, path.slice('/limit/'.length), new URLSearchParams(query), req).catch(error => {
    process.stderr.write(`${error.stack}\n`)
    if (!res.headersSent) send(res, 500)
  })
}).listen(PORT, '127.0.0.1')
