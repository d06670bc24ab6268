import type { Notation } from '../query/notation.js'
import { type Plan, reversed } from '../query/plan.js'
import { toChosenKeys } from './choice.js'
import { Prisma } from './client/client.js'
import { toFrom } from './derived.js'
import { toStretches } from './keyset.js'
import { toOrderBy, toWindow } from './order.js'
import type { Sql } from './render.js'
import { toRecordJson, toVersion } from './shape.js'
import { type Extent, toCondition, toSql } from './sql.js'
import { type StoredPlan, toStoredPlan } from './stored.js'

const { sql, raw, join, empty } = Prisma

/** A statement that reads records, and in which of two forms they come. */
export interface PageStatement {
  readonly statement: Sql
  /** `text`: one row with all records in one text (`TextRow`); `rows`: a row for each, to be joined with its stored document (`StoredRow`). */
  readonly form: 'text' | 'rows'
}

/** Null where there are no records. Places have line feeds between them. */
export interface TextRow {
  readonly records: string | null
  readonly cursors: string | null
}

export interface StoredRow {
  readonly json: string
  readonly document: string
  readonly cursor: string
}

/**
 * The statement that reads a page, or what a stretch of the order has of it: the finished JSON of the records, and the order values from which the next
 * page goes on. Large records come apart: copying them into one text would cost more than their rows.
 */
export function toPageStatement(plan: Plan, notation: Notation, stretch: Sql | undefined, most: number | undefined): PageStatement {
  const stored = toStoredPlan(plan, notation)
  const cursor = sql`json_build_array(${join(plan.orderBy.map(o => sql`(${toSql(o.expr)})::text`))})::text`
  const rows = sql`${toPageRows(plan, [...(stretch ? [stretch] : []), ...toBound(plan)], most)} order by ${toOrderBy(plan)}${toWindow(plan.skip, most)}`
  if (stored) return { form: 'rows', statement: sql`select ${toStoredColumns(stored, notation)}, ${cursor} as "cursor" ${rows}` }
  const listed = sql`select ${toRecordJson(plan, notation)}::text as record, ${cursor} as cursor ${rows}`
  return {
    form: 'text',
    statement: sql`select string_agg(listed.record, E',\\n') as "records", string_agg(listed.cursor, E'\\n') as "cursors" from (${listed}) listed`,
  }
}

/** The statement that reads one record, with its version: the first one of the plan. */
export function toRecordStatement(plan: Plan, notation: Notation): Sql {
  return sql`select ${toRecordColumns(plan, notation)} ${toRows(plan, 'some')} order by ${toOrderBy(plan)} limit 1`
}

/** What is said of one record: its JSON, or what is to be joined with its stored document, and its version. */
export function toRecordColumns(plan: Plan, notation: Notation): Sql {
  const stored = toStoredPlan(plan, notation)
  const columns = stored ? toStoredColumns(stored, notation) : sql`${toRecordJson(plan, notation)}::text as "json"`
  return sql`${columns}, (${toVersion(plan) ?? raw('null')})::text as "version"`
}

const toStoredColumns = ({ plan, document }: StoredPlan, notation: Notation) => sql`${toRecordJson(plan, notation)}::text as "json", ${document} as "document"`

/** How many records the filter selects, whatever the page. */
export function toCountStatement(plan: Plan): Sql {
  return sql`select count(*)::int as "count" ${toRows(plan, 'all')}`
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

function toPageRows(plan: Plan, bounds: readonly Sql[], most: number | undefined): Sql {
  const keys = toChosenKeys(plan, bounds, most)
  return keys ? sql`${toFrom(plan)} where ${keys}` : toRows(plan, 'some', ...bounds)
}

function toRows({ filter, ...plan }: Plan, extent: Extent, ...bounds: readonly Sql[]): Sql {
  const conditions = [...(filter ? [toCondition(filter, false, extent)] : []), ...bounds]
  const where = conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty
  return sql`${toFrom(plan)}${where}`
}
