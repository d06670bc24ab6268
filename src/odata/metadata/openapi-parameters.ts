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
    "The condition that selects records, for instance City eq 'Austin' and ListPrice lt 500000.",
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
  select: queryParameter('$select', STRING_SCHEMA, 'The fields to return, joined by commas; * for all.'),
  orderby: queryParameter(
    '$orderby',
    STRING_SCHEMA,
    'The order: fields, each with asc or desc. The key is always the last term.',
  ),
  expand: queryParameter(
    '$expand',
    STRING_SCHEMA,
    'The related records to return, each with its own options: Media($select=MediaURL;$orderby=Order;$top=1). * for all.',
  ),
  top: queryParameter('$top', NON_NEGATIVE_INTEGER_SCHEMA, 'Number of records per page.'),
  skip: queryParameter(
    '$skip',
    { ...NON_NEGATIVE_INTEGER_SCHEMA, maximum: MAX_SKIP },
    'Number of records to skip. To read further, follow @odata.nextLink.',
  ),
  count: queryParameter(
    '$count',
    { type: 'boolean' },
    'True to return the number of all records that match.',
  ),
  skiptoken: queryParameter(
    '$skiptoken',
    STRING_SCHEMA,
    'The position at which the next page begins. It is part of @odata.nextLink. Clients cannot create it.',
  ),
  deltatoken: queryParameter(
    '$deltatoken',
    STRING_SCHEMA,
    'Returns the changes since a position. It is part of @odata.deltaLink. `latest` returns such a link without records.',
  ),
  format: queryParameter(
    '$format',
    STRING_SCHEMA,
    'json or xml, and ndjson or csv for all records of a collection in one response. Overrides the header Accept.',
  ),
  ifMatch: headerParameter('If-Match', 'The request fails with 412 unless the record has this ETag.'),
  ifNoneMatch: headerParameter(
    'If-None-Match',
    'If the record has this ETag, a read returns 304 and a write fails with 412.',
  ),
  preferPage: headerParameter(
    'Prefer',
    'maxpagesize=n: number of records per page if $top is absent. track-changes: the last page has @odata.deltaLink.',
  ),
  preferContinue: headerParameter('Prefer', 'continue-on-error: execute the requests after one that failed.'),
  preferReturn: headerParameter(
    'Prefer',
    'return=minimal for 204 without a body, return=representation for the record with absolute links.',
  ),
} as const

export type OpenApiParameterName = keyof typeof OPENAPI_PARAMETERS
