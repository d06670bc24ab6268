import type { Config } from '../config/config.js'
import type { Grant } from './auth/sign-token.js'

/** The grant of the token that is printed at the start: all scopes but `admin`, for a day. */
export const START_GRANT: Grant = {
  scopes: ['listings:read', 'listings:write', 'listings:write:any'],
  audience: 'staff',
  expiresIn: 86_400,
}

/** A new listing with keys of the sample market. */
const SAMPLE_DRAFT =
  '{"ListAgentKey":"M00000001","ListOfficeKey":"O0000001","PropertyType":"Residential","StreetNumber":"12","StreetName":"Main","City":"Boise"}'

const SAMPLE_QUERY =
  '{"query":"{ properties(filter: {StandardStatus: {eq: \\"Active\\"}}, first: 3) { totalCount nodes { ListingKey City ListPrice } } }"}'

const WILDCARD_HOSTS: readonly string[] = ['0.0.0.0', '::']

function baseUrlOf({ publicUrl, host }: Pick<Config, 'publicUrl' | 'host'>, port: number): string {
  if (publicUrl !== undefined) return publicUrl
  if (WILDCARD_HOSTS.includes(host)) return `http://localhost:${port}`
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

/**
 * Renders the endpoints, a token, and requests to paste into a shell. OData options are without `$`, which a
 * shell would expand.
 */
export function renderStartBanner(
  token: string,
  config: Pick<Config, 'publicUrl' | 'host' | 'graphiql'>,
  port: number,
): string {
  const base = baseUrlOf(config, port)
  const curl = 'curl -s -H "Authorization: Bearer $TOKEN"'
  const json = "-H 'Content-Type: application/json'"
  return `
Listing Service is running.
  OData     ${base}/odata
  GraphQL   ${base}/graphql
${config.graphiql ? `  GraphiQL  ${base}/graphiql, to write queries in the browser\n` : ''}
Paste these lines into another shell. The token can read every record and write every listing, for 24 hours.

export BASE=${base}
export TOKEN=${token}
${curl} "$BASE/odata/Property?filter=StandardStatus+eq+'Active'&orderby=ListPrice&select=ListingKey,City,ListPrice&top=5&count=true"
${curl} "$BASE/odata/Property?expand=Media(select=MediaURL),Rooms&top=1"
${curl} "$BASE/odata/Property" ${json} -d '${SAMPLE_DRAFT}'
${curl} "$BASE/graphql" ${json} -d '${SAMPLE_QUERY}'

The README explains them. Press Ctrl-C to stop the service.

`
}
