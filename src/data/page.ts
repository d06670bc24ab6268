import type { Notation } from '../query/notation.js'
import { type Plan, reversed } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { toFrom } from './derived.js'
import { toStretches } from './keyset.js'
import type { Sql } from './render.js'
import { toOrderBy, toRecordJson, toVersion } from './shape.js'
import { toCondition, toSql } from './sql.js'
import { toStoredPlan } from './stored.js'

const { sql, raw, join, empty } = Prisma

/**
 * The statement that reads a page, or what a stretch of the order has of it: the finished JSON of each record, or what is to be joined
 * with its stored document, and the order values from which the next page goes on.
 */
export function toPageStatement(plan: Plan, notation: Notation, stretch: Sql | undefined, most: number | undefined): Sql {
  const limit = most === undefined ? empty : sql` limit ${most}`
  const offset = plan.skip > 0 ? sql` offset ${plan.skip}` : empty
  const cursor = join(plan.orderBy.map(o => sql`(${toSql(o.expr)})::text`))
  const stored = toStoredPlan(plan, notation)
  const document = stored ? sql`, ${stored.document} as "document"` : empty
  return sql`select ${toRecordJson(stored?.plan ?? plan, notation)}::text as "json"${document}, (${toVersion(plan) ?? raw('null')})::text as "version", json_build_array(${cursor})::text as "cursor" ${rows(plan, ...(stretch ? [stretch] : []), ...toBound(plan))} order by ${toOrderBy(plan)}${limit}${offset}`
}

/** How many records the filter selects, whatever the page. */
export function toCountStatement(plan: Plan): Sql {
  return sql`select count(*)::int as "count" ${rows(plan)}`
}

/** What is before a record is what comes after it from the other end. */
const toBound = ({ orderBy, before }: Plan): readonly Sql[] =>
  before
    ? [
        sql`(${join(
          toStretches(reversed({ orderBy, after: before })).filter(s => s !== undefined),
          ' or ',
        )})`,
      ]
    : []

function rows({ filter, ...plan }: Plan, ...bounds: readonly Sql[]): Sql {
  const conditions = [...(filter ? [toCondition(filter)] : []), ...bounds]
  const where = conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty
  return sql`${toFrom(plan)}${where}`
}
