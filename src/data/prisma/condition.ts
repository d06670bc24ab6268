import type { Entity } from '../../model/model.js'
import type { RowName } from '../../query/plan.js'

/** A Prisma `where`. */
export type PrismaWhere = { readonly [name: string]: unknown }

/** A value of a condition in OData's three-valued logic. */
export type ThreeValuedBoolean = true | false | null

/** A reference to a field, as Prisma compares two fields of one record (`prisma.property.fields.City`). */
export type FieldReferences = (entity: Entity, field: string) => unknown

/** The records that a `where` selects from, and their name in expressions. */
export interface WhereScope {
  readonly entity: Entity
  readonly row: RowName
  readonly fieldReferences: FieldReferences
}

export const MATCH_ALL: PrismaWhere = { AND: [] }
export const MATCH_NONE: PrismaWhere = { OR: [] }

/** Returns the conjunction. Constants are folded: inside a list Prisma drops an empty `AND` or `OR`. */
export const allWhere = (...terms: readonly PrismaWhere[]) => combine('AND', MATCH_NONE, MATCH_ALL, terms)

/** Returns the disjunction. */
export const anyWhere = (...terms: readonly PrismaWhere[]) => combine('OR', MATCH_ALL, MATCH_NONE, terms)

function combine(
  operator: 'AND' | 'OR',
  decides: PrismaWhere,
  changesNothing: PrismaWhere,
  terms: readonly PrismaWhere[],
): PrismaWhere {
  if (terms.includes(decides)) return decides
  const open = terms.filter(t => t !== changesNothing)
  if (open.length === 0) return changesNothing
  return open.length === 1 && open[0] ? open[0] : { [operator]: open }
}
