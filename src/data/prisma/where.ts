import { getEntity, type Navigation } from '../../model/model.js'
import { type CallExpr, type ColumnExpr, type Expr, FALSE, nullLiteral, predicate } from '../../query/plan.js'
import { COMMUTATORS, type ComparisonOperator, isComparisonOperator } from '../sql/comparison.js'
import { comparisonHolds, literalsCompare } from './column-value.js'
import {
  compareColumns,
  compareWithLiteral,
  hasWhere,
  inLiterals,
  isNullWhere,
  isTextFunction,
  type TextFunction,
  textWhere,
  toRelationWhere,
  withoutRecord,
  withoutSource,
} from './column-where.js'
import {
  allWhere,
  anyWhere,
  MATCH_ALL,
  MATCH_NONE,
  type PrismaWhere,
  type ThreeValuedBoolean,
  type WhereScope,
} from './condition.js'
import { complement, type ElementSet, toElementSet } from './element-set.js'
import { notExpressible, reasonOf } from './not-expressible.js'
import { isNeverNull, type LambdaExpr, withoutOuterConditions } from './outer-conditions.js'

/**
 * Returns the `where` of the records for which a condition is true.
 * @throws NotExpressibleError if Prisma cannot express it
 */
export const toPrismaWhere = (expr: Expr, scope: WhereScope): PrismaWhere =>
  whereOf(withoutOuterConditions(expr), true, scope)

/** Returns the `where` of the records for which a condition is true, false or null. */
function whereOf(expr: Expr, truth: ThreeValuedBoolean, scope: WhereScope): PrismaWhere {
  switch (expr.kind) {
    case 'literal':
      return expr.value === truth ? MATCH_ALL : MATCH_NONE
    case 'column':
      return truth === null
        ? isNullWhere(expr, scope)
        : toRelationWhere(expr.source, scope, { [expr.scalar.name]: { equals: truth } })
    case 'lambda':
      if (truth === null) return MATCH_NONE
      return expr.over.kind === 'values' ? valuesWhere(expr, truth, scope) : recordsWhere(expr, truth, scope)
    case 'call':
      return callWhere(expr, truth, scope)
    case 'nullUnless': {
      const found = allWhere(whereOf(expr.when, true, scope), whereOf(expr.value, truth, scope))
      return truth === null ? anyWhere(found, notTrueWhere(expr.when, scope)) : found
    }
    default:
      return notExpressible(reasonOf(expr))
  }
}

/** Returns the `where` of the records for which a condition is false or null. */
const notTrueWhere = (expr: Expr, scope: WhereScope): PrismaWhere =>
  isNeverNull(expr)
    ? whereOf(expr, false, scope)
    : anyWhere(whereOf(expr, false, scope), whereOf(expr, null, scope))

function callWhere(call: CallExpr, truth: ThreeValuedBoolean, scope: WhereScope): PrismaWhere {
  const { fn, args } = call
  const [left, right] = args
  if (!left) return notExpressible(`the function ${fn}`)
  if (fn === 'and' || fn === 'or') return junctionWhere(fn, args, truth, scope)
  if (fn === 'not') return whereOf(left, truth === null ? null : !truth, scope)
  const masked = args.find(arg => arg.kind === 'nullUnless')
  if (masked) return maskedWhere(call, masked, truth, scope)
  if (right && isComparisonOperator(fn)) return comparisonWhere(fn, left, right, truth, scope)
  if (right && fn === 'in') return inWhere(left, right, truth, scope)
  if (right && isTextFunction(fn)) return textCallWhere(fn, left, right, truth, scope)
  return notExpressible(`the function ${fn}`)
}

/** `and` is false if one term is, `or` is true if one term is; otherwise a null term makes them null. */
function junctionWhere(
  fn: 'and' | 'or',
  args: readonly Expr[],
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  const decisive = fn === 'or'
  const where = (arg: Expr, result: ThreeValuedBoolean) => whereOf(arg, result, scope)
  if (truth === decisive) return anyWhere(...args.map(arg => where(arg, truth)))
  if (truth !== null) return allWhere(...args.map(arg => where(arg, truth)))
  const open = args.filter(arg => !isNeverNull(arg))
  if (open.length === 0) return MATCH_NONE
  const undecided = args.map(arg => anyWhere(where(arg, !decisive), where(arg, null)))
  return allWhere(anyWhere(...open.map(arg => where(arg, null))), ...undecided)
}

/** Returns the `where` of a value that is null in the records that hide it from the reader. */
function maskedWhere(
  call: CallExpr,
  masked: Expr & { readonly kind: 'nullUnless' },
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  const withArgument = (value: Expr): Expr => ({
    ...call,
    args: call.args.map(arg => (arg === masked ? value : arg)),
  })
  const { when, value } = masked
  if (value.kind !== 'column' || value.scalar.collection)
    return notExpressible('a computed value that some records hide')
  return anyWhere(
    allWhere(whereOf(when, true, scope), whereOf(withArgument(value), truth, scope)),
    allWhere(notTrueWhere(when, scope), whereOf(withArgument(nullLiteral(value.scalar.type)), truth, scope)),
  )
}

function comparisonWhere(
  fn: ComparisonOperator,
  left: Expr,
  right: Expr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (left.type === 'Boolean' && right.type === 'Boolean') return booleansWhere(fn, left, right, truth, scope)
  // A field or a number of records comes first.
  if (right.kind === 'count' || (left.kind === 'literal' && isPlainColumn(right)))
    return orderedComparisonWhere(COMMUTATORS[fn], right, left, truth, scope)
  return orderedComparisonWhere(fn, left, right, truth, scope)
}

function orderedComparisonWhere(
  fn: ComparisonOperator,
  left: Expr,
  right: Expr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (left.kind === 'count') return countWhere(fn, left, right, truth, scope)
  if (isPlainColumn(left)) {
    if (right.kind === 'literal') return compareWithLiteral(fn, left, right, truth, scope)
    return isPlainColumn(right)
      ? compareColumns(fn, left, right, truth, scope)
      : notExpressible(reasonOf(right))
  }
  if (left.kind !== 'literal' || right.kind !== 'literal')
    return notExpressible(reasonOf(left.kind === 'literal' ? right : left))
  return truth !== null && literalsCompare(fn, left, right) === truth ? MATCH_ALL : MATCH_NONE
}

const isPlainColumn = (expr: Expr): expr is ColumnExpr => expr.kind === 'column' && !expr.scalar.collection

const TRUTHS: readonly ThreeValuedBoolean[] = [true, false, null]

/** Compares conditions by the pairs of results for which the comparison holds. False is below true. */
function booleansWhere(
  fn: ComparisonOperator,
  left: Expr,
  right: Expr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return MATCH_NONE
  const pairs = TRUTHS.flatMap(a => TRUTHS.map(b => [a, b] as const)).filter(
    ([a, b]) =>
      comparisonHolds(fn, a === null || b === null ? undefined : Number(a) - Number(b), a === b) === truth,
  )
  return anyWhere(
    ...pairs.map(([a, b]) => {
      // The side that determines the result is translated first, because the other side may not be
      // expressible and may not be needed.
      const first = left.kind === 'literal' ? whereOf(left, a, scope) : whereOf(right, b, scope)
      if (first === MATCH_NONE) return MATCH_NONE
      return allWhere(first, left.kind === 'literal' ? whereOf(right, b, scope) : whereOf(left, a, scope))
    }),
  )
}

function inWhere(left: Expr, right: Expr, truth: ThreeValuedBoolean, scope: WhereScope): PrismaWhere {
  if (right.kind === 'list') {
    const literals = right.items.filter(item => item.kind === 'literal')
    if (isPlainColumn(left) && left.type !== 'Boolean' && literals.length === right.items.length)
      return inLiterals(left, literals, truth, scope)
    const [first, ...others] = right.items.map(item => predicate('eq', left, item))
    return whereOf(first ? predicate('or', first, ...others) : FALSE, truth, scope)
  }
  if (right.kind !== 'column' || left.kind !== 'literal')
    return notExpressible('in with a field and a collection')
  const texts = new Set(left.value === null ? [] : [String(left.value)])
  return truth === null ? MATCH_NONE : hasWhere(right, { complement: false, texts }, truth, scope)
}

function textCallWhere(
  fn: TextFunction,
  left: Expr,
  right: Expr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if ([left, right].some(arg => arg.kind === 'literal' && arg.value === null))
    return truth === null ? MATCH_ALL : MATCH_NONE
  if (right.kind !== 'literal')
    return notExpressible(right.kind === 'column' ? `${fn} with two fields` : reasonOf(right))
  if (isPlainColumn(left)) return textWhere(fn, left, String(right.value), truth, scope)
  return notExpressible(left.kind === 'literal' ? `${fn} of a literal` : reasonOf(left))
}

/** Returns the `where` of `any` or `all` over the values of a collection. */
function valuesWhere(
  { quantifier, over, body, row }: LambdaExpr,
  truth: boolean,
  scope: WhereScope,
): PrismaWhere {
  if (over.kind !== 'values') return notExpressible('a lambda')
  const column: ColumnExpr = {
    kind: 'column',
    scalar: over.scalar,
    source: over.source,
    type: 'Collection(String)',
  }
  const matching: ElementSet = body ? toElementSet(body, row, true) : { complement: true, texts: new Set() }
  return quantifier === 'any'
    ? hasWhere(column, matching, truth, scope)
    : hasWhere(column, complement(matching), !truth, scope)
}

/**
 * Returns the `where` of `any` or `all` over related records. `all` means that no record has a condition that
 * is false or null.
 */
function recordsWhere(lambda: LambdaExpr, truth: boolean, scope: WhereScope): PrismaWhere {
  const { quantifier, over, row, body } = lambda
  if (over.kind !== 'records') return notExpressible('the previous record')
  const { navigation, source } = over
  if (!navigation.relation) return notExpressible('navigation by a reference without a foreign key')
  const inner = { ...scope, entity: getEntity(navigation.target), row }
  const needsRecord = (quantifier === 'any') === truth
  if (!navigation.collection) return singleRecordWhere(lambda, navigation, truth, scope, inner)
  const where = bodyWhere(body, quantifier === 'any', inner)
  if (where === MATCH_NONE) return needsRecord ? MATCH_NONE : MATCH_ALL
  const found = toRelationWhere(source, scope, {
    [navigation.name]: { [needsRecord ? 'some' : 'none']: where },
  })
  return needsRecord ? found : anyWhere(withoutSource(source, scope), found)
}

/**
 * Returns the `where` of the records for which a condition is true, or not true. A missing condition is true.
 */
function bodyWhere(body: Expr | undefined, isTrue: boolean, scope: WhereScope): PrismaWhere {
  if (!body) return isTrue ? MATCH_ALL : MATCH_NONE
  return isTrue ? whereOf(body, true, scope) : notTrueWhere(body, scope)
}

/**
 * The negation of `is` would exclude records where the condition is null, so a missing related record has its
 * own condition.
 */
function singleRecordWhere(
  { quantifier, over: { source }, body }: LambdaExpr,
  navigation: Navigation,
  truth: boolean,
  scope: WhereScope,
  inner: WhereScope,
): PrismaWhere {
  const where = bodyWhere(body, truth, inner)
  const found =
    where === MATCH_NONE ? MATCH_NONE : toRelationWhere(source, scope, { [navigation.name]: { is: where } })
  if ((quantifier === 'any') === truth) return found
  return anyWhere(withoutSource(source, scope), withoutRecord(navigation, source, scope), found)
}

/** Returns the `where` of a number of related records. Prisma can only distinguish none from some. */
function countWhere(
  fn: ComparisonOperator,
  { over, row, filter }: Expr & { readonly kind: 'count' },
  right: Expr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return MATCH_NONE
  const limit = right.kind === 'literal' ? Number(right.value ?? Number.NaN) : Number.NaN
  const [none, one, many] = [0, 1, 2].map(count => comparisonHolds(fn, count - limit, count === limit))
  if (Number.isNaN(limit) || one !== many || (limit > 1 && none === one))
    return notExpressible('$count in an expression')
  if (none === one) return none === truth ? MATCH_ALL : MATCH_NONE
  const any: LambdaExpr = {
    kind: 'lambda',
    quantifier: 'any',
    over,
    row,
    type: 'Boolean',
    ...(filter && { body: filter }),
  }
  return whereOf(any, one === truth, scope)
}
