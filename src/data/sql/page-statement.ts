import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { type Plan, reversed } from '../../query/plan.js'
import type { Notation } from '../../query/representation.js'
import { type Extent, toCondition } from './expression.js'
import { toFrom } from './from.js'
import { toRecordJson } from './json/json-object.js'
import { concat, type Texts, toCursorText, toIsExact, toRecordText } from './json/json-text.js'
import { toVersion } from './json/record-members.js'
import { Records, type StoredRow } from './json/records.js'
import { joinStored, type StoredPlan, toStoredPlan } from './json/stored-document.js'
import { toOrderBy, toWindow } from './limit-offset.js'
import { toStretches } from './order.js'
import { toChosenKeys, toSearchedKeys } from './page-by-keys.js'
import { pagePlanning } from './plan-cache-policy.js'
import type { Planning } from './statement.js'

/** A statement that reads records, and how its rows are read; undefined: the text is not right. */
export interface PageStatement {
  readonly statement: Sql
  readonly planning: Planning
  readonly read: (rows: readonly object[]) => Records | undefined
}

/** The rows of a statement are what it says that they are. */
const reading = <Row>(
  statement: Sql,
  planning: Planning,
  read: (rows: readonly Row[]) => Records | undefined,
): PageStatement => ({ statement, planning, read: rows => read(rows as readonly Row[]) })

/** A page in one row; null where there are no records. */
interface TextRow {
  readonly records: string | null
  readonly cursors: string | null
  readonly isExact: boolean | null
}

/**
 * The statement that reads a page, or what a stretch of the order has of it: the records, and the order
 * values from which the next page goes on. Full records have a row each, with their stored document: copying
 * them into one text would cost more. With `texts` as they are some pages cannot be read.
 */
export function toPageStatement(
  plan: Plan,
  notation: Notation,
  stretch: Sql | undefined,
  most: number | undefined,
  texts: Texts,
): PageStatement {
  const rows = sql`${toPageRows(plan, [...(stretch ? [stretch] : []), ...toBound(plan)], most)} order by ${toOrderBy(plan)}${toWindow(plan.skip, most)}`
  const stored = toStoredPlan(plan, notation)
  const planning = pagePlanning(plan)
  return stored
    ? toStoredStatement(stored, plan, notation, rows, planning)
    : toTextStatement(plan, notation, rows, planning, texts)
}

function toTextStatement(
  plan: Plan,
  notation: Notation,
  rows: Sql,
  planning: Planning,
  texts: Texts,
): PageStatement {
  const record = toRecordText(plan, notation, texts)
  const cursor = toCursorText(plan, texts)
  const parts = [record.json, cursor.json, concat([...record.texts, ...cursor.texts])] as const
  const { made, names } = planning === 'once' ? asColumns(parts) : asArray(parts)
  const [json, place, checked] = names
  return reading<TextRow>(
    sql`select string_agg(${json}, E',\\n') as "records", string_agg(${place}, E'\\n') as "cursors", ${toIsExact(checked)} as "isExact" from (select ${made} ${rows}) page`,
    planning,
    ([row]) =>
      row?.isExact === false
        ? undefined
        : row?.cursors
          ? new Records(row.records ?? '', row.cursors.split('\n'))
          : Records.NONE,
  )
}

/** JSON, place and checked texts of a record: what PostgreSQL makes, and how that is named. */
type Parts = readonly [Sql, Sql, Sql]
interface MadeParts {
  readonly made: Sql
  readonly names: Parts
}

const asColumns = ([json, cursor, texts]: Parts): MadeParts => ({
  made: sql`${json} as json, ${cursor} as cursor, ${texts} as texts`,
  names: [raw('page.json'), raw('page.cursor'), raw('page.texts')],
})

/**
 * Where records are sorted: what PostgreSQL takes for cheap it makes of all that it sorts, not of the records
 * of the page alone. One array of all three is dear enough.
 */
const asArray = (parts: Parts): MadeParts => ({
  made: sql`array[${join([...parts])}] as made`,
  names: [raw('page.made[1]'), raw('page.made[2]'), raw('page.made[3]')],
})

function toStoredStatement(
  stored: StoredPlan,
  plan: Plan,
  notation: Notation,
  rows: Sql,
  planning: Planning,
): PageStatement {
  const cursor = toCursorText(plan, 'escaped').json
  return reading<StoredRow>(
    sql`select ${toStoredColumns(stored, notation)}, ${cursor} as "cursor" ${rows}`,
    planning,
    found =>
      Records.of(found.map(({ json, document, cursor }) => ({ json: joinStored(json, document), cursor }))),
  )
}

/** The statement that reads one record, with its version: the first one of the plan. */
export function toRecordStatement(plan: Plan, notation: Notation): Sql {
  return sql`select ${toRecordColumns(plan, notation)} ${toRows(plan, 'some')} order by ${toOrderBy(plan)} limit 1`
}

/**
 * What is said of one record: its JSON, or what is to be joined with its stored document, and its version.
 */
export function toRecordColumns(plan: Plan, notation: Notation): Sql {
  const stored = toStoredPlan(plan, notation)
  const columns = stored
    ? toStoredColumns(stored, notation)
    : sql`${toRecordJson(plan, notation)}::text as "json"`
  return sql`${columns}, (${toVersion(plan) ?? raw('null')})::text as "version"`
}

const toStoredColumns = ({ plan, document }: StoredPlan, notation: Notation) =>
  sql`${toRecordText(plan, notation, 'escaped').json} as "json", ${document} as "document"`

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
  const keys = toChosenKeys(plan, bounds, most) ?? toSearchedKeys(plan, bounds, most)
  return keys ? sql`${toFrom(plan)} where ${keys}` : toRows(plan, 'some', ...bounds)
}

function toRows({ filter, ...plan }: Plan, extent: Extent, ...bounds: readonly Sql[]): Sql {
  const conditions = [...(filter ? [toCondition(filter, false, extent)] : []), ...bounds]
  const where = conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty
  return sql`${toFrom(plan)}${where}`
}
