import { LRUCache } from 'lru-cache'
import { fail } from '../../errors/problem.js'
import { IDENTIFIER_PATTERN } from '../../language/lexer.js'
import type { ParseContext, ParseLimits } from '../../language/parse-limits.js'
import { parseExpression, parseOption } from '../../language/parser.js'
import {
  SYSTEM_QUERY_OPTIONS,
  type SystemQueryOption,
  suggestOption,
  toSystemQueryOption,
} from '../../language/system-query-options.js'
import type { Query } from '../../query/ast.js'
import { getOrCreate, memoize } from '../../query/memoize.js'
import { decodeUrlComponent, encodeRawBytes } from './encoding.js'

/** The options of one query string: texts, decoded. Custom options are not among them. */
export interface QueryOptions {
  readonly values: ReadonlyMap<SystemQueryOption, string>
  /** Parameter aliases, by name without `@`. */
  readonly aliases: ReadonlyMap<string, string>
  /** Those of a next link without its token: one object for all pages of a walk. */
  readonly withoutSkipToken?: QueryOptions
}

/** What a URL names, as far as it matters for the options that it can take. */
export type ResourceKind =
  | 'service'
  | 'metadata'
  | 'openapi'
  | 'batch'
  | 'entityId'
  | 'collection'
  | 'count'
  | 'references'
  | 'record'
  | 'reference'
  | 'value'

const PROJECTION_OPTIONS: readonly SystemQueryOption[] = ['$select', '$expand', '$compute']
const COLLECTION_OPTIONS: readonly SystemQueryOption[] = [
  '$filter',
  '$search',
  '$compute',
  '$orderby',
  '$top',
  '$skip',
  '$count',
  '$skiptoken',
]

interface AllowedOptions {
  readonly name: string
  readonly options: readonly SystemQueryOption[]
}

/**
 * Options by place, and its name for people. `$format` and `$schemaversion` go everywhere.
 * `/$count` takes those of a collection: its paging and shape do not change it.
 */
const ALLOWED_OPTIONS: { readonly [K in ResourceKind]: AllowedOptions } = {
  service: { name: 'the service document', options: [] },
  metadata: { name: '$metadata', options: [] },
  openapi: { name: 'openapi.json', options: [] },
  batch: { name: '$batch', options: [] },
  entityId: { name: '$entity', options: ['$id', ...PROJECTION_OPTIONS] },
  collection: {
    name: 'a collection',
    options: [...COLLECTION_OPTIONS, ...PROJECTION_OPTIONS, '$apply', '$deltatoken', '$index'],
  },
  count: { name: 'a count', options: [...COLLECTION_OPTIONS, ...PROJECTION_OPTIONS, '$apply'] },
  references: { name: 'references', options: COLLECTION_OPTIONS },
  record: { name: 'a single record', options: PROJECTION_OPTIONS },
  reference: { name: 'a single reference', options: [] },
  value: { name: 'a single value', options: [] },
}
const COMMON_OPTIONS: readonly SystemQueryOption[] = ['$format', '$schemaversion']

/**
 * `+` stands for a blank in forms (WHATWG URL) and for itself in URIs (RFC 3986). Of NUL no text can hold
 * one: it marks the plus until it is known which.
 */
const OFFSET_PLUS = /(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\0(?=\d\d:\d\d)/gi

/**
 * Reads a raw query string (without `?`). It is cut at `&` and `=` before anything is decoded. `+` is a blank
 * if the string holds no `%20`, but never in the offset of a timestamp. System options go by canonical name,
 * whatever their case and with or without `$`. Fails with `UnknownOption`, `DuplicateOption`,
 * `BadOptionValue` (no value), `BadEncoding`, or `BadRequest` for pairs that are no option at all.
 */
export function readQueryOptions(rawQuery: string): QueryOptions {
  if (rawQuery === '') return NO_OPTIONS
  return getOrCreate(
    QUERY_OPTIONS_CACHE,
    rawQuery,
    () => readNextLinkOptions(rawQuery) ?? parseQueryString(rawQuery),
  )
}

/** What `rewriteLink` makes: each page has another token, and nothing else that is new. */
const NEXT_LINK_QUERY = /^(?:(.+)&)?\$skiptoken=([\w-]+)$/s

function readNextLinkOptions(rawQuery: string): QueryOptions | undefined {
  const [, optionsText = '', token] = NEXT_LINK_QUERY.exec(rawQuery) ?? []
  // Two of them are refused by the parser, in its words.
  if (token === undefined || optionsText.includes('$skiptoken')) return undefined
  const withoutSkipToken = readQueryOptions(optionsText)
  return withoutSkipToken.values.has('$skiptoken')
    ? undefined
    : {
        ...withoutSkipToken,
        values: new Map([...withoutSkipToken.values, ['$skiptoken', token]]),
        withoutSkipToken,
      }
}

const NO_OPTIONS: QueryOptions = { values: new Map(), aliases: new Map() }

/**
 * Front ends and replicators ask the same again and again: what was read of a text is kept, and with it what
 * others make of it. Bounded in characters.
 */
const QUERY_OPTIONS_CACHE = new LRUCache<string, QueryOptions>({
  maxSize: 2 ** 19,
  sizeCalculation: (_, text) => text.length + 1,
})

function parseQueryString(rawQuery: string): QueryOptions {
  const values = new Map<SystemQueryOption, string>()
  const aliases = new Map<string, string>()
  const decode = /%20/.test(rawQuery) ? decodeUrlComponent : decodeFormComponent
  for (const pair of rawQuery.split('&')) {
    const cut = pair.indexOf('=')
    const name = decode(cut < 0 ? pair : pair.slice(0, cut))
    const value = cut < 0 ? undefined : pair.slice(cut + 1)
    const option = toSystemQueryOption(name)
    if (option) put(values, option, option, decode(value || failMissingValue(option)))
    else if (name.startsWith('@'))
      put(aliases, toAliasName(name), name, decode(value || failMissingValue(name)))
    else checkCustomOption(name)
  }
  return { values, aliases }
}

/**
 * Refuses options that have no meaning at a place (`OptionNotAllowed`), that are not built
 * (`NotImplemented`), or that ask for an unknown schema version (`NotFound`).
 */
export const checkAllowedOptions = (options: QueryOptions, resourceKind: ResourceKind): void =>
  checkAgainstAllowed(options, ALLOWED_OPTIONS[resourceKind])

function checkAgainstAllowed({ values }: QueryOptions, { name: context, options }: AllowedOptions): void {
  for (const [option, value] of values) {
    if (SYSTEM_QUERY_OPTIONS[option] === 'none')
      fail({ kind: 'NotImplemented', feature: option, at: { source: option } })
    if (!options.includes(option) && !COMMON_OPTIONS.includes(option))
      fail({ kind: 'OptionNotAllowed', option, context })
    if (SYSTEM_QUERY_OPTIONS[option] === 'version' && value !== '*')
      fail({ kind: 'NotFound', what: `schema version '${value}'` })
  }
}

/**
 * The query that the options ask for at a place; `checkOptions` is part of it. Parameter aliases are replaced
 * by their values.
 */
export const parseQuery = (options: QueryOptions, resourceKind: ResourceKind, limits: ParseLimits): Query =>
  buildQuery(options, ALLOWED_OPTIONS[resourceKind], limits)

/** The same, and where its page begins, if that is said apart. */
export function parsePageQuery(
  options: QueryOptions,
  resourceKind: ResourceKind,
  limits: ParseLimits,
): { readonly query: Query; readonly pageToken?: string } {
  const { withoutSkipToken, values } = options
  if (!withoutSkipToken) return { query: parseQuery(options, resourceKind, limits) }
  checkAllowedOptions(options, resourceKind)
  const pageToken = values.get('$skiptoken')
  return {
    query: parseQuery(withoutSkipToken, resourceKind, limits),
    ...(pageToken !== undefined && { pageToken }),
  }
}

const buildQuery = memoize(function buildQuery(
  options: QueryOptions,
  place: AllowedOptions,
  limits: ParseLimits,
): Query {
  checkAgainstAllowed(options, place)
  const { values, aliases } = options
  const context = { limits, aliases }
  let query: Query = {}
  for (const [name, text] of values)
    if (SYSTEM_QUERY_OPTIONS[name] === 'query')
      query = { ...query, ...parseOptionCached(name, text, context) }
  // An alias that nothing refers to is still refused when it is malformed: it may be a slip of the pen.
  const texts = [...values.values(), ...aliases.values()]
  for (const [name, text] of aliases)
    if (!texts.some(t => t.includes(`@${name}`))) parseExpression(text, context, `@${name}`)
  return query
})

/**
 * What is the same in many queries that differ in their filter. Without aliases such a text means the same
 * everywhere.
 */
const CACHEABLE_OPTIONS: ReadonlySet<SystemQueryOption> = new Set(['$select', '$expand', '$orderby'])
const parsedOptionCacheOf = memoize(function parsedOptionCacheOf(_limits: ParseLimits) {
  return new LRUCache<string, Partial<Query>>({ maxSize: 2 ** 17, sizeCalculation: (_, text) => text.length })
})

function parseOptionCached(name: SystemQueryOption, text: string, context: ParseContext): Partial<Query> {
  if (!CACHEABLE_OPTIONS.has(name) || context.aliases.size > 0) return parseOption(name, text, context)
  return getOrCreate(parsedOptionCacheOf(context.limits), name + text, () => parseOption(name, text, context))
}

/**
 * The raw query string of the next page: options stay as the client wrote them, `$skip` is dropped and
 * `$skiptoken` set. An `access_token` is never repeated: links are stored and logged.
 */
export function toNextLinkQuery(rawQuery: string, changes: { readonly $skiptoken: string }): string {
  return `${getOrCreate(NEXT_LINK_CACHE, rawQuery, () => toNextLinkOptions(rawQuery))}$skiptoken=${changes.$skiptoken}`
}

/** What next links keep of a query string, with `&` at its end if it is not empty. */
const NEXT_LINK_CACHE = new LRUCache<string, string>({
  maxSize: 2 ** 18,
  sizeCalculation: (_, text) => text.length + 1,
})

function toNextLinkOptions(rawQuery: string): string {
  const kept = rawQuery.split('&').filter(pair => {
    const name = decodeUrlComponent(pair.split('=', 1)[0] ?? '')
    const option = toSystemQueryOption(name)
    return pair !== '' && option !== '$skip' && option !== '$skiptoken' && name !== 'access_token'
  })
  return kept.map(pair => `${encodeRawBytes(pair)}&`).join('')
}

const decodeFormComponent = (raw: string): string =>
  // The marker goes in after the decoding, between the parts, so that an encoded NUL is still refused.
  raw.split('+').map(decodeUrlComponent).join('\0').replaceAll(OFFSET_PLUS, '$1+').replaceAll('\0', ' ')

function put<K>(map: Map<K, string>, key: K, option: string, value: string): void {
  if (map.has(key)) fail({ kind: 'DuplicateOption', option })
  map.set(key, value)
}

function toAliasName(name: string): string {
  const alias = name.slice(1)
  return IDENTIFIER_PATTERN.test(alias)
    ? alias
    : fail({ kind: 'BadRequest', reason: `'${name}' is no parameter alias` })
}

/**
 * Custom options are ignored; what looks like a part of an expression is not, since it was cut off by an `&`
 * that should have been encoded.
 */
function checkCustomOption(name: string): void {
  const suggestion = suggestOption(name)
  if (name.startsWith('$')) fail({ kind: 'UnknownOption', option: name, ...(suggestion && { suggestion }) })
  if (name === '') fail({ kind: 'BadRequest', reason: 'the query string has an option without a name' })
  if (/\s/.test(name))
    fail({ kind: 'BadRequest', reason: `'${name}' is no query option; inside a value, write & as %26` })
}

const failMissingValue = (option: string): never =>
  fail({ kind: 'BadOptionValue', option, expected: 'a value', found: '' })
