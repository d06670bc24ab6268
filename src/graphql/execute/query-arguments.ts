import { EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { parseExpression, parseSearch } from '../../language/parser.js'
import { type Entity, getEntity } from '../../model/model.js'
import type { Ast, OrderAst, Query } from '../../query/ast.js'
import { MAX_SKIP } from '../../query/limits.js'
import type { ConnectionArguments } from '../../service/connection-arguments.js'
import type { InputValues } from './collect-fields.js'
import { type FilterParseOptions, readFilter } from './filter.js'

/** Reads `filter`, `where`, `search`, `orderBy` and `skip`. Null means the same as no argument. */
export function readQueryArguments(parseOptions: FilterParseOptions, of: Entity, args: InputValues): Query {
  const { limits } = parseOptions
  const filter = combineWithAnd(
    readOptional(args['filter'], isInputObject, value => readFilter(of, value, parseOptions)),
    readOptional(args['where'], isString, text =>
      parseExpression(text, { limits, aliases: NO_ALIASES }, 'where'),
    ),
  )
  const search = readOptional(args['search'], isString, text =>
    parseSearch(text, { limits, aliases: NO_ALIASES }),
  )
  const orderBy = readOptional(args['orderBy'], isInputList, list => readOrderBy(of, list))
  const skip = readOptional(args['skip'], isNumber, readSkip)
  return {
    ...(filter && { filter }),
    ...(search && { search }),
    ...(orderBy && { orderBy }),
    ...(skip !== undefined && { skip }),
  }
}

/** Reads the arguments of a collection within a record. */
export function readNestedQueryArguments(
  parseOptions: FilterParseOptions,
  of: Entity,
  args: InputValues,
): Query {
  const top = readOptional(args['first'], isNumber, readNonNegative('first'))
  return { ...readQueryArguments(parseOptions, of, args), ...(top !== undefined && { top }) }
}

/** Reads the pagination arguments of a connection. */
export function readPaginationArguments(args: InputValues): ConnectionArguments {
  const first = readOptional(args['first'], isNumber, size => size)
  const last = readOptional(args['last'], isNumber, size => size)
  const after = readOptional(args['after'], isString, token => token)
  const before = readOptional(args['before'], isString, token => token)
  return {
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  }
}

const NO_ALIASES: ReadonlyMap<string, string> = new Map()

function combineWithAnd(...conditions: readonly (Ast | undefined)[]): Ast | undefined {
  const [first, ...others] = conditions.filter(c => c !== undefined)
  return first && others.length > 0
    ? { kind: 'call', fn: 'and', args: [first, ...others], at: first.at }
    : first
}

// graphql-js has coerced the arguments, so a value of another type is undefined or null.
const isString = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isInputObject = (value: unknown): value is InputValues =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isInputList = (value: unknown): value is readonly InputValues[] => Array.isArray(value)

const readOptional = <T, R>(
  value: unknown,
  isType: (value: unknown) => value is T,
  read: (value: T) => R,
): R | undefined => (isType(value) ? read(value) : undefined)

function readSkip(value: number): number {
  const skip = readNonNegative('skip')(value)
  return skip <= MAX_SKIP ? skip : fail({ kind: 'SkipTooLarge', option: 'skip', limit: MAX_SKIP })
}

const readNonNegative =
  (option: string) =>
  (value: number): number =>
    value >= 0
      ? value
      : fail({
          kind: 'BadOptionValue',
          option,
          expected: EXPECTED_VALUE.nonNegativeInteger,
          found: String(value),
        })

const ORDER_BY_LOCATION = { source: 'orderBy' }

/**
 * Reads the terms of an order, the most significant first. Fails with BadOptionValue unless each object has
 * one field that is not null.
 */
export const readOrderBy = (of: Entity, orderBy: readonly InputValues[]): readonly OrderAst[] =>
  orderBy.map(term => readOrderTerm(of, term, []))

function readOrderTerm(of: Entity, term: unknown, path: readonly string[]): OrderAst {
  const [[name, value] = ['', null], ...others] = Object.entries(term ?? {})
  const field = of.fields.get(name)
  if (!field || others.length > 0 || value === null) return failBadOrderBy(term)
  const names = [...path, name]
  if (field.kind === 'navigation') return readOrderTerm(getEntity(field.target), value, names)
  return { expr: { kind: 'path', names, at: ORDER_BY_LOCATION }, descending: value === 'DESC' }
}

const failBadOrderBy = (term: unknown): never =>
  fail({
    kind: 'BadOptionValue',
    option: ORDER_BY_LOCATION.source,
    expected: EXPECTED_VALUE.order,
    found: JSON.stringify(term),
  })
