import { fail } from '../../errors/problem.js'
import { parseExpression, parseSearch } from '../../language/parser.js'
import type { ParseLimits } from '../../language/parser-budget.js'
import { type Entity, entity } from '../../model/model.js'
import type { Ast, OrderAst, Query } from '../../query/ast.js'
import { SKIP_MAX } from '../../query/limits.js'
import type { WindowAsked } from '../../service/reading.js'
import { readFilter } from './filter.js'
import type { Input } from './operation.js'

/** What one text in the language of OData may cost to parse. */
export interface FilterReader {
  readonly limits: ParseLimits
}

/** `filter`, `where`, `search`, `orderBy` and `skip`: null and absence are the same. */
export function readQuery({ limits }: FilterReader, of: Entity, args: Input): Query {
  const filter = allOf(
    given(args['filter'], isInput, value => readFilter(of, value, limits)),
    given(args['where'], isText, text => parseExpression(text, { limits, aliases: NONE }, 'where')),
  )
  const search = given(args['search'], isText, text => parseSearch(text, { limits, aliases: NONE }))
  const orderBy = given(args['orderBy'], isInputs, list => readOrder(of, list))
  const skip = given(args['skip'], isNumber, readSkip)
  return {
    ...(filter && { filter }),
    ...(search && { search }),
    ...(orderBy && { orderBy }),
    ...(skip !== undefined && { skip }),
  }
}

/** The arguments of a collection in a record: a part of it from its beginning. */
export function readNested(reader: FilterReader, of: Entity, args: Input): Query {
  const top = given(args['first'], isNumber, readWhole('first'))
  return { ...readQuery(reader, of, args), ...(top !== undefined && { top }) }
}

/** The arguments of a connection that say which part of it is wanted. */
export function readWindow(args: Input): WindowAsked {
  const first = given(args['first'], isNumber, size => size)
  const last = given(args['last'], isNumber, size => size)
  const after = given(args['after'], isText, token => token)
  const before = given(args['before'], isText, token => token)
  return {
    ...(first !== undefined && { first }),
    ...(last !== undefined && { last }),
    ...(after !== undefined && { after }),
    ...(before !== undefined && { before }),
  }
}

const NONE: ReadonlyMap<string, string> = new Map()

function allOf(...conditions: readonly (Ast | undefined)[]): Ast | undefined {
  const [first, ...others] = conditions.filter(c => c !== undefined)
  return first && others.length > 0
    ? { kind: 'call', fn: 'and', args: [first, ...others], at: first.at }
    : first
}

// graphql-js has coerced the arguments by the schema: a value of another type is one that is not there.
const isText = (value: unknown): value is string => typeof value === 'string'
const isNumber = (value: unknown): value is number => typeof value === 'number'
const isInput = (value: unknown): value is Input =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isInputs = (value: unknown): value is readonly Input[] => Array.isArray(value)

const given = <T, R>(
  value: unknown,
  isThat: (value: unknown) => value is T,
  read: (value: T) => R,
): R | undefined => (isThat(value) ? read(value) : undefined)

function readSkip(value: number): number {
  const skip = readWhole('skip')(value)
  return skip <= SKIP_MAX ? skip : fail({ kind: 'SkipTooLarge', option: 'skip', limit: SKIP_MAX })
}

const readWhole =
  (option: string) =>
  (value: number): number =>
    value >= 0
      ? value
      : fail({ kind: 'BadOptionValue', option, expected: 'a whole number, 0 or more', found: String(value) })

const AT = { source: 'orderBy' }

/**
 * The terms of an order, the first counting most. Fails with BadOptionValue unless each object names one
 * field, and no field is null.
 */
export const readOrder = (of: Entity, orderBy: readonly Input[]): readonly OrderAst[] =>
  orderBy.map(term => readTerm(of, term, []))

function readTerm(of: Entity, term: unknown, way: readonly string[]): OrderAst {
  const [[name, value] = ['', null], ...others] = Object.entries(term ?? {})
  const field = of.fields.get(name)
  if (!field || others.length > 0 || value === null) return refuse(term)
  const names = [...way, name]
  if (field.kind === 'navigation') return readTerm(entity(field.target), value, names)
  return { expr: { kind: 'path', names, at: AT }, descending: value === 'DESC' }
}

const refuse = (term: unknown): never =>
  fail({
    kind: 'BadOptionValue',
    option: AT.source,
    expected: 'ASC or DESC for one field in each object',
    found: JSON.stringify(term),
  })
