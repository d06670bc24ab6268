import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { SERVICE } from '../data/cluster.mjs'
import { NARROW } from '../data/tables.mjs'
import { toGraphQLForms } from '../forms-graphql.mjs'
import { toODataForms } from '../forms-odata.mjs'

// The service with its normal settings. The token may read and write every listing, so that all servers
// return the same rows.

const home = fileURLToPath(new URL('../../', import.meta.url))
const env = { JWT_SECRET: randomBytes(32).toString('hex'), LOG_LEVEL: 'info' }

const ROOT = '/odata/Property'
const LIST = `$top=20&$select=${NARROW}`
const encode = text => encodeURIComponent(text).replaceAll("'", '%27')

/** Requests that the rivals have no form for. */
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

export const forms = { odata: toODataForms('/odata', OWN_FORMS), graphql: toGraphQLForms('/graphql') }

export const server = {
  name: 'service',
  port: 4830,
  database: SERVICE,
  env,
  cwd: home,
  command: () => [process.execPath, '--import', './src/typescript.mjs', 'src/main.ts'],
  headers: ({ env: all }) => {
    const token = spawnSync(
      process.execPath,
      [
        '--import',
        './src/typescript.mjs',
        'src/cli/token.ts',
        '--scope',
        'listings:read listings:write listings:write:any',
        '--class',
        'staff',
        '--expires',
        '1d',
      ],
      { cwd: home, env: all, encoding: 'utf8' },
    )
    return { Authorization: `Bearer ${token.stdout.trim()}` }
  },
}
