import sql, { join, raw, type Sql } from 'sql-template-tag'
import type { Expr, Plan } from '../../query/plan.js'
import { computedType, pgType } from './columns.js'
import { isNeverNull, toSql } from './expression.js'

/**
 * The records that come after the last one read, as conditions to be asked one after the other until the page
 * is full. Each is one stretch of an index on the order, so the thousandth page costs what the first costs:
 * null stands below every value, and no single comparison finds both what is beyond a value and the nulls
 * after it.
 */
export function toStretches({
  orderBy,
  after,
}: Pick<Plan, 'orderBy' | 'after'>): readonly (Sql | undefined)[] {
  if (!after) return [undefined]
  const terms = orderBy.map(({ expr, descending }, i) => toTerm(expr, descending, after[i] ?? null))
  const [first, ...rest] = terms
  if (!first) return [undefined]
  const isNull = sql`${first.sql} is null`
  if (first.last === null) {
    const nulls = sql`(${isNull} and ${beyond(rest)})`
    return first.descending ? [nulls] : [nulls, sql`(${first.sql} is not null)`]
  }
  const values = isOneComparison(terms)
    ? compareRow(terms, first)
    : sql`(${first.sql} ${first.sign}= ${first.value} and ${beyond(terms)})`
  return first.descending && !isNeverNull(first.expr) ? [values, sql`(${isNull})`] : [values]
}

/** One term of the order, with its value in the last record read. */
interface Term {
  readonly expr: Expr
  readonly descending: boolean
  readonly last: string | null
  readonly sql: Sql
  readonly value: Sql
  /** `>` or `<`: where the next records are. */
  readonly sign: Sql
}

const toTerm = (expr: Expr, descending: boolean, last: string | null): Term => ({
  expr,
  descending,
  last,
  sql: toSql(expr),
  // A column is compared in its own type, which its index serves.
  value: sql`${last}::${raw((expr.kind === 'column' ? pgType : computedType)(expr.type))}`,
  sign: raw(descending ? '<' : '>'),
})

/**
 * Terms of one direction are one comparison of rows, which an index serves whole. Only the first may have
 * nulls, since they are another stretch.
 */
const isOneComparison = ([first, ...rest]: readonly Term[]) =>
  rest.every(t => t.descending === first?.descending && isNeverNull(t.expr))

const compareRow = (terms: readonly Term[], { sign }: Term) =>
  sql`((${join(terms.map(t => t.sql))}) ${sign} (${join(terms.map(t => t.value))}))`

/** Beyond the first term's value, or at it and beyond the rest. */
function beyond([first, ...rest]: readonly Term[]): Sql {
  if (!first) return raw('false')
  return rest.length === 0 ? after(first) : sql`(${after(first)} or (${same(first)} and ${beyond(rest)}))`
}

function after({ expr, descending, last, sql: term, sign, value }: Term): Sql {
  if (last === null) return descending ? raw('false') : sql`(${term} is not null)`
  return descending && !isNeverNull(expr)
    ? sql`(${term} < ${value} or ${term} is null)`
    : sql`(${term} ${sign} ${value})`
}

const same = ({ last, sql: term, value }: Term) =>
  last === null ? sql`(${term} is null)` : sql`(${term} = ${value})`
