import { FEATURES } from '../errors/features.js'
import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX, HINTS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast, LiteralType, Value } from '../query/ast.js'
import { toDurationSeconds } from '../query/duration.js'
import type { Token, TokenKind } from './lexer.js'
import {
  type DateTimeLiteralError,
  readDateLiteral,
  readDateTimeOffsetLiteral,
  readTimeOfDayLiteral,
} from './literals-datetime.js'
import { readGeoLiteral } from './literals-geo.js'
import { readNumberLiteral } from './literals-number.js'

type LiteralAst = Extract<Ast, { kind: 'literal' }>
type PrimitiveLiteralReader = (text: string, at: SourceLocation) => readonly [LiteralType, Value]

/** Hints for a well-formed date or time without a value. */
export const DATE_TIME_LITERAL_HINTS = { impossible: HINTS.noSuchTime, zone: HINTS.missingOffset } as const

const BASE64URL = /^(?:[\w-]{4})*(?:[\w-]{2}[AEIMQUYcgkosw048]=?|[\w-][AQgw](?:==)?)?$/

/** Readers of tokens whose kind makes them literals. */
const READERS_BY_TOKEN_KIND: { readonly [K in TokenKind]?: PrimitiveLiteralReader } = {
  string: text => ['String', unquote(text)],
  guid: text => ['Guid', text.toLowerCase()],
  datetime: createDateTimeReader('DateTimeOffset', readDateTimeOffsetLiteral),
  date: createDateTimeReader('Date', readDateLiteral),
  time: createDateTimeReader('TimeOfDay', readTimeOfDayLiteral),
  number: (text, at) => {
    const number = readNumberLiteral(text)
    return number
      ? [number.type, number.value]
      : fail({ kind: 'BadLiteral', type: 'Edm.Decimal', text, hint: HINTS.outOfRange, at })
  },
}

/**
 * Names that are literals. `null`, `INF` and `NaN` are case-sensitive, Booleans are not (OData ABNF,
 * primitiveLiteral).
 */
const LITERALS_BY_NAME: ReadonlyMap<string, readonly [LiteralType, Value]> = new Map([
  ['null', ['Null', null]],
  ['INF', ['Double', 'INF']],
  ['NaN', ['Double', 'NaN']],
])
const BOOLEAN = /^(?:true|false)$/i

/** Readers of quoted literals by prefix in lower case. Prefixes are not case-sensitive. */
const READERS_BY_PREFIX: ReadonlyMap<string, PrimitiveLiteralReader> = new Map<
  string,
  PrimitiveLiteralReader
>([
  [
    'duration',
    (text, at) => [
      'Duration',
      toDurationSeconds(text) ?? failBadLiteral('Edm.Duration', text, at, HINTS.duration),
    ],
  ],
  [
    'binary',
    (text, at) => [
      'Binary',
      BASE64URL.test(text) ? text.replace(/=+$/, '') : failBadLiteral('Edm.Binary', text, at),
    ],
  ],
  ['geography', createGeoReader('Geography')],
  ['geometry', createGeoReader('Geometry')],
])

/**
 * Returns the literal of a token, or undefined if the token is not a literal. Fails with `BadLiteral` if the
 * value is invalid.
 */
export function toLiteralAst(token: Token, at: SourceLocation): LiteralAst | undefined {
  if (token.kind === 'name') return toNamedLiteral(token.text, at)
  if (token.kind === 'typed') return toPrefixedLiteral(token.text, at)
  const read = READERS_BY_TOKEN_KIND[token.kind]
  return read && literalNode(read(token.text, at), at)
}

/** Returns the value of a string in double quotes, which only JSON collections contain. */
export function toJsonStringLiteral(text: string, at: SourceLocation): LiteralAst {
  try {
    return literalNode(['String', String(JSON.parse(text))], at)
  } catch {
    return failBadLiteral('JSON string', text, at)
  }
}

/** `'O''Brien'` → `O'Brien` */
export const unquote = (text: string): string => text.slice(1, -1).replaceAll("''", "'")

function toNamedLiteral(text: string, at: SourceLocation): LiteralAst | undefined {
  if (BOOLEAN.test(text)) return literalNode(['Boolean', text.toLowerCase() === 'true'], at)
  const found = LITERALS_BY_NAME.get(text)
  return found && literalNode(found, at)
}

function toPrefixedLiteral(text: string, at: SourceLocation): LiteralAst {
  const quote = text.indexOf("'")
  const prefix = text.slice(0, quote)
  const value = unquote(text.slice(quote))
  const read = READERS_BY_PREFIX.get(prefix.toLowerCase())
  if (read) return literalNode(read(value, at), at)
  // A qualified name is an enumeration type. Other prefixes are OData 3 syntax or lack a space.
  if (prefix.includes('.') && value !== '') return literalNode(['Enum', value], at)
  return fail({ kind: 'Syntax', expected: EXPECTED_SYNTAX.literal, found: text, at })
}

function createDateTimeReader(
  type: 'Date' | 'DateTimeOffset' | 'TimeOfDay',
  read: (text: string) => string | DateTimeLiteralError,
): PrimitiveLiteralReader {
  return (text, at) => {
    const value = read(text)
    if (typeof value === 'string') return [type, value]
    if (value.reason === 'year') return fail({ kind: 'NotImplemented', feature: FEATURES.years, at })
    return failBadLiteral(`Edm.${type}`, text, at, DATE_TIME_LITERAL_HINTS[value.reason])
  }
}

function createGeoReader(kind: 'Geography' | 'Geometry'): PrimitiveLiteralReader {
  return (text, at) => {
    const found = readGeoLiteral(kind, text) ?? failBadLiteral(`Edm.${kind}`, text, at, HINTS.geography)
    if (kind === 'Geography' && found.srid !== 4326)
      return fail({ kind: 'NotImplemented', feature: FEATURES.coordinateSystem(found.srid), at })
    return [found.type, found.value]
  }
}

const literalNode = ([type, value]: readonly [LiteralType, Value], at: SourceLocation): LiteralAst => ({
  kind: 'literal',
  type,
  value,
  at,
})

const failBadLiteral = (type: string, text: string, at: SourceLocation, hint?: Phrase): never =>
  fail({ kind: 'BadLiteral', type, text, at, ...(hint !== undefined && { hint }) })
