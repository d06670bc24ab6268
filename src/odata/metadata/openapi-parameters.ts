import { MAX_SKIP } from '../../query/limits.js'
import type { OpenApiObject } from './openapi-schemas.js'

const queryParameter = (name: string, schema: OpenApiObject, description: string): OpenApiObject => ({
  name,
  in: 'query',
  description,
  schema,
})
const headerParameter = (name: string, description: string): OpenApiObject => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

const STRING_SCHEMA: OpenApiObject = { type: 'string' }
const NON_NEGATIVE_INTEGER_SCHEMA: OpenApiObject = { type: 'integer', minimum: 0 }

/** All parameters besides the path, by their component names. */
export const OPENAPI_PARAMETERS = {
  filter: queryParameter(
    '$filter',
    STRING_SCHEMA,
    "Which records, for instance City eq 'Austin' and ListPrice lt 500000.",
  ),
  search: queryParameter(
    '$search',
    STRING_SCHEMA,
    'Words, with AND, OR, NOT and "phrases", in the text of a record.',
  ),
  compute: queryParameter(
    '$compute',
    STRING_SCHEMA,
    'Values to compute, each with a name: ListPrice div LivingArea as PricePerFoot.',
  ),
  apply: queryParameter(
    '$apply',
    STRING_SCHEMA,
    'Groups and aggregates: groupby((City),aggregate($count as N)).',
  ),
  select: queryParameter('$select', STRING_SCHEMA, 'Which fields, joined by commas; * for all.'),
  orderby: queryParameter(
    '$orderby',
    STRING_SCHEMA,
    'In which order: fields, each with asc or desc. The key always comes last.',
  ),
  expand: queryParameter(
    '$expand',
    STRING_SCHEMA,
    'Which related records, each with options of its own: Media($select=MediaURL;$orderby=Order;$top=1). * for all.',
  ),
  top: queryParameter('$top', NON_NEGATIVE_INTEGER_SCHEMA, 'Records of a page.'),
  skip: queryParameter(
    '$skip',
    { ...NON_NEGATIVE_INTEGER_SCHEMA, maximum: MAX_SKIP },
    'Records to leave out. To read further follow @odata.nextLink.',
  ),
  count: queryParameter('$count', { type: 'boolean' }, 'Whether to count all records that match.'),
  skiptoken: queryParameter(
    '$skiptoken',
    STRING_SCHEMA,
    'Where the next page begins. It comes with @odata.nextLink and is not made by clients.',
  ),
  deltatoken: queryParameter(
    '$deltatoken',
    STRING_SCHEMA,
    'Returns what changed since. It comes with @odata.deltaLink. `latest` returns such a link without records.',
  ),
  format: queryParameter(
    '$format',
    STRING_SCHEMA,
    'json or xml, and ndjson or csv for all records of a collection in one response. Overrides the header Accept.',
  ),
  ifMatch: headerParameter('If-Match', 'The request fails with 412 unless the record has this ETag.'),
  ifNoneMatch: headerParameter(
    'If-None-Match',
    'If the record has this ETag, a read is answered with 304 and a write fails with 412.',
  ),
  preferPage: headerParameter(
    'Prefer',
    'maxpagesize=n: records of a page where $top is absent. track-changes: the last page has @odata.deltaLink.',
  ),
  preferContinue: headerParameter('Prefer', 'continue-on-error: execute the requests after one that failed.'),
  preferReturn: headerParameter(
    'Prefer',
    'return=minimal for 204 without a body, return=representation for the record with absolute links.',
  ),
} as const

export type OpenApiParameterName = keyof typeof OPENAPI_PARAMETERS
