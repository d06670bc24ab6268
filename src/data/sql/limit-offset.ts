import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Plan } from '../../query/plan.js'
import { isNonNullable, toSql } from './expression.js'

/**
 * Null sorts below every value (decisions 2): first ascending, last descending. Of what is never null nothing
 * is said, so that more indexes serve it.
 *
 * @param toValue gives the value of a term where it has a name already.
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
 * At most so many of the records, behind those that are skipped. The size is written out, so that a plan for
 * all values knows it; places to begin at are too many for that.
 */
export const toLimitOffset = (skip: number, limit: number | undefined): Sql =>
  sql`${raw(limit === undefined ? '' : ` limit ${limit}`)}${skip > 0 ? sql` offset ${skip}` : empty}`
