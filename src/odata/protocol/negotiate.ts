import { LRUCache } from 'lru-cache'
import { fail } from '../../errors/problem.js'

/** The format that a client requests: the Accept header, and `$format`, which overrides it. */
export interface RequestedFormat {
  readonly accept: string | undefined
  readonly format: string | undefined
}

/** The format of a JSON answer. */
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

interface MediaRange {
  readonly type: string
  /** Parameters by name in lower case. OData parameters have no prefix. */
  readonly parameters: ReadonlyMap<string, string>
  readonly quality: number
}

const JSON_TYPE = 'application/json'
const XML_TYPE = 'application/xml'
const TEXT_TYPE = 'text/plain'

/** Short names of `$format` (Part 2, 5.1.2). */
const SHORT: ReadonlyMap<string, string> = new Map([
  ['json', JSON_TYPE],
  ['xml', XML_TYPE],
  ['atom', 'application/atom+xml'],
])

/** Parameters of the JSON format (OData JSON 4.01, 3) and their supported values. */
const JSON_FORMAT_PARAMETERS: ReadonlyMap<string, RegExp> = new Map([
  ['metadata', /^(?:minimal|none|full)$/i],
  ['streaming', /^(?:true|false)$/i],
  ['ieee754compatible', /^(?:true|false)$/i],
  ['exponentialdecimals', /^(?:true|false)$/i],
])

/**
 * Match the items of a list, and the parameters of an item. Quoted strings can contain the separator. An
 * unclosed quoted string extends to the end, so that the text is scanned once.
 */
const ITEMS = /(?:[^,"]|"(?:[^"\\]|\\.)*"?)+/g
const PARTS = /(?:[^;"]|"(?:[^"\\]|\\.)*"?)+/g

/** Cached because clients send the same few headers. */
const JSON_FORMAT_CACHE = new LRUCache<string, JsonFormat>({ max: 100 })

/** Returns the format of a data answer. Equal requests get the same object. Fails with `NotAcceptable`. */
export function negotiateJsonFormat(requested: RequestedFormat): JsonFormat {
  const text = `${requested.format ?? ''}\n${requested.accept ?? ''}`
  const known = JSON_FORMAT_CACHE.get(text)
  if (known) return known
  const format = selectJsonFormat(requested)
  if (text.length < MAX_CACHED_LENGTH) JSON_FORMAT_CACHE.set(text, format)
  return format
}

const MAX_CACHED_LENGTH = 500

function selectJsonFormat(requested: RequestedFormat): JsonFormat {
  const [best] = acceptedRanges(readMediaRanges(requested), JSON_TYPE)
  if (!best) return failNotAcceptable(requested, JSON_TYPE)
  const wanted = best.parameters.get('metadata')?.toLowerCase()
  const metadata = wanted === 'none' || wanted === 'full' ? wanted : 'minimal'
  const ieee754Compatible = best.parameters.get('ieee754compatible')?.toLowerCase() === 'true'
  const charset = best.parameters.get('charset')?.toLowerCase() === 'utf-8'
  const contentType = `${JSON_TYPE};odata.metadata=${metadata}${ieee754Compatible ? ';IEEE754Compatible=true' : ''}${charset ? ';charset=utf-8' : ''}`
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
  return parseMediaRanges(
    format === undefined ? accept?.trim() || '*/*' : (SHORT.get(format.toLowerCase()) ?? format),
  )
}

const parseMediaRanges = (text: string): readonly MediaRange[] =>
  (text.match(ITEMS) ?? []).map(parseMediaRange)

function parseMediaRange(text: string): MediaRange {
  const [type = '', ...rest] = (text.match(PARTS) ?? []).map(part => part.trim())
  const parameters = new Map(rest.map(parseMediaTypeParameter))
  const quality = Number(parameters.get('q') ?? 1)
  return { type: type.toLowerCase(), parameters, quality: Number.isNaN(quality) ? 1 : quality }
}

function parseMediaTypeParameter(text: string): readonly [string, string] {
  const [name = '', value = ''] = text.split(/=(.*)/s).map(part => part.trim())
  return [toParameterName(name.toLowerCase()), value.replace(/^"(.*)"$/s, '$1')]
}

/**
 * Removes the optional prefix of a known parameter (OData JSON 4.01, 3). An unknown parameter keeps its
 * prefix, which distinguishes it from parameters of other standards.
 */
function toParameterName(name: string): string {
  const bare = name.replace(/^odata\./, '')
  return JSON_FORMAT_PARAMETERS.has(bare) ? bare : name
}

/**
 * Returns the ranges that accept a type, best first. A more specific range takes precedence over a wildcard,
 * so that `application/json;q=0, *` + `/*` does not accept JSON (RFC 9110, 12.5.1). A range with an unknown
 * OData parameter matches nothing (Part 1, 8.2.1). Other unknown parameters are ignored.
 */
function acceptedRanges(ranges: readonly MediaRange[], type: string): readonly MediaRange[] {
  const [topLevelType] = type.split('/')
  const supported = ranges.filter(isSupportedRange)
  const mostSpecific =
    [type, `${topLevelType}/*`, '*/*']
      .map(pattern => supported.filter(range => range.type === pattern))
      .find(found => found.length > 0) ?? []
  return mostSpecific.filter(range => range.quality > 0).sort((a, b) => b.quality - a.quality)
}

const isSupportedRange = ({ parameters }: MediaRange): boolean =>
  [...parameters].every(
    ([name, value]) => JSON_FORMAT_PARAMETERS.get(name)?.test(value) ?? !name.startsWith('odata.'),
  )
