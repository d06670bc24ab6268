import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { SERVICE } from '../data/cluster.mjs'
import { NARROW, ROOMS } from '../data/tables.mjs'
import { toGraphQLForms } from '../forms-graphql.mjs'
import { toODataForms } from '../forms-odata.mjs'
import { READERS, WORKLOADS } from '../workloads.mjs'

// The service with its normal settings. The token may read and write every listing, so that all servers
// return the same rows.

const home = fileURLToPath(new URL('../../', import.meta.url))
const env = { JWT_SECRET: randomBytes(32).toString('hex'), LOG_LEVEL: 'info' }

const ROOT = '/odata/Property'
const LIST = `$top=20&$select=${NARROW}`
const encode = text => encodeURIComponent(text).replaceAll("'", '%27')

/** Requests that the other servers do not support. */
const OWN_FORMS = {
  'radius-by-distance': ({ latitude, longitude }) => {
    const distance = `geo.distance(GeoLocation,geography'SRID=4326;POINT(${longitude} ${latitude})')`
    return {
      path: `${ROOT}?$filter=${encode(`${distance} le 5000 and StandardStatus eq 'Active'`)}&$orderby=${encode(distance)}&${LIST}`,
    }
  },
  'search-sorted': ({ word }) => ({
    path: `${ROOT}?$search=${word}&$orderby=ListPrice%20desc,ListingKey%20desc&${LIST}`,
  }),
}

const WIDE_WALK = toODataForms('/odata').walk
const PAGE_OF_DELTA = { Prefer: 'maxpagesize=1000' }

/** Pages with all fields, with other headers. */
const walkWith = headers => {
  const withHeaders = request => request && { ...request, headers }
  return {
    first: values => withHeaders(WIDE_WALK.first(values)),
    next: page => withHeaders(WIDE_WALK.next(page)),
  }
}

/** Reads of replication. */
Object.assign(OWN_FORMS, {
  'log-read': ({ after, size }) => ({
    path: `/odata/EntityEvent?$filter=${encode(`EntityEventSequence gt ${after}`)}&$orderby=EntityEventSequence&$top=${size}`,
  }),
  delta: {
    prepare: async ({ keys, member }, read, write) => {
      const { '@odata.deltaLink': link } = await read({ path: `${ROOT}?$deltatoken=latest` })
      const patch = toODataForms('/odata')['patch-single']
      for (const [n, key] of keys.entries()) await write(patch({ key, price: 100_000 + n, member }))
      return { path: link.replace(/^https?:\/\/[^/]+/, ''), headers: PAGE_OF_DELTA }
    },
    next: walkWith(PAGE_OF_DELTA).next,
  },
  export: () => ({ path: ROOT, headers: { Accept: 'application/x-ndjson' } }),
  'walk-gzip': walkWith({ 'Accept-Encoding': 'gzip' }),
  'walk-omit-nulls': walkWith({ Prefer: 'omit-values=nulls' }),
  'walk-expand': {
    first: values => {
      const { path } = WIDE_WALK.first(values)
      return { path: `${path}&$expand=Media,Rooms($select=${ROOMS})` }
    },
    next: WIDE_WALK.next,
  },
})

/** Adds the workloads of other readers, which send the same requests with tokens of their own. */
const forReaders = own => {
  const others = Object.entries(WORKLOADS).filter(([, { reader }]) => reader)
  return { ...own, ...Object.fromEntries(others.map(([name, { form }]) => [name, own[form]])) }
}

export const forms = {
  odata: forReaders(toODataForms('/odata', OWN_FORMS)),
  graphql: forReaders(toGraphQLForms('/graphql')),
}

const GRANTS = {
  staff: ['--scope', 'listings:read listings:write listings:write:any', '--class', 'staff'],
  member: [
    '--scope',
    'listings:read listings:write',
    '--class',
    'member',
    '--member',
    'M00001',
    '--office',
    'O0001',
  ],
  public: ['--scope', 'listings:read', '--class', 'public'],
}

function authorize(reader, variables) {
  const token = spawnSync(
    process.execPath,
    ['--import', './src/typescript.mjs', 'src/cli/token.ts', ...GRANTS[reader], '--expires', '1d'],
    { cwd: home, env: variables, encoding: 'utf8' },
  )
  return { Authorization: `Bearer ${token.stdout.trim()}` }
}

export const server = {
  name: 'service',
  port: 4830,
  database: SERVICE,
  env,
  cwd: home,
  command: () => [process.execPath, '--import', './src/typescript.mjs', 'src/main.ts'],
  headers: ({ env: all }) => authorize('staff', all),
  headersOf: ({ env: all }) => Object.fromEntries(READERS.map(reader => [reader, authorize(reader, all)])),
}
