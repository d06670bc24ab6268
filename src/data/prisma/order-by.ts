import type { Scalar } from '../../model/model.js'
import { type Expr, isRowColumn, type OrderByTerm } from '../../query/plan.js'
import { notExpressible, reasonOf } from './not-expressible.js'

type SortOrder = 'asc' | 'desc'
export type PrismaOrderBy = {
  readonly [field: string]: SortOrder | PrismaNullsOrder | { readonly _count: SortOrder }
}
interface PrismaNullsOrder {
  readonly sort: SortOrder
  readonly nulls: 'first' | 'last'
}
/** Null sorts below every value. Prisma takes `nulls` for nullable fields only. */
export function toOrderBy({ expr, descending }: OrderByTerm): PrismaOrderBy {
  const sort = descending ? 'desc' : 'asc'
  const counted = countedNavigationOf(expr)
  if (counted !== undefined) return { [counted]: { _count: sort } }
  const { name, nullable } = columnOfTerm(expr)
  return { [name]: nullable ? { sort, nulls: descending ? 'last' : 'first' } : sort }
}

/** Returns the field of an order term. @throws NotExpressibleError for other terms. */
export function columnOfTerm(expr: Expr): Scalar {
  if (isRowColumn(expr) && expr.scalar.type !== 'GeographyPoint') return expr.scalar
  return notExpressible(`order by ${reasonOf(expr)}`)
}

/** Returns the name of the relation whose records an order term counts, or undefined for another term. */
export const countedNavigationOf = (expr: Expr): string | undefined =>
  expr.kind === 'count' &&
  expr.over.kind === 'records' &&
  expr.over.source.kind === 'row' &&
  expr.over.navigation.relation &&
  !expr.filter
    ? expr.over.navigation.name
    : undefined
