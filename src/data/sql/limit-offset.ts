import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Plan } from '../../query/plan.js'
import { isNonNullable, toSql } from './expression.js'

/**
 * Renders the terms of ORDER BY. Null sorts below every value: first in ascending order, last
 * in descending order. NULLS FIRST or LAST is omitted for terms that are never null, so that more indexes
 * match.
 *   `$orderby=City desc` → `r0."City" desc nulls last,r0."ListingKey" desc`
 * @param toValue returns the name of a term's value if the query has one
 */
export function toOrderBy(
  { orderBy }: Pick<Plan, 'orderBy'>,
  toValue: (term: number) => Sql | undefined = () => undefined,
): Sql {
  return join(
    orderBy.map(({ expr, descending }, i) => {
      const nulls = isNonNullable(expr) ? '' : descending ? ' nulls last' : ' nulls first'
      return sql`${toValue(i) ?? toSql(expr)}${raw(`${descending ? ' desc' : ' asc'}${nulls}`)}`
    }),
  )
}

/**
 * Renders LIMIT and OFFSET. The limit is part of the text, so that a generic plan takes it into account.
 * Offsets vary too much for that and are bound.
 *   (20, 11) → ` limit 11 offset $1`
 */
export const toLimitOffset = (skip: number, limit: number | undefined): Sql =>
  sql`${raw(limit === undefined ? '' : ` limit ${limit}`)}${skip > 0 ? sql` offset ${skip}` : empty}`
