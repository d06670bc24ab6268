import type { Notation } from '../query/notation.js'
import type { Expr, Order, Plan } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { pgType } from './columns.js'
import { toFrom } from './derived.js'
import type { Sql } from './render.js'
import { neverNull, toOrderBy, toRecordJson } from './shape.js'
import { toCondition, toSql } from './sql.js'

const { sql, raw, join, empty } = Prisma

/**
 * The one statement that reads a page: the finished JSON of each record, and the order values from which the next page
 * goes on. One record more than the page holds is read, to know whether there is a next page.
 */
export function toPageStatement(plan: Plan, notation: Notation): Sql {
  const limit = plan.top === undefined ? empty : sql` limit ${plan.top + 1}`
  const offset = plan.skip > 0 ? sql` offset ${plan.skip}` : empty
  const cursor = join(plan.orderBy.map(o => sql`(${toSql(o.expr)})::text`))
  return sql`select ${toRecordJson(plan, notation)}::text as "json", ${version(plan)} as "version", json_build_array(${cursor})::text as "cursor" ${rows(plan)} order by ${toOrderBy(plan)}${limit}${offset}`
}

/** The log has no versions: its entries never change. */
const version = ({ entity, row }: Plan) => raw(entity.hidden.has('RecordVersion') ? `${row}."RecordVersion"::text` : 'null::text')

/** How many records the filter selects, whatever the page. */
export function toCountStatement({ after: _, ...plan }: Plan): Sql {
  return sql`select count(*)::int as "count" ${rows(plan)}`
}

function rows({ filter, orderBy, after, ...plan }: Plan): Sql {
  const conditions = [...(filter ? [toCondition(filter)] : []), ...(after ? [toKeyset(orderBy, after)] : [])]
  const where = conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty
  return sql`${toFrom(plan)}${where}`
}

/**
 * The condition that a record comes after the one with these order values. Its first part is a plain comparison of the
 * leading term where there is one, so that an index can start reading there: the thousandth page costs what the first costs.
 */
function toKeyset(orderBy: readonly Order[], after: readonly (string | null)[]): Sql {
  const terms = orderBy.map(({ expr, descending }, i) => new Term(expr, descending, after[i] ?? null))
  const [first] = terms
  if (!first) return raw('true')
  if (terms.every(t => neverNull(t.expr) && t.descending === first.descending))
    return sql`(${join(terms.map(t => t.sql))}) ${first.beyond} (${join(terms.map(t => t.value))})`
  const start = first.startable ? sql`${first.sql} ${first.beyond}= ${first.value} and ` : empty
  return sql`(${start}${beyondAll(terms)})`
}

function beyondAll([first, ...rest]: readonly Term[]): Sql {
  if (!first) return raw('false')
  return rest.length === 0 ? first.after() : sql`(${first.after()} or (${first.same()} and ${beyondAll(rest)}))`
}

/** One term of the order, with its value in the last record read. Null is below every value. */
class Term {
  readonly sql: Sql
  readonly value: Sql
  readonly beyond: Sql

  constructor(
    readonly expr: Expr,
    readonly descending: boolean,
    private readonly last: string | null,
  ) {
    this.sql = toSql(expr)
    this.value = sql`${last}::${raw(pgType(expr.type))}`
    this.beyond = raw(descending ? '<' : '>')
  }

  /** Descending from a value there are the nulls to come, which no comparison finds. */
  get startable(): boolean {
    return this.last !== null && (!this.descending || neverNull(this.expr))
  }

  after(): Sql {
    if (this.last === null) return this.descending ? raw('false') : sql`(${this.sql} is not null)`
    if (!this.descending || neverNull(this.expr)) return sql`(${this.sql} ${this.beyond} ${this.value})`
    return sql`(${this.sql} < ${this.value} or ${this.sql} is null)`
  }

  same(): Sql {
    return this.last === null ? sql`(${this.sql} is null)` : sql`(${this.sql} = ${this.value})`
  }
}
