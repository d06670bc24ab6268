import { SKIP_MAX } from '../../query/limits.js'
import type { JsonObject } from './openapi-schemas.js'

const option = (name: string, schema: JsonObject, description: string): JsonObject => ({
  name,
  in: 'query',
  description,
  schema,
})
const header = (name: string, description: string): JsonObject => ({
  name,
  in: 'header',
  description,
  schema: { type: 'string' },
})

const TEXT: JsonObject = { type: 'string' }
const COUNTING: JsonObject = { type: 'integer', minimum: 0 }

/** Everything that can be asked beside the path, by the name under which the document keeps it. */
export const PARAMETERS = {
  filter: option('$filter', TEXT, "Which records, for instance City eq 'Austin' and ListPrice lt 500000."),
  search: option('$search', TEXT, 'Words, with AND, OR, NOT and "phrases", in the text of a record.'),
  compute: option(
    '$compute',
    TEXT,
    'Values to compute, each with a name: ListPrice div LivingArea as PricePerFoot.',
  ),
  select: option('$select', TEXT, 'Which fields, joined by commas; * for all.'),
  orderby: option(
    '$orderby',
    TEXT,
    'In which order: fields, each with asc or desc. The key always comes last.',
  ),
  expand: option(
    '$expand',
    TEXT,
    'Which related records, each with options of its own: Media($select=MediaURL;$orderby=Order;$top=1). * for all.',
  ),
  top: option('$top', COUNTING, 'Records of a page.'),
  skip: option(
    '$skip',
    { ...COUNTING, maximum: SKIP_MAX },
    'Records to leave out. To read further follow @odata.nextLink.',
  ),
  count: option('$count', { type: 'boolean' }, 'Whether to count all records that match.'),
  skiptoken: option(
    '$skiptoken',
    TEXT,
    'Where the next page begins. It comes with @odata.nextLink and is not made by clients.',
  ),
  format: option('$format', TEXT, 'json or xml; stands above the header Accept.'),
  ifMatch: header('If-Match', 'Write only if the record still has this ETag.'),
  ifNoneMatch: header('If-None-Match', 'Answer 304 if the record still has this ETag.'),
  preferPage: header('Prefer', 'maxpagesize=n: records of a page where $top is absent.'),
  preferReturn: header(
    'Prefer',
    'return=minimal for 204 without a body, return=representation for the record with absolute links.',
  ),
} as const

export type ParameterName = keyof typeof PARAMETERS
