import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import type { Expr, ParameterRef, Plan } from '../../query/plan.js'
import { computedPgType, pgType } from './columns.js'
import { isNonNullable, toSql } from './expression.js'

/**
 * Returns the conditions on the records after the cursor, to be read one after the other until the page is
 * full. Each condition is one range of an index on the order, so every page costs the same. Null sorts below
 * every value, so no single comparison finds the values after the cursor together with the nulls after them.
 *   `$orderby=City desc` after ('Vail', 'L1') → `((r0."City",r0."ListingKey") < ($1::text,$2::text))` and
 *     `(r0."City" is null)`
 */
export function keysetRanges({
  orderBy,
  after,
}: Pick<Plan, 'orderBy' | 'after'>): readonly (Sql | undefined)[] {
  if (!after) return [undefined]
  const terms = orderBy.map(({ expr, descending }, i) => toOrderTerm(expr, descending, after[i] ?? null))
  const [first, ...rest] = terms
  if (!first) return [undefined]
  const isNull = sql`${first.expression} is null`
  if (first.cursorValue === null) {
    const nulls = sql`(${isNull} and ${toAfterTerms(rest)})`
    return first.descending ? [nulls] : [nulls, sql`(${first.expression} is not null)`]
  }
  const values = isSingleRowComparison(terms)
    ? toRowComparison(terms, first)
    : sql`(${first.expression} ${first.operator}= ${first.boundValue} and ${toAfterTerms(terms)})`
  return first.descending && !isNonNullable(first.expr) ? [values, sql`(${isNull})`] : [values]
}

/** A term of the order with its value in the cursor. */
interface OrderTerm {
  readonly expr: Expr
  readonly descending: boolean
  readonly cursorValue: string | ParameterRef | null
  readonly expression: Sql
  readonly boundValue: Sql
  /** `>` or `<`: the direction of the next records. */
  readonly operator: Sql
}

const toOrderTerm = (
  expr: Expr,
  descending: boolean,
  cursorValue: string | ParameterRef | null,
): OrderTerm => ({
  expr,
  descending,
  cursorValue,
  expression: toSql(expr),
  // A column is compared in its own type, which the index has.
  boundValue: sql`${cursorValue}::${raw((expr.kind === 'column' ? pgType : computedPgType)(expr.type))}`,
  operator: raw(descending ? '<' : '>'),
})

/**
 * Terms of one direction form one row comparison, which an index serves. Only the first term can be nullable,
 * since nulls are a separate range.
 */
const isSingleRowComparison = ([first, ...rest]: readonly OrderTerm[]) =>
  rest.every(t => t.descending === first?.descending && isNonNullable(t.expr))

const toRowComparison = (terms: readonly OrderTerm[], { operator }: OrderTerm) =>
  sql`((${join(terms.map(t => t.expression))}) ${operator} (${join(terms.map(t => t.boundValue))}))`

/** Renders: after the value of the first term, or equal to it and after the rest. */
function toAfterTerms([first, ...rest]: readonly OrderTerm[]): Sql {
  if (!first) return raw('false')
  return rest.length === 0
    ? toAfterTerm(first)
    : sql`(${toAfterTerm(first)} or (${toEqualsTerm(first)} and ${toAfterTerms(rest)}))`
}

function toAfterTerm({
  expr,
  descending,
  cursorValue,
  expression: term,
  operator,
  boundValue,
}: OrderTerm): Sql {
  if (cursorValue === null) return descending ? raw('false') : sql`(${term} is not null)`
  return descending && !isNonNullable(expr)
    ? sql`(${term} < ${boundValue} or ${term} is null)`
    : sql`(${term} ${operator} ${boundValue})`
}

const toEqualsTerm = ({ cursorValue, expression: term, boundValue }: OrderTerm) =>
  cursorValue === null ? sql`(${term} is null)` : sql`(${term} = ${boundValue})`

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
