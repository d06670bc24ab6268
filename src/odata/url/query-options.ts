import { FEATURES } from '../../errors/features.js'
import type { Phrase } from '../../errors/phrase.js'
import { EXPECTED_VALUE, OPTION_CONTEXTS, RESOURCES } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
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
import { memoize } from '../../query/memoize.js'
import { NO_PLAN_CACHE, type PlanCache, type PlanCacheLevel } from '../../query/plan-cache.js'
import { decodeUrlComponent, encodeRawBytes } from './encoding.js'

/** The decoded options of a query string, without custom options. */
export interface QueryOptions {
  readonly values: ReadonlyMap<SystemQueryOption, string>
  /** Parameter aliases by name without `@`. */
  readonly aliases: ReadonlyMap<string, string>
  /** The options of a next link or delta link without its token: one object for all pages. */
  readonly withoutToken?: QueryOptions
}

/** The kind of a resource, which determines its options. */
export type ResourceKind =
  | 'service'
  | 'metadata'
  | 'openapi'
  | 'batch'
  | 'entityId'
  | 'collection'
  | 'delta'
  | 'count'
  | 'references'
  | 'record'
  | 'reference'
  | 'value'
  | 'function'

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
  readonly context: Phrase
  readonly options: readonly SystemQueryOption[]
}

/**
 * Options by kind of resource, with their name in messages. `$format` and `$schemaversion` are always allowed.
 * `/$count` allows the options of a collection, although its paging and shape do not affect the count.
 */
const ALLOWED_OPTIONS: { readonly [K in ResourceKind]: AllowedOptions } = {
  service: { context: OPTION_CONTEXTS.service, options: [] },
  metadata: { context: OPTION_CONTEXTS.metadata, options: [] },
  openapi: { context: OPTION_CONTEXTS.openapi, options: [] },
  batch: { context: OPTION_CONTEXTS.batch, options: [] },
  entityId: { context: OPTION_CONTEXTS.entityId, options: ['$id', ...PROJECTION_OPTIONS] },
  collection: {
    context: OPTION_CONTEXTS.collection,
    options: [...COLLECTION_OPTIONS, ...PROJECTION_OPTIONS, '$apply', '$deltatoken', '$index'],
  },
  delta: {
    context: OPTION_CONTEXTS.delta,
    options: ['$filter', '$search', ...PROJECTION_OPTIONS, '$apply', '$deltatoken'],
  },
  count: {
    context: OPTION_CONTEXTS.count,
    options: [...COLLECTION_OPTIONS, ...PROJECTION_OPTIONS, '$apply'],
  },
  references: { context: OPTION_CONTEXTS.references, options: COLLECTION_OPTIONS },
  record: { context: OPTION_CONTEXTS.record, options: PROJECTION_OPTIONS },
  reference: { context: OPTION_CONTEXTS.reference, options: [] },
  value: { context: OPTION_CONTEXTS.value, options: [] },
  function: { context: OPTION_CONTEXTS.function, options: [] },
}
const COMMON_OPTIONS: readonly SystemQueryOption[] = ['$format', '$schemaversion']

/**
 * `+` is a space in forms (WHATWG URL) and a plus in URIs (RFC 3986). NUL, which no decoded text contains,
 * marks a plus until its meaning is known.
 */
const OFFSET_PLUS = /(T\d\d:\d\d(?::\d\d(?:\.\d+)?)?)\0(?=\d\d:\d\d)/gi

/**
 * Parses a raw query string (without `?`). It is split at `&` and `=` before decoding. `+` is a space if the
 * string contains no `%20`, but never in the offset of a timestamp. System options have canonical names,
 * regardless of case and `$`. Fails with `UnknownOption`, `DuplicateOption`, `BadOptionValue` (no value),
 * `BadEncoding`, or `BadRequest` for pairs that are not options.
 */
export function readQueryOptions(rawQuery: string, plans: PlanCache = NO_PLAN_CACHE): QueryOptions {
  if (rawQuery === '') return NO_OPTIONS
  return (
    readLinkOptions(rawQuery, plans) ??
    plans.getOrCreate(QUERY_STRING_LEVEL, rawQuery, () => parseQueryString(rawQuery))
  )
}

/** Matches the query of a next link or delta link. The pages of a query differ only in the token. */
const LINK_QUERY = /^(?:(.+)&)?(\$(?:skip|delta)token)=([\w-]+)$/s

function readLinkOptions(rawQuery: string, plans: PlanCache): QueryOptions | undefined {
  const [, optionsText = '', name, token] = LINK_QUERY.exec(rawQuery) ?? []
  const option = name === undefined ? undefined : toSystemQueryOption(name)
  // The parser refuses two tokens with its own message.
  if (token === undefined || !option || optionsText.includes(option)) return undefined
  const withoutToken = readQueryOptions(optionsText, plans)
  return withoutToken.values.has(option)
    ? undefined
    : { ...withoutToken, values: new Map([...withoutToken.values, [option, token]]), withoutToken }
}

const NO_OPTIONS: QueryOptions = { values: new Map(), aliases: new Map() }

/** Decoded query strings with their queries and plans. */
const QUERY_STRING_LEVEL: PlanCacheLevel<QueryOptions> = {
  name: 'query string',
  sizeOf: rawQuery => 4 + rawQuery.length / 50,
}

function parseQueryString(rawQuery: string): QueryOptions {
  const values = new Map<SystemQueryOption, string>()
  const aliases = new Map<string, string>()
  const decode = /%20/.test(rawQuery) ? decodeUrlComponent : decodeFormComponent
  for (const pair of rawQuery.split('&')) {
    const cut = pair.indexOf('=')
    const name = decode(cut < 0 ? pair : pair.slice(0, cut))
    const value = cut < 0 ? undefined : pair.slice(cut + 1)
    const option = toSystemQueryOption(name)
    if (option) putOnce(values, option, option, decode(value || failMissingValue(option)))
    else if (name.startsWith('@'))
      putOnce(aliases, toAliasName(name), name, decode(value || failMissingValue(name)))
    else checkCustomOption(name)
  }
  return { values, aliases }
}

/**
 * Refuses options that are not allowed for a resource (`OptionNotAllowed`), are not implemented
 * (`NotImplemented`), or request an unknown schema version (`NotFound`).
 */
export const checkAllowedOptions = (options: QueryOptions, resourceKind: ResourceKind): void =>
  checkAgainstAllowed(options, ALLOWED_OPTIONS[resourceKind])

function checkAgainstAllowed({ values }: QueryOptions, { context, options }: AllowedOptions): void {
  for (const [option, value] of values) {
    if (SYSTEM_QUERY_OPTIONS[option] === 'none')
      fail({ kind: 'NotImplemented', feature: FEATURES.option(option), at: { source: option } })
    if (!options.includes(option) && !COMMON_OPTIONS.includes(option))
      fail({ kind: 'OptionNotAllowed', option, context })
    if (SYSTEM_QUERY_OPTIONS[option] === 'version' && value !== '*')
      fail({ kind: 'NotFound', what: RESOURCES.schemaVersion(value) })
  }
}

/**
 * Returns the query of the options of a resource, after `checkAllowedOptions`. Parameter aliases are replaced
 * by their values.
 */
export const parseQuery = (
  options: QueryOptions,
  resourceKind: ResourceKind,
  limits: ParseLimits,
  plans: PlanCache = NO_PLAN_CACHE,
): Query => buildQuery(options, ALLOWED_OPTIONS[resourceKind], limits, plans)

/** Returns the query, and separately the page token, wherever it is in the query string. */
export function parsePageQuery(
  options: QueryOptions,
  resourceKind: ResourceKind,
  limits: ParseLimits,
  plans: PlanCache = NO_PLAN_CACHE,
): { readonly query: Query; readonly pageToken?: string } {
  const { withoutToken, values } = options
  checkAllowedOptions(options, resourceKind)
  const pageToken = values.get('$skiptoken')
  return {
    query: parseQuery(withoutToken ?? options, resourceKind, limits, plans),
    ...(pageToken !== undefined && { pageToken }),
  }
}

const buildQuery = memoize(function buildQuery(
  options: QueryOptions,
  place: AllowedOptions,
  limits: ParseLimits,
  plans: PlanCache,
): Query {
  checkAgainstAllowed(options, place)
  const { values, aliases } = options
  const context = { limits, aliases }
  let query: Query = {}
  for (const [name, text] of values)
    if (SYSTEM_QUERY_OPTIONS[name] === 'query')
      query = { ...query, ...parseOptionCached(name, text, context, plans) }
  // A malformed alias is refused even if nothing refers to it, since it may be a mistake.
  const texts = [...values.values(), ...aliases.values()]
  for (const [name, text] of aliases)
    if (!texts.some(t => t.includes(`@${name}`))) parseExpression(text, context, `@${name}`)
  return query
})

/**
 * Options that are the same in many queries with different filters. Without aliases their text has the same
 * meaning everywhere.
 */
const CACHEABLE_OPTIONS: ReadonlySet<SystemQueryOption> = new Set(['$select', '$expand', '$orderby'])
/** Parsed options, with their part of plans and of SQL. */
const OPTION_LEVEL: PlanCacheLevel<Partial<Query>> = {
  name: 'query option',
  sizeOf: key => 4 + key.length / 25,
}

function parseOptionCached(
  name: SystemQueryOption,
  text: string,
  context: ParseContext,
  plans: PlanCache,
): Partial<Query> {
  const parse = () => parseOption(name, text, context)
  return CACHEABLE_OPTIONS.has(name) && context.aliases.size === 0
    ? plans.getOrCreate(OPTION_LEVEL, name + text, parse)
    : parse()
}

/**
 * Returns the raw query string of the next page. Options remain as the client wrote them, `$skip` is removed
 * and `$skiptoken` is set. An `access_token` is never repeated, since links are stored and logged.
 */
export const toNextLinkQuery = (rawQuery: string, { $skiptoken }: { readonly $skiptoken: string }): string =>
  [...withoutOptions(rawQuery, ['$skip', '$skiptoken']), `$skiptoken=${$skiptoken}`].join('&')

/**
 * Returns the raw query string of the changes after a token, or without a token that of the query itself. Only
 * options that select the records and their content remain.
 */
export const toTrackedQuery = (rawQuery: string, deltaToken?: string): string =>
  [
    ...withoutOptions(rawQuery, UNTRACKED_OPTIONS),
    ...(deltaToken === undefined ? [] : [`$deltatoken=${deltaToken}`]),
  ].join('&')

const UNTRACKED_OPTIONS: readonly SystemQueryOption[] = [
  '$skip', '$skiptoken', '$deltatoken', '$top', '$count', '$orderby',
] // biome-ignore format: one line

function withoutOptions(rawQuery: string, excluded: readonly SystemQueryOption[]): readonly string[] {
  const remaining = rawQuery.split('&').filter(pair => {
    const name = decodeUrlComponent(pair.split('=', 1)[0] ?? '')
    const option = toSystemQueryOption(name)
    return pair !== '' && !(option && excluded.includes(option)) && name !== 'access_token'
  })
  return remaining.map(encodeRawBytes)
}

const decodeFormComponent = (raw: string): string =>
  // The marker is inserted after decoding, between the parts, so that an encoded NUL is still refused.
  raw.split('+').map(decodeUrlComponent).join('\0').replaceAll(OFFSET_PLUS, '$1+').replaceAll('\0', ' ')

function putOnce<K>(map: Map<K, string>, key: K, option: string, value: string): void {
  if (map.has(key)) fail({ kind: 'DuplicateOption', option })
  map.set(key, value)
}

function toAliasName(name: string): string {
  const alias = name.slice(1)
  return IDENTIFIER_PATTERN.test(alias) ? alias : fail({ kind: 'BadRequest', reason: REASONS.notAlias(name) })
}

/**
 * Custom options are ignored. A name that looks like a part of an expression is refused, since an unencoded
 * `&` probably cut it off.
 */
function checkCustomOption(name: string): void {
  const suggestion = suggestOption(name)
  if (name.startsWith('$')) fail({ kind: 'UnknownOption', option: name, ...(suggestion && { suggestion }) })
  if (name === '') fail({ kind: 'BadRequest', reason: REASONS.unnamedOption })
  if (/\s/.test(name)) fail({ kind: 'BadRequest', reason: REASONS.notOption(name) })
}

const failMissingValue = (option: string): never =>
  fail({ kind: 'BadOptionValue', option, expected: EXPECTED_VALUE.present, found: '' })
