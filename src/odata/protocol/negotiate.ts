import { fail } from '../../errors/problem.js'
import { acceptedRanges, type MediaRange, parseMediaRanges } from '../../http/media-ranges.js'

/** The format that a client requests: the Accept header, and `$format`, which overrides it. */
export interface RequestedFormat {
  readonly accept: string | undefined
  readonly format: string | undefined
}

/** The format of a JSON response. */
export interface JsonFormat {
  /**
   * The amount of control information. `none` contains only counts and next links. `full` adds the types and
   * links that clients otherwise derive from the model.
   */
  readonly metadata: 'minimal' | 'none' | 'full'
  /** IEEE754Compatible: decimals, 64-bit integers and counts as JSON strings. */
  readonly ieee754Compatible: boolean
  readonly contentType: string
}

/** A format of a complete result, as opposed to a page. */
export type ExportFormat =
  | { readonly kind: 'ndjson'; readonly json: JsonFormat }
  | { readonly kind: 'csv'; readonly contentType: string }

const JSON_TYPE = 'application/json'
const NDJSON_TYPE = 'application/x-ndjson'
const CSV_TYPE = 'text/csv'
const XML_TYPE = 'application/xml'
const TEXT_TYPE = 'text/plain'

/** Short names of `$format` (Part 2, 5.1.2). */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['json', JSON_TYPE],
  ['xml', XML_TYPE],
  ['ndjson', NDJSON_TYPE],
  ['csv', CSV_TYPE],
  ['atom', 'application/atom+xml'],
])

/** Parameters of the JSON format (OData JSON 4.01, 3) and their supported values. */
const JSON_FORMAT_PARAMETERS: ReadonlyMap<string, RegExp> = new Map([
  ['metadata', /^(?:minimal|none|full)$/i],
  ['streaming', /^(?:true|false)$/i],
  ['ieee754compatible', /^(?:true|false)$/i],
  ['exponentialdecimals', /^(?:true|false)$/i],
])

/** Returns the format of a response with data. Fails with `NotAcceptable`. */
export function negotiateJsonFormat(requested: RequestedFormat): JsonFormat {
  const [best] = acceptedRanges(readMediaRanges(requested), JSON_TYPE)
  return best ? toJsonFormat(best, JSON_TYPE) : failNotAcceptable(requested, JSON_TYPE)
}

/** Matches every request that can prefer an export. Others are not parsed. */
const MENTIONS_EXPORT = /ndjson|csv|text\/\*/i

/**
 * Returns the format of an export if the client prefers one to a page in JSON, or undefined. The type with the
 * highest quality applies. Among equals, a type that the client names precedes one that a wildcard accepts,
 * and JSON precedes the others.
 */
export function negotiateExportFormat(requested: RequestedFormat): ExportFormat | undefined {
  if (!MENTIONS_EXPORT.test(requested.format ?? requested.accept ?? '')) return undefined
  const ranges = readMediaRanges(requested)
  const [best] = [JSON_TYPE, NDJSON_TYPE, CSV_TYPE]
    .flatMap(type =>
      acceptedRanges(ranges, type)
        .slice(0, 1)
        .map(range => ({ type, range })),
    )
    .sort((a, b) => b.range.quality - a.range.quality || Number(isNamed(b)) - Number(isNamed(a)))
  if (best?.type === CSV_TYPE) return { kind: 'csv', contentType: `${CSV_TYPE};charset=utf-8` }
  return best?.type === NDJSON_TYPE
    ? { kind: 'ndjson', json: toJsonFormat(best.range, NDJSON_TYPE) }
    : undefined
}

const isNamed = ({ type, range }: { readonly type: string; readonly range: MediaRange }): boolean =>
  range.type === type

/** Returns the JSON format of an accepted range. An export with the defaults has a bare type. */
function toJsonFormat(best: MediaRange, type: string): JsonFormat {
  const wanted = best.parameters.get('metadata')?.toLowerCase()
  const metadata = wanted === 'none' || wanted === 'full' ? wanted : 'minimal'
  const ieee754Compatible = best.parameters.get('ieee754compatible')?.toLowerCase() === 'true'
  const charset = best.parameters.get('charset')?.toLowerCase() === 'utf-8'
  const showsMetadata = type === JSON_TYPE || metadata !== 'minimal'
  const contentType = `${type}${showsMetadata ? `;odata.metadata=${metadata}` : ''}${ieee754Compatible ? ';IEEE754Compatible=true' : ''}${charset ? ';charset=utf-8' : ''}`
  return { metadata, ieee754Compatible, contentType }
}

/**
 * Returns the format of the model: XML whenever the client accepts XML. Most clients accept any type or list
 * JSON first, and read only XML. Fails with `NotAcceptable`.
 */
export function negotiateMetadataFormat(requested: RequestedFormat): 'xml' | 'json' {
  const ranges = readMediaRanges(requested)
  if (acceptedRanges(ranges, XML_TYPE).length > 0) return 'xml'
  return acceptedRanges(ranges, JSON_TYPE).length > 0
    ? 'json'
    : failNotAcceptable(requested, `${XML_TYPE} and ${JSON_TYPE}`)
}

/**
 * Refuses a client that does not accept plain text (`NotAcceptable`). JSON in Accept is sufficient, since
 * many clients send the same Accept header with every request.
 */
export function checkAcceptsText(requested: RequestedFormat): void {
  const ranges = readMediaRanges(requested)
  if (acceptedRanges(ranges, TEXT_TYPE).length + acceptedRanges(ranges, JSON_TYPE).length === 0)
    failNotAcceptable(requested, TEXT_TYPE)
}

const failNotAcceptable = ({ format }: RequestedFormat, offered: string): never =>
  fail({ kind: 'NotAcceptable', offered, wish: format === undefined ? 'Accept' : '$format' })

function readMediaRanges({ accept, format }: RequestedFormat): readonly MediaRange[] {
  const text = format === undefined ? accept?.trim() || '*/*' : (SHORT.get(format.toLowerCase()) ?? format)
  return parseMediaRanges(text, toParameterName).filter(isSupportedRange)
}

/**
 * Removes the optional prefix of a known parameter (OData JSON 4.01, 3). An unknown parameter keeps its
 * prefix, which distinguishes it from parameters of other standards.
 */
function toParameterName(name: string): string {
  const bare = name.replace(/^odata\./, '')
  return JSON_FORMAT_PARAMETERS.has(bare) ? bare : name
}

const isSupportedRange = ({ parameters }: MediaRange): boolean =>
  [...parameters].every(
    ([name, value]) => JSON_FORMAT_PARAMETERS.get(name)?.test(value) ?? !name.startsWith('odata.'),
  )
