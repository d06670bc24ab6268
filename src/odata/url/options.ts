import { LRUCache } from 'lru-cache'
import { fail } from '../../errors/problem.js'
import { NAME } from '../../language/lexer.js'
import { OPTIONS, type OptionName, suggestOption, toOptionName } from '../../language/option-table.js'
import { parseExpression, parseOption } from '../../language/parser.js'
import type { ParseContext, ParseLimits } from '../../language/parser-budget.js'
import type { Query } from '../../query/ast.js'
import { recall, remember } from '../../query/memoize.js'
import { decodePart, encodeRawBytes } from './encoding.js'

/** The options of one query string: texts, decoded. Custom options are not among them. */
export interface Options {
  readonly values: ReadonlyMap<OptionName, string>
  /** Parameter aliases, by name without `@`. */
  readonly aliases: ReadonlyMap<string, string>
  /** Those of a next link without its token: one object for all pages of a walk. */
  readonly ofWalk?: Options
}

/** What a URL names, as far as it matters for the options that it can take. */
export type Place =
  | 'service'
  | 'metadata'
  | 'batch'
  | 'entityId'
  | 'collection'
  | 'count'
  | 'references'
  | 'record'
  | 'reference'
  | 'value'

const SHAPE: readonly OptionName[] = ['$select', '$expand', '$compute']
const SUBSET: readonly OptionName[] = [
  '$filter',
  '$search',
  '$compute',
  '$orderby',
  '$top',
  '$skip',
  '$count',
  '$skiptoken',
]

interface PlaceOptions {
  readonly name: string
  readonly options: readonly OptionName[]
}

/**
 * Options by place, and its name for people. `$format` and `$schemaversion` go everywhere.
 * `/$count` takes those of a collection: its paging and shape do not change it.
 */
const PLACES: { readonly [K in Place]: PlaceOptions } = {
  service: { name: 'the service document', options: [] },
  metadata: { name: '$metadata', options: [] },
  batch: { name: '$batch', options: [] },
  entityId: { name: '$entity', options: ['$id', ...SHAPE] },
  collection: { name: 'a collection', options: [...SUBSET, ...SHAPE, '$apply', '$deltatoken', '$index'] },
  count: { name: 'a count', options: [...SUBSET, ...SHAPE, '$apply'] },
  references: { name: 'references', options: SUBSET },
  record: { name: 'a single record', options: SHAPE },
  reference: { name: 'a single reference', options: [] },
  value: { name: 'a single value', options: [] },
}
const EVERYWHERE: readonly OptionName[] = ['$format', '$schemaversion']

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
export function readOptions(rawQuery: string): Options {
  if (rawQuery === '') return NO_OPTIONS
  return recall(READ, rawQuery, () => readLink(rawQuery) ?? parseOptions(rawQuery))
}

/** What `rewriteLink` makes: each page has another token, and nothing else that is new. */
const LINK = /^(?:(.+)&)?\$skiptoken=([\w-]+)$/s

function readLink(rawQuery: string): Options | undefined {
  const [, kept = '', token] = LINK.exec(rawQuery) ?? []
  // Two of them are refused by the parser, in its words.
  if (token === undefined || kept.includes('$skiptoken')) return undefined
  const ofWalk = readOptions(kept)
  return ofWalk.values.has('$skiptoken')
    ? undefined
    : { ...ofWalk, values: new Map([...ofWalk.values, ['$skiptoken', token]]), ofWalk }
}

const NO_OPTIONS: Options = { values: new Map(), aliases: new Map() }

/**
 * Front ends and replicators ask the same again and again: what was read of a text is kept, and with it what
 * others make of it. Bounded in characters.
 */
const READ = new LRUCache<string, Options>({
  maxSize: 2 ** 19,
  sizeCalculation: (_, text) => text.length + 1,
})

function parseOptions(rawQuery: string): Options {
  const values = new Map<OptionName, string>()
  const aliases = new Map<string, string>()
  const decode = /%20/.test(rawQuery) ? decodePart : decodeForm
  for (const pair of rawQuery.split('&')) {
    const cut = pair.indexOf('=')
    const name = decode(cut < 0 ? pair : pair.slice(0, cut))
    const value = cut < 0 ? undefined : pair.slice(cut + 1)
    const option = toOptionName(name)
    if (option) put(values, option, option, decode(value || noValue(option)))
    else if (name.startsWith('@')) put(aliases, toAlias(name), name, decode(value || noValue(name)))
    else checkCustom(name)
  }
  return { values, aliases }
}

/**
 * Refuses options that have no meaning at a place (`OptionNotAllowed`), that are not built
 * (`NotImplemented`), or that ask for an unknown schema version (`NotFound`).
 */
export const checkOptions = (options: Options, place: Place): void => checkAt(options, PLACES[place])

function checkAt({ values }: Options, { name: where, options }: PlaceOptions): void {
  for (const [option, value] of values) {
    if (OPTIONS[option] === 'none') fail({ kind: 'NotImplemented', feature: option, at: { source: option } })
    if (!options.includes(option) && !EVERYWHERE.includes(option))
      fail({ kind: 'OptionNotAllowed', option, where })
    if (OPTIONS[option] === 'version' && value !== '*')
      fail({ kind: 'NotFound', what: `schema version '${value}'` })
  }
}

/**
 * The query that the options ask for at a place; `checkOptions` is part of it. Parameter aliases are replaced
 * by their values.
 */
export const readQuery = (options: Options, place: Place, limits: ParseLimits): Query =>
  queryAt(options, PLACES[place], limits)

/** The same, and where its page begins, if that is said apart. */
export function readPageQuery(
  options: Options,
  place: Place,
  limits: ParseLimits,
): { readonly query: Query; readonly pageToken?: string } {
  const { ofWalk, values } = options
  if (!ofWalk) return { query: readQuery(options, place, limits) }
  checkOptions(options, place)
  const pageToken = values.get('$skiptoken')
  return { query: readQuery(ofWalk, place, limits), ...(pageToken !== undefined && { pageToken }) }
}

const queryAt = remember((options: Options, place: PlaceOptions, limits: ParseLimits): Query => {
  checkAt(options, place)
  const { values, aliases } = options
  const context = { limits, aliases }
  let query: Query = {}
  for (const [name, text] of values)
    if (OPTIONS[name] === 'query') query = { ...query, ...parseShared(name, text, context) }
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
const SHARED: ReadonlySet<OptionName> = new Set(['$select', '$expand', '$orderby'])
const sharedBy = remember(
  (_limits: ParseLimits) =>
    new LRUCache<string, Partial<Query>>({ maxSize: 2 ** 17, sizeCalculation: (_, text) => text.length }),
)

function parseShared(name: OptionName, text: string, context: ParseContext): Partial<Query> {
  if (!SHARED.has(name) || context.aliases.size > 0) return parseOption(name, text, context)
  return recall(sharedBy(context.limits), name + text, () => parseOption(name, text, context))
}

/**
 * The raw query string of the next page: options stay as the client wrote them, `$skip` is dropped and
 * `$skiptoken` set. An `access_token` is never repeated: links are stored and logged.
 */
export function rewriteLink(rawQuery: string, changes: { readonly $skiptoken: string }): string {
  return `${recall(KEPT, rawQuery, () => keepOptions(rawQuery))}$skiptoken=${changes.$skiptoken}`
}

/** What next links keep of a query string, with `&` at its end if it is not empty. */
const KEPT = new LRUCache<string, string>({ maxSize: 2 ** 18, sizeCalculation: (_, text) => text.length + 1 })

function keepOptions(rawQuery: string): string {
  const kept = rawQuery.split('&').filter(pair => {
    const name = decodePart(pair.split('=', 1)[0] ?? '')
    const option = toOptionName(name)
    return pair !== '' && option !== '$skip' && option !== '$skiptoken' && name !== 'access_token'
  })
  return kept.map(pair => `${encodeRawBytes(pair)}&`).join('')
}

const decodeForm = (raw: string): string =>
  // The marker goes in after the decoding, between the parts, so that an encoded NUL is still refused.
  raw.split('+').map(decodePart).join('\0').replaceAll(OFFSET_PLUS, '$1+').replaceAll('\0', ' ')

function put<K>(map: Map<K, string>, key: K, option: string, value: string): void {
  if (map.has(key)) fail({ kind: 'DuplicateOption', option })
  map.set(key, value)
}

function toAlias(name: string): string {
  const alias = name.slice(1)
  return NAME.test(alias) ? alias : fail({ kind: 'BadRequest', reason: `'${name}' is no parameter alias` })
}

/**
 * Custom options are ignored; what looks like a part of an expression is not, since it was cut off by an `&`
 * that should have been encoded.
 */
function checkCustom(name: string): void {
  const suggestion = suggestOption(name)
  if (name.startsWith('$')) fail({ kind: 'UnknownOption', option: name, ...(suggestion && { suggestion }) })
  if (name === '') fail({ kind: 'BadRequest', reason: 'the query string has an option without a name' })
  if (/\s/.test(name))
    fail({ kind: 'BadRequest', reason: `'${name}' is no query option; inside a value, write & as %26` })
}

const noValue = (option: string): never =>
  fail({ kind: 'BadOptionValue', option, expected: 'a value', found: '' })
