import { escapeLike } from '../../../src/data/sql/columns.js'
import {
  COMPLEMENT,
  type Comparison,
  FLIPPED,
  isComparison,
  isOrder,
} from '../../../src/data/sql/comparison.js'
import type { Navigation, Scalar } from '../../../src/model/model.js'
import type { Value } from '../../../src/query/ast.js'
import { call, type Expr, isNull, type RowName, type Source } from '../../../src/query/plan.js'

// What Prisma can say of the language, in its own words: a second voice beside our SQL, which random
// expressions are asked of.

/** A Prisma `where`. */
export type Where = { readonly [name: string]: unknown }

const EVERY: Where = { AND: [] }
const NONE: Where = { OR: [] }

const PRISMA: Readonly<Record<Comparison, string>> = {
  eq: 'equals',
  ne: 'not',
  gt: 'gt',
  ge: 'gte',
  lt: 'lt',
  le: 'lte',
}
const TEXT = { contains: 'contains', startswith: 'startsWith', endswith: 'endsWith' } as const

/** The Prisma `where` of a condition on the records of `row`, or undefined if Prisma has no words for it. */
export function toWhere(expr: Expr, row: RowName, negated = false): Where | undefined {
  switch (expr.kind) {
    case 'literal':
      return expr.value !== null && expr.value !== negated ? EVERY : NONE
    case 'lambda':
      return expr.over.kind === 'records' ? recordsWhere(expr, row, negated) : valuesWhere(expr, row, negated)
    case 'call':
      return callWhere(expr, row, negated)
    default:
      return undefined
  }
}

function callWhere(expr: Expr & { kind: 'call' }, row: RowName, negated: boolean): Where | undefined {
  const { fn } = expr
  const [left, right] = expr.args
  if (!left) return undefined
  if (right && isComparison(fn)) return comparisonWhere(fn, left, right, row, negated) ?? comparisonWhere(FLIPPED[fn], right, left, row, negated)
  switch (fn) {
    case 'and':
    case 'or': {
      const terms = expr.args.map(a => toWhere(a, row, negated))
      return terms.every(t => t !== undefined) ? combine((fn === 'and') !== negated ? 'AND' : 'OR', terms) : undefined
    }
    case 'not':
      return toWhere(left, row, !negated)
    case 'in':
      return right?.kind === 'list' ? toWhere(call('or', ...right.items.map(i => call('eq', left, i))), row, negated) : undefined
    case 'contains': case 'startswith': case 'endswith':
      return right && textWhere(fn, left, right, row, negated)
    default:
      return undefined
  }
} // biome-ignore format: one case a group

/** Constants are folded: inside a list Prisma drops an empty `AND` or `OR`. */
function combine(word: 'AND' | 'OR', terms: readonly Where[]): Where {
  const [decides, changesNothing] = word === 'AND' ? [NONE, EVERY] : [EVERY, NONE]
  if (terms.includes(decides)) return decides
  const open = terms.filter(t => t !== changesNothing)
  return open.length === 0 ? changesNothing : { [word]: open }
}

/** The `where` of a column of the row itself or of a record that a relation leads to. */
function at(source: Source, row: RowName, where: Where): Where | undefined {
  if (source.kind === 'key') return undefined
  if (source.kind === 'row') return source.row === row ? where : undefined
  return source.navigation.relation && !source.navigation.collection
    ? at(source.from, row, { [source.navigation.name]: { is: where } })
    : undefined
}

function comparisonWhere(
  fn: Comparison,
  left: Expr,
  right: Expr,
  row: RowName,
  negated: boolean,
): Where | undefined {
  if (
    left.kind !== 'column' ||
    left.scalar.collection ||
    right.kind !== 'literal' ||
    left.source.kind !== 'row'
  )
    return undefined
  const value = toPrismaValue(left.scalar, right)
  if (value === undefined || (isOrder(fn) && left.scalar.type === 'Boolean')) return undefined
  const test =
    value === null ? nullTest(fn, left.scalar, negated) : valueTest(fn, left.scalar, value, negated)
  return at(left.source, row, test)
}

/** A comparison with null is false in OData, so its complement holds for every record. */
function nullTest(fn: Comparison, { name, nullable }: Scalar, negated: boolean): Where {
  if (isOrder(fn)) return negated ? EVERY : NONE
  const asked = negated ? COMPLEMENT[fn] : fn
  if (!nullable) return asked === 'ne' ? EVERY : NONE
  return { [name]: { [PRISMA[asked]]: null } }
}

function valueTest(
  fn: Comparison,
  { name, nullable }: Scalar,
  value: Value | bigint,
  negated: boolean,
): Where {
  const asked = negated ? COMPLEMENT[fn] : fn
  const test = { [name]: { [PRISMA[asked]]: value } }
  const holdsForNull = nullable && (asked === 'ne' || (negated && isOrder(fn)))
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
  fn: keyof typeof TEXT,
  left: Expr,
  right: Expr,
  row: RowName,
  negated: boolean,
): Where | undefined {
  if (
    left.kind !== 'column' ||
    left.scalar.type !== 'String' ||
    left.scalar.collection ||
    right.kind !== 'literal'
  )
    return undefined
  // Of null these are null, and so is their negation.
  if (isNull(right)) return NONE
  // Prisma passes the text to LIKE as it is.
  const test = { [left.scalar.name]: { [TEXT[fn]]: escapeLike(String(right.value)) } }
  return at(
    left.source,
    row,
    negated ? { AND: [{ NOT: test }, { [left.scalar.name]: { not: null } }] } : test,
  )
}

function valuesWhere(
  { quantifier, over, body, row: element }: Expr & { kind: 'lambda' },
  row: RowName,
  negated: boolean,
): Where | undefined {
  if (quantifier !== 'any' || over.kind !== 'values') return undefined
  const { name } = over.scalar
  if (!body) return at(over.source, row, { [name]: { isEmpty: negated } })
  const [left, right] = body.kind === 'call' && body.fn === 'eq' ? body.args : []
  if (left?.kind !== 'element' || left.row !== element || right?.kind !== 'literal' || right.value === null)
    return undefined
  const has = { [name]: { has: right.value } }
  return at(over.source, row, negated ? { NOT: has } : has)
}

/**
 * A quantifier over related records. `all` is "none for which the predicate is not true", which Prisma says
 * only where it is never null.
 */
function recordsWhere(
  { quantifier, over, row: inner, body }: Expr & { kind: 'lambda' },
  row: RowName,
  negated: boolean,
): Where | undefined {
  if (over.kind !== 'records' || !over.navigation.relation) return undefined
  const where = body ? toWhere(body, inner, quantifier === 'all') : EVERY
  if (!where || (quantifier === 'all' && body && !isTwoValued(body))) return undefined
  return at(over.source, row, {
    [over.navigation.name]: { [relationTest(over.navigation, (quantifier === 'any') !== negated)]: where },
  })
}

const relationTest = ({ collection }: Navigation, some: boolean) =>
  collection ? (some ? 'some' : 'none') : some ? 'is' : 'isNot'

/** Whether a condition is true or false in every record: comparisons are, whatever they compare. */
function isTwoValued(expr: Expr): boolean {
  if (expr.kind === 'lambda') return true
  if (expr.kind !== 'call') return expr.kind === 'literal' && expr.value !== null
  return expr.fn === 'and' || expr.fn === 'or' || expr.fn === 'not'
    ? expr.args.every(isTwoValued)
    : isComparison(expr.fn) || expr.fn === 'in'
}
