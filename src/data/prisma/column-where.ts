import { getEntity, getScalar, type Navigation, type Scalar } from '../../model/model.js'
import type { ColumnExpr, ColumnSource, LiteralExpr } from '../../query/plan.js'
import { escapeLike } from '../sql/columns.js'
import { type ComparisonOperator, isOrderingOperator, NEGATORS } from '../sql/comparison.js'
import { toColumnValue } from './column-value.js'
import {
  allWhere,
  anyWhere,
  MATCH_ALL,
  MATCH_NONE,
  type PrismaWhere,
  type ThreeValuedBoolean,
  type WhereScope,
} from './condition.js'
import type { ElementSet } from './element-set.js'
import { notExpressible } from './not-expressible.js'

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

export type TextFunction = keyof typeof PRISMA_TEXT_OPERATORS
export const isTextFunction = (fn: string): fn is TextFunction => Object.hasOwn(PRISMA_TEXT_OPERATORS, fn)

/** A point is null if one of its coordinates is null. Prisma distinguishes JSON null from a null column. */
const WITHOUT_POSITION = anyWhere({ Longitude: null }, { Latitude: null })
const WITH_POSITION = allWhere({ Longitude: { not: null } }, { Latitude: { not: null } })

/**
 * Returns the `where` of a record that single relations lead to.
 *   `Listing/City` → `{ Listing: { is: where } }`
 */
export function toRelationWhere(source: ColumnSource, scope: WhereScope, where: PrismaWhere): PrismaWhere {
  if (where === MATCH_NONE) return MATCH_NONE
  switch (source.kind) {
    case 'key':
      return notExpressible('a record by its key in an expression')
    case 'row':
      return source.row === scope.row ? where : notExpressible('a comparison of fields of two records')
    case 'via':
      if (!source.navigation.relation)
        return notExpressible('navigation by a reference without a foreign key')
      return toRelationWhere(source.from, scope, { [source.navigation.name]: { is: where } })
  }
}

/** Returns the `where` of the records from which the relations of a column lead to no record. */
export function withoutSource(source: ColumnSource, scope: WhereScope): PrismaWhere {
  if (source.kind !== 'via') return MATCH_NONE
  return anyWhere(withoutSource(source.from, scope), withoutRecord(source.navigation, source.from, scope))
}

/**
 * Returns the `where` of the records without a related record. Prisma has no `is: null` for a relation that
 * is required.
 *   `Property` of Media → `{ Property: { is: null } }`; `Listing` of Rooms → none
 */
export function withoutRecord(
  { name, local }: Navigation,
  source: ColumnSource,
  scope: WhereScope,
): PrismaWhere {
  const entity = source.kind === 'via' ? getEntity(source.navigation.target) : scope.entity
  return getScalar(entity, local).nullable
    ? toRelationWhere(source, scope, { [name]: { is: null } })
    : MATCH_NONE
}

/** Returns the `where` of the records in which a column is null. */
export function isNullWhere({ scalar, source }: ColumnExpr, scope: WhereScope): PrismaWhere {
  const test =
    scalar.type === 'GeographyPoint'
      ? WITHOUT_POSITION
      : scalar.nullable
        ? { [scalar.name]: null }
        : MATCH_NONE
  return anyWhere(withoutSource(source, scope), toRelationWhere(source, scope, test))
}

/** Returns the `where` of the records in which a column has a value. */
export function isNotNullWhere({ scalar, source }: ColumnExpr, scope: WhereScope): PrismaWhere {
  const { type, name, nullable } = scalar
  const test = type === 'GeographyPoint' ? WITH_POSITION : nullable ? { [name]: { not: null } } : MATCH_ALL
  return toRelationWhere(source, scope, test)
}

/** Returns the `where` of a comparison of a column with a literal. Null equals only null. */
export function compareWithLiteral(
  fn: ComparisonOperator,
  column: ColumnExpr,
  literal: LiteralExpr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return MATCH_NONE
  const operator = truth ? fn : NEGATORS[fn]
  if (literal.value === null) {
    if (isOrderingOperator(fn)) return truth ? MATCH_NONE : MATCH_ALL
    return operator === 'eq' ? isNullWhere(column, scope) : isNotNullWhere(column, scope)
  }
  const test = valueTest(operator, column.scalar, literal)
  const found =
    test === 'always' ? isNotNullWhere(column, scope) : toRelationWhere(column.source, scope, test)
  return holdsForNull(fn, truth) ? anyWhere(found, isNullWhere(column, scope)) : found
}

/** Returns true if a comparison with a value has the given result for null. */
const holdsForNull = (fn: ComparisonOperator, truth: boolean) =>
  isOrderingOperator(fn) ? !truth : (fn === 'ne') === truth

function valueTest(fn: ComparisonOperator, scalar: Scalar, literal: LiteralExpr): PrismaWhere | 'always' {
  const position = toColumnValue(scalar, literal)
  if (position.kind === 'exact') return { [scalar.name]: { [PRISMA_OPERATORS[fn]]: position.value } }
  if (!isOrderingOperator(fn)) return fn === 'ne' ? 'always' : MATCH_NONE
  const isUpperBound = fn === 'lt' || fn === 'le'
  if (position.kind === 'between') return { [scalar.name]: { [isUpperBound ? 'lte' : 'gt']: position.value } }
  return isUpperBound === (position.kind === 'above') ? 'always' : MATCH_NONE
}

/** Returns the `where` of `in` with literals. It is `eq` of any of them. */
export function inLiterals(
  column: ColumnExpr,
  literals: readonly LiteralExpr[],
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return MATCH_NONE
  const { scalar, source } = column
  const positions = literals.filter(({ value }) => value !== null).map(item => toColumnValue(scalar, item))
  const values = positions.flatMap(position => (position.kind === 'exact' ? [position.value] : []))
  const isNullItem = literals.some(({ value }) => value === null)
  const found =
    values.length > 0
      ? toRelationWhere(source, scope, { [scalar.name]: { [truth ? 'in' : 'notIn']: values } })
      : truth
        ? MATCH_NONE
        : isNotNullWhere(column, scope)
  return isNullItem === truth ? anyWhere(found, isNullWhere(column, scope)) : found
}

/** Returns the `where` of a comparison of two columns of one record, by a reference to the second one. */
export function compareColumns(
  fn: ComparisonOperator,
  left: ColumnExpr,
  right: ColumnExpr,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return MATCH_NONE
  if (!isSameSource(left.source, right.source)) return notExpressible('a comparison of fields of two records')
  if (left.type !== right.type || left.type === 'GeographyPoint')
    return notExpressible(`a comparison of ${left.type} with ${right.type}`)
  const operator = truth ? fn : NEGATORS[fn]
  const entity = left.source.kind === 'via' ? getEntity(left.source.navigation.target) : scope.entity
  const reference = scope.fieldReferences(entity, right.scalar.name)
  // Prisma takes no reference in `not`. NOT leaves out the records where one of the fields is null.
  const compared = (name: string) => ({ [left.scalar.name]: { [name]: reference } })
  const comparison = operator === 'ne' ? { NOT: compared('equals') } : compared(PRISMA_OPERATORS[operator])
  const test = toRelationWhere(left.source, scope, comparison)
  const [leftNull, rightNull] = [isNullWhere(left, scope), isNullWhere(right, scope)]
  if (isOrderingOperator(fn)) return truth ? test : anyWhere(test, leftNull, rightNull)
  if (operator === 'eq') return anyWhere(test, allWhere(leftNull, rightNull))
  return anyWhere(
    test,
    allWhere(leftNull, isNotNullWhere(right, scope)),
    allWhere(isNotNullWhere(left, scope), rightNull),
  )
}

const isSameSource = (a: ColumnSource, b: ColumnSource): boolean =>
  a.kind === 'row'
    ? b.kind === 'row' && a.row === b.row
    : a.kind === 'via' && b.kind === 'via' && a.navigation === b.navigation && isSameSource(a.from, b.from)

/** Returns the `where` of a text function of a column and a text. Null for a column that is null. */
export function textWhere(
  fn: TextFunction,
  column: ColumnExpr,
  text: string,
  truth: ThreeValuedBoolean,
  scope: WhereScope,
): PrismaWhere {
  if (truth === null) return isNullWhere(column, scope)
  const { scalar, source } = column
  // Prisma passes the text to LIKE without escapes.
  const test = { [scalar.name]: { [PRISMA_TEXT_OPERATORS[fn]]: escapeLike(text) } }
  if (truth) return toRelationWhere(source, scope, test)
  return toRelationWhere(source, scope, {
    AND: [{ NOT: test }, ...(scalar.nullable ? [{ [scalar.name]: { not: null } }] : [])],
  })
}

/** Returns the `where` of the records whose collection contains, or does not contain, a value of a set. */
export function hasWhere(
  { scalar, source }: ColumnExpr,
  set: ElementSet,
  truth: boolean,
  scope: WhereScope,
): PrismaWhere {
  const texts = [...set.texts]
  if (set.complement && texts.length > 0) return notExpressible('a value of a collection other than some')
  if (!set.complement && texts.length === 0) return truth ? MATCH_NONE : MATCH_ALL
  const test = set.complement
    ? { isEmpty: !truth }
    : texts.length === 1
      ? { has: texts[0] }
      : { hasSome: texts }
  const where = { [scalar.name]: test }
  if (truth) return toRelationWhere(source, scope, where)
  return anyWhere(
    withoutSource(source, scope),
    toRelationWhere(source, scope, set.complement ? where : { NOT: where }),
  )
}
