import type { Config } from '../config/config.js'
import type { Grant } from './auth/token.js'

/** What the token shown at the start allows: everything, for a day. */
export const START_GRANT: Grant = {
  scopes: ['listings:read', 'listings:write', 'listings:write:any'],
  audience: 'staff',
  expiresIn: 86_400,
}

const SAMPLE_DRAFT =
  '{"ListAgentKey":"M00000001","ListOfficeKey":"O0000001","PropertyType":"Residential","StreetNumber":"12","StreetName":"Main St","City":"Boise"}'

const SAMPLE_QUERY =
  '{"query":"{ properties(filter: {StandardStatus: {eq: \\"Active\\"}}, first: 3) { totalCount nodes { ListingKey City ListPrice } } }"}'

/**
 * A token and a few requests to paste into a shell, for whoever has just started the service. The keys of the
 * draft are those of the sample market.
 */
export function renderStartBanner(
  token: string,
  { publicUrl, host, graphiql }: Pick<Config, 'publicUrl' | 'host' | 'graphiql'>,
  port: number,
): string {
  const base =
    publicUrl ??
    `http://${host === '0.0.0.0' || host === '::' ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`
  const curl = 'curl -s -H "Authorization: Bearer $TOKEN"'
  return `
The service answers at ${base}/odata and ${base}/graphql${graphiql ? `; ${base}/graphiql is a page for queries` : ''}. To try it, paste into a shell (the token is good for a day):

export TOKEN=${token}
${curl} '${base}/odata/Property?$filter=StandardStatus%20eq%20%27Active%27&$orderby=ListPrice&$select=ListingKey,City,ListPrice&$top=5&$count=true'
${curl} '${base}/odata/Property?$expand=Media($select=MediaURL),Rooms&$top=1'
${curl} '${base}/odata/$metadata'
${curl} -H 'Content-Type: application/json' '${base}/odata/Property' -d '${SAMPLE_DRAFT}'
${curl} -H 'Content-Type: application/json' '${base}/graphql' -d '${SAMPLE_QUERY}'

`
}
