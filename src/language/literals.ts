import { type At, fail } from '../errors/problem.js'
import type { Ast, LiteralType, Value } from '../query/ast.js'
import { toDurationSeconds } from '../query/duration.js'
import type { Token, TokenKind } from './lexer.js'
import { readShape } from './literals-geo.js'
import { readNumber } from './literals-number.js'
import { type Flaw, readDate, readTime, readTimestamp } from './literals-time.js'

type Literal = Extract<Ast, { kind: 'literal' }>
type Reader = (text: string, at: At) => readonly [LiteralType, Value]

/** What is wrong with a date or time that has the right shape, in words. */
export const HINTS = {
  impossible: 'There is no such day or time.',
  zone: 'A timestamp ends with Z or an offset like +02:00.',
} as const

const BASE64URL = /^(?:[\w-]{4})*(?:[\w-]{2}[AEIMQUYcgkosw048]=?|[\w-][AQgw](?:==)?)?$/

/** Tokens that are literals by their form. */
const BY_FORM: { readonly [K in TokenKind]?: Reader } = {
  string: text => ['String', unquote(text)],
  guid: text => ['Guid', text.toLowerCase()],
  datetime: moment('DateTimeOffset', readTimestamp),
  date: moment('Date', readDate),
  time: moment('TimeOfDay', readTime),
  number: (text, at) => {
    const number = readNumber(text)
    return number
      ? [number.type, number.value]
      : fail({ kind: 'BadLiteral', type: 'Edm.Decimal', text, hint: 'The number is out of range.', at })
  },
}

/**
 * Names that are literals. `null`, `INF` and `NaN` are case-sensitive, Booleans are not (OData ABNF,
 * primitiveLiteral).
 */
const BY_NAME: ReadonlyMap<string, readonly [LiteralType, Value]> = new Map([
  ['null', ['Null', null]],
  ['INF', ['Double', 'INF']],
  ['NaN', ['Double', 'NaN']],
])
const BOOLEAN = /^(?:true|false)$/i

/** Prefixes of quoted literals, in lower case: they are written in any case. */
const BY_PREFIX: ReadonlyMap<string, Reader> = new Map<string, Reader>([
  [
    'duration',
    (text, at) => [
      'Duration',
      toDurationSeconds(text) ?? bad('Edm.Duration', text, at, 'Write it like P1DT2H30M.'),
    ],
  ],
  [
    'binary',
    (text, at) => ['Binary', BASE64URL.test(text) ? text.replace(/=+$/, '') : bad('Edm.Binary', text, at)],
  ],
  ['geography', shape('Geography')],
  ['geometry', shape('Geometry')],
])

/**
 * The literal that a token is; `undefined` if it is none. Fails with `BadLiteral` if no type has such a
 * value.
 */
export function toLiteral(token: Token, at: At): Literal | undefined {
  if (token.kind === 'name') return named(token.text, at)
  if (token.kind === 'typed') return prefixed(token.text, at)
  const read = BY_FORM[token.kind]
  return read && literal(read(token.text, at), at)
}

/** The value of a text in double quotes, which stands only in JSON collections. */
export function toJsonText(text: string, at: At): Literal {
  try {
    return literal(['String', String(JSON.parse(text))], at)
  } catch {
    return bad('JSON text', text, at)
  }
}

/** `'O''Brien'` -> `O'Brien`. */
export const unquote = (text: string): string => text.slice(1, -1).replaceAll("''", "'")

function named(text: string, at: At): Literal | undefined {
  if (BOOLEAN.test(text)) return literal(['Boolean', text.toLowerCase() === 'true'], at)
  const found = BY_NAME.get(text)
  return found && literal(found, at)
}

function prefixed(text: string, at: At): Literal {
  const quote = text.indexOf("'")
  const prefix = text.slice(0, quote)
  const value = unquote(text.slice(quote))
  const read = BY_PREFIX.get(prefix.toLowerCase())
  if (read) return literal(read(value, at), at)
  // A qualified name is the type of an enumeration; anything else is a form of OData 3, or a missing blank.
  if (prefix.includes('.') && value !== '') return literal(['Enum', value], at)
  return fail({ kind: 'Syntax', expected: 'a literal of OData 4', found: text, at })
}

function moment(
  type: 'Date' | 'DateTimeOffset' | 'TimeOfDay',
  read: (text: string) => string | Flaw,
): Reader {
  return (text, at) => {
    const value = read(text)
    if (typeof value === 'string') return [type, value]
    if (value.flaw === 'year')
      return fail({ kind: 'NotImplemented', feature: 'dates outside the years 0001 to 9999', at })
    return bad(`Edm.${type}`, text, at, HINTS[value.flaw])
  }
}

function shape(kind: 'Geography' | 'Geometry'): Reader {
  return (text, at) => {
    const found =
      readShape(kind, text) ?? bad(`Edm.${kind}`, text, at, 'Write it like SRID=4326;POINT(-105 39.7).')
    if (kind === 'Geography' && found.srid !== 4326)
      return fail({ kind: 'NotImplemented', feature: `the coordinate system ${found.srid}`, at })
    return [found.type, found.value]
  }
}

const literal = ([type, value]: readonly [LiteralType, Value], at: At): Literal => ({
  kind: 'literal',
  type,
  value,
  at,
})

const bad = (type: string, text: string, at: At, hint?: string): never =>
  fail({ kind: 'BadLiteral', type, text, at, ...(hint !== undefined && { hint }) })
