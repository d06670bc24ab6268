import type { Navigation, Scalar } from '../../model/model.js'
import type { Value } from '../../query/ast.js'
import { type ColumnSource, type Expr, isNull, predicate, type RowName } from '../../query/plan.js'
import { escapeLike } from '../sql/columns.js'
import {
  COMMUTATORS,
  type ComparisonOperator,
  isComparisonOperator,
  isOrderingOperator,
  NEGATORS,
} from '../sql/comparison.js'

/** A Prisma `where`. */
export type PrismaWhere = { readonly [name: string]: unknown }

const MATCH_ALL: PrismaWhere = { AND: [] }
const MATCH_NONE: PrismaWhere = { OR: [] }

const PRISMA_OPERATORS: Readonly<Record<ComparisonOperator, string>> = {
  eq: 'equals',
  ne: 'not',
  gt: 'gt',
  ge: 'gte',
  lt: 'lt',
  le: 'lte',
}
const PRISMA_TEXT_OPERATORS = {
  contains: 'contains',
  startswith: 'startsWith',
  endswith: 'endsWith',
} as const

/**
 * Returns the Prisma `where` of a condition on the records of `row`, or undefined if Prisma cannot express
 * it.
 */
export function toPrismaWhere(expr: Expr, row: RowName, negated = false): PrismaWhere | undefined {
  switch (expr.kind) {
    case 'literal':
      return expr.value !== null && expr.value !== negated ? MATCH_ALL : MATCH_NONE
    case 'lambda':
      return expr.over.kind === 'records' ? recordsWhere(expr, row, negated) : valuesWhere(expr, row, negated)
    case 'call':
      return callWhere(expr, row, negated)
    default:
      return undefined
  }
}

function callWhere(expr: Expr & { kind: 'call' }, row: RowName, negated: boolean): PrismaWhere | undefined {
  const { fn } = expr
  const [left, right] = expr.args
  if (!left) return undefined
  if (right && isComparisonOperator(fn)) return comparisonWhere(fn, left, right, row, negated) ?? comparisonWhere(COMMUTATORS[fn], right, left, row, negated)
  switch (fn) {
    case 'and':
    case 'or': {
      const terms = expr.args.map(a => toPrismaWhere(a, row, negated))
      return terms.every(t => t !== undefined) ? combine((fn === 'and') !== negated ? 'AND' : 'OR', terms) : undefined
    }
    case 'not':
      return toPrismaWhere(left, row, !negated)
    case 'in':
      return right?.kind === 'list' ? toPrismaWhere(predicate('or', ...right.items.map(i => predicate('eq', left, i))), row, negated) : undefined
    case 'contains': case 'startswith': case 'endswith':
      return right && textWhere(fn, left, right, row, negated)
    default:
      return undefined
  }
} // biome-ignore format: one case a group

/** Constants are folded: inside a list Prisma drops an empty `AND` or `OR`. */
function combine(operator: 'AND' | 'OR', terms: readonly PrismaWhere[]): PrismaWhere {
  const [decides, changesNothing] = operator === 'AND' ? [MATCH_NONE, MATCH_ALL] : [MATCH_ALL, MATCH_NONE]
  if (terms.includes(decides)) return decides
  const open = terms.filter(t => t !== changesNothing)
  return open.length === 0 ? changesNothing : { [operator]: open }
}

/** Returns the `where` of a column of the row itself, or of a record that a relation leads to. */
function atSource(source: ColumnSource, row: RowName, where: PrismaWhere): PrismaWhere | undefined {
  if (source.kind === 'key') return undefined
  if (source.kind === 'row') return source.row === row ? where : undefined
  return source.navigation.relation && !source.navigation.collection
    ? atSource(source.from, row, { [source.navigation.name]: { is: where } })
    : undefined
}

function comparisonWhere(
  fn: ComparisonOperator,
  left: Expr,
  right: Expr,
  row: RowName,
  negated: boolean,
): PrismaWhere | undefined {
  if (
    left.kind !== 'column' ||
    left.scalar.collection ||
    right.kind !== 'literal' ||
    left.source.kind !== 'row'
  )
    return undefined
  const value = toPrismaValue(left.scalar, right)
  if (value === undefined || (isOrderingOperator(fn) && left.scalar.type === 'Boolean')) return undefined
  const test =
    value === null ? nullTest(fn, left.scalar, negated) : valueTest(fn, left.scalar, value, negated)
  return atSource(left.source, row, test)
}

/** A point is null if one of its coordinates is null. Prisma distinguishes JSON null from a null column. */
const WITHOUT_POSITION: PrismaWhere = { OR: [{ Longitude: null }, { Latitude: null }] }
const WITH_POSITION: PrismaWhere = { AND: [{ Longitude: { not: null } }, { Latitude: { not: null } }] }

/** A comparison with null is false in OData, so its complement holds for every record. */
function nullTest(fn: ComparisonOperator, { name, type, nullable }: Scalar, negated: boolean): PrismaWhere {
  if (isOrderingOperator(fn)) return negated ? MATCH_ALL : MATCH_NONE
  const asked = negated ? NEGATORS[fn] : fn
  if (type === 'GeographyPoint') return asked === 'eq' ? WITHOUT_POSITION : WITH_POSITION
  if (!nullable) return asked === 'ne' ? MATCH_ALL : MATCH_NONE
  return { [name]: { [PRISMA_OPERATORS[asked]]: null } }
}

function valueTest(
  fn: ComparisonOperator,
  { name, nullable }: Scalar,
  value: Value | bigint,
  negated: boolean,
): PrismaWhere {
  const asked = negated ? NEGATORS[fn] : fn
  const test = { [name]: { [PRISMA_OPERATORS[asked]]: value } }
  const holdsForNull = nullable && (asked === 'ne' || (negated && isOrderingOperator(fn)))
  return holdsForNull ? { OR: [test, { [name]: null }] } : test
}

/** Undefined: Prisma cannot take the value exactly. */
function toPrismaValue(
  { type }: Scalar,
  { value, type: literal }: Expr & { kind: 'literal' },
): Value | bigint | undefined {
  if (value === null) return null
  // A wider literal is compared in its own type, which only SQL can do.
  if (literal !== type || type === 'GeographyPoint') return undefined
  switch (type) {
    case 'Int64':
      return BigInt(String(value))
    case 'Date':
      return `${value}T00:00:00.000Z`
    case 'DateTimeOffset':
      // A JavaScript date holds milliseconds.
      return /\.\d{4,}/.test(String(value)) ? undefined : value
    default:
      return value
  }
}

function textWhere(
  fn: keyof typeof PRISMA_TEXT_OPERATORS,
  left: Expr,
  right: Expr,
  row: RowName,
  negated: boolean,
): PrismaWhere | undefined {
  if (
    left.kind !== 'column' ||
    left.scalar.type !== 'String' ||
    left.scalar.collection ||
    right.kind !== 'literal'
  )
    return undefined
  // For null the condition and its negation are null.
  if (isNull(right)) return MATCH_NONE
  // Prisma passes the text to LIKE as it is.
  const test = { [left.scalar.name]: { [PRISMA_TEXT_OPERATORS[fn]]: escapeLike(String(right.value)) } }
  return atSource(
    left.source,
    row,
    negated ? { AND: [{ NOT: test }, { [left.scalar.name]: { not: null } }] } : test,
  )
}

function valuesWhere(
  { quantifier, over, body, row: element }: Expr & { kind: 'lambda' },
  row: RowName,
  negated: boolean,
): PrismaWhere | undefined {
  if (quantifier !== 'any' || over.kind !== 'values') return undefined
  const { name } = over.scalar
  if (!body) return atSource(over.source, row, { [name]: { isEmpty: negated } })
  const [left, right] = body.kind === 'call' && body.fn === 'eq' ? body.args : []
  if (left?.kind !== 'element' || left.row !== element || right?.kind !== 'literal' || right.value === null)
    return undefined
  const has = { [name]: { has: right.value } }
  return atSource(over.source, row, negated ? { NOT: has } : has)
}

/**
 * Translates a quantifier over related records. `all` means that no record has a predicate that is not true.
 * Prisma can express that only if the predicate is never null.
 */
function recordsWhere(
  { quantifier, over, row: inner, body }: Expr & { kind: 'lambda' },
  row: RowName,
  negated: boolean,
): PrismaWhere | undefined {
  if (over.kind !== 'records' || !over.navigation.relation) return undefined
  const where = body ? toPrismaWhere(body, inner, quantifier === 'all') : MATCH_ALL
  if (!where || (quantifier === 'all' && body && !isTwoValued(body))) return undefined
  return atSource(over.source, row, {
    [over.navigation.name]: { [relationTest(over.navigation, (quantifier === 'any') !== negated)]: where },
  })
}

const relationTest = ({ collection }: Navigation, some: boolean) =>
  collection ? (some ? 'some' : 'none') : some ? 'is' : 'isNot'

/** Returns true if a condition is never null. Comparisons are never null. */
function isTwoValued(expr: Expr): boolean {
  if (expr.kind === 'lambda') return true
  if (expr.kind !== 'call') return expr.kind === 'literal' && expr.value !== null
  return expr.fn === 'and' || expr.fn === 'or' || expr.fn === 'not'
    ? expr.args.every(isTwoValued)
    : isComparisonOperator(expr.fn) || expr.fn === 'in'
}
