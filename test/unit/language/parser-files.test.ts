import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { EXPECTED_SYNTAX } from '../../../src/errors/phrases.js'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS, type ParseContext } from '../../../src/language/parse-limits.js'
import { parseExpression, parseFilter } from '../../../src/language/parser.js'
import { decodeUrlComponent } from '../../../src/odata/url/encoding.js'
import {
  checkAllowedOptions,
  parseQuery,
  type ResourceKind,
  readQueryOptions,
} from '../../../src/odata/url/query-options.js'
import { readResourcePath, resourceKindOf } from '../../../src/odata/url/resource-path.js'
import type { Ast, LiteralType } from '../../../src/query/ast.js'

const context: ParseContext = { limits: DEFAULT_PARSE_LIMITS, aliases: new Map() }
const lines = (file: string) =>
  readFileSync(new URL(file, import.meta.url), 'utf8')
    .split('\n')
    .filter(line => line !== '' && !line.startsWith('#'))
    .map(line => line.split('\t'))

/** The files hold blanks as they are: on the wire they are `%20`. */
const wire = (text: string) => text.replaceAll(' ', '%20').replaceAll('\t', '%09')
const query = (text: string, place: ResourceKind = 'collection') =>
  parseQuery(readQueryOptions(wire(text)), place, DEFAULT_PARSE_LIMITS)

function uri(text: string): unknown {
  const [path = '', options = ''] = text.split('?')
  const read = readQueryOptions(wire(options))
  const found = readResourcePath(path, { ...context, aliases: read.aliases })
  return [
    found,
    checkAllowedOptions(read, resourceKindOf(found)),
    parseQuery(read, resourceKindOf(found), DEFAULT_PARSE_LIMITS),
  ]
}

function literal(...types: readonly LiteralType[]) {
  return (text: string): Ast => {
    const read = parseExpression(decodeUrlComponent(text), context, 'literal')
    if (read.kind !== 'literal' || !types.includes(read.type))
      throw new ProblemError({
        kind: 'WrongType',
        expected: EXPECTED_SYNTAX.literal,
        found: read.kind,
        at: read.at,
      })
    return read
  }
}

function identifier(text: string): Ast {
  const read = parseExpression(text, context, 'identifier')
  if (read.kind !== 'path')
    throw new ProblemError({
      kind: 'WrongType',
      expected: EXPECTED_SYNTAX.field,
      found: read.kind,
      at: read.at,
    })
  return read
}

/** The rules of the grammar, and what reads them here. */
const RULES: ReadonlyMap<string, (text: string) => unknown> = new Map<string, (text: string) => unknown>([
  ['filter', query],
  ['orderby', query],
  ['select', query],
  ['expand', query],
  ['queryOptions', query],
  ['odataRelativeUri', uri],
  ['boolCommonExpr', text => parseFilter(decodeUrlComponent(text), context)],
  ['commonExpr', text => parseExpression(decodeUrlComponent(text), context, 'expression')],
  ['stringLiteral', literal('String')],
  ['decimalLiteral', literal('Int32', 'Int64', 'Decimal', 'Double')],
  ['date', literal('Date')],
  ['dateTimeOffsetLiteral', literal('DateTimeOffset')],
  ['timeOfDayLiteral', literal('TimeOfDay')],
  ['durationLiteral', literal('Duration')],
  ['enumLiteral', literal('String', 'Enum')],
  ['boolean', literal('Boolean')],
  ['guid', literal('Guid')],
  ['geographyPoint', literal('GeographyPoint')],
  ['geographyPolygon', literal('GeographyPolygon')],
  ['geometryPoint', literal('GeometryPoint')],
  ['odataIdentifier', identifier],
])

/** Headers are read elsewhere. */
const ELSEWHERE = new Set(['preference', 'header'])

function outcome(rule: string, text: string): Problem['kind'] | 'read' {
  try {
    RULES.get(rule)?.(text)
    return 'read'
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0].kind
    throw error
  }
}

/** Valid by the grammar, but refused because of its meaning. */
const REFUSED: ReadonlyMap<string, Problem['kind']> = new Map<string, Problem['kind']>([
  ['2024-02-30', 'BadLiteral'],
  ['$schemaversion=2.0', 'NotFound'],
  ["Property('P01')/$value", 'BadRequest'],
])

/** Not in the grammar, but accepted intentionally. */
const LENIENT: ReadonlyMap<string, string> = new Map([
  ['$orderby=City, ListPrice', 'blanks after commas'],
  ['$orderby=City+desc', 'a plus is a blank if there is no %20'],
  ["cast(TaxYear,'Edm.String') eq '1'", 'a quoted type'],
])

/** The parser does not check names, arities and types. The binder refuses these. */
const LEFT_TO_BINDER: ReadonlyMap<string, string> = new Map([
  ['$filter=City/NoSuch eq 1', 'field'],
  ['any()', 'function'],
  ['notTrue', 'field'],
  ['contains(City)', 'arguments'],
  ['contains()', 'arguments'],
  ['length()', 'arguments'],
  ["substring(City) eq 'a'", 'arguments'],
  ['now(1) eq now()', 'arguments'],
  ["trim() eq 'a'", 'arguments'],
  ["cast(TaxYear) eq '1'", 'type'],
  ['foo(City) eq 1', 'function'],
  ['City eq NULL', 'field'],
  ['geo.distance(GeoLocation) lt 1', 'arguments'],
  ['$expand=NoSuch', 'navigation'],
  ['$expand=media', 'navigation'],
  ['$select=NoSuch', 'field'],
  ['$select=City/NoSuch', 'field'],
  ['$select=city', 'field'],
  ['$orderby=desc', 'field'],
])

const cases = (file: string) => lines(file).filter(([rule = '']) => !ELSEWHERE.has(rule))

describe('parser-valid.txt: read, or not implemented', () => {
  test.each(cases('parser-valid.txt'))('%s: %s', (rule = '', text = '') => {
    const refused = REFUSED.get(text)
    expect(refused ? [refused] : ['read', 'NotImplemented']).toContain(outcome(rule, text))
  })
})

describe('parser-invalid.txt: refused', () => {
  test.each(cases('parser-invalid.txt'))('%s %s: %s', (rule = '', _position = '', text = '') => {
    const result = outcome(rule, text)
    if (LENIENT.has(text) || LEFT_TO_BINDER.has(text)) expect(result).toBe('read')
    else expect(['read', 'NotImplemented']).not.toContain(result)
  })
})

describe('texts that are near to these', () => {
  const PIECES = [
    "'",
    '(',
    ')',
    ';',
    ',',
    '/',
    ' ',
    '@',
    '$',
    '"',
    '[',
    '-',
    ' and ',
    ' not ',
    '%',
    '%27',
    '9',
    'é',
    '$count',
    '$filter=',
    '\u0000',
    '=',
    '&',
    '{',
    ':',
  ]
  /** A generator of numbers that is the same in every run (mulberry32). */
  const random = (start: number) => {
    let seed = start
    return () => {
      seed = (seed + 0x6d2b79f5) | 0
      const a = Math.imul(seed ^ (seed >>> 15), 1 | seed)
      const b = (a + Math.imul(a ^ (a >>> 7), 61 | a)) ^ a
      return ((b ^ (b >>> 14)) >>> 0) / 2 ** 32
    }
  }

  test('are read or refused with a problem, quickly', () => {
    const next = random(7)
    const pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(next() * list.length)]
    const corpus = [
      ...cases('parser-valid.txt'),
      ...cases('parser-invalid.txt').map(([rule = '', , text = '']) => [rule, text]),
    ]
    for (let i = 0; i < 8_000; i++) {
      const [rule = '', text = ''] = pick(corpus) ?? []
      const cut = Math.floor(next() * (text.length + 1))
      outcome(rule, text.slice(0, cut) + (pick(PIECES) ?? '') + text.slice(cut + Math.floor(next() * 3)))
    }
  }, 20_000)
})
