import sql, { join, raw, type Sql } from 'sql-template-tag'
import { type Plan, reverseOrder } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { toSql } from './expression.js'
import { toFromWhere } from './from.js'
import { toRecordObject } from './json/json-object.js'
import {
  type StringEscaping,
  toConcat,
  toCursorText,
  toNoEscapingCheck,
  toRecordText,
} from './json/json-text.js'
import { toVersionColumn } from './json/record-members.js'
import { RecordPage, type StoredDocumentRow } from './json/records.js'
import { mergeStoredDocument, type StoredDocumentPlan, toStoredDocumentPlan } from './json/stored-document.js'
import { keysetRanges, toLimitOffset, toOrderBy } from './order.js'
import { hasKeys, selectByKeys } from './page-by-keys.js'
import { isReadThroughFeed, planCacheModeOfPage } from './plan-cache-policy.js'
import type { PlanCacheMode } from './statement.js'

/**
 * A statement that reads a page, and the conversion of its rows. The conversion returns undefined if the JSON
 * text would be wrong because a string needs escaping.
 */
export interface PageStatement {
  readonly statement: Sql
  readonly planCacheMode: PlanCacheMode
  readonly toRecordPage: (rows: readonly object[]) => RecordPage | undefined
}

/** Creates a page statement whose rows have a known type. */
const typedPageStatement = <Row>(
  statement: Sql,
  planCacheMode: PlanCacheMode,
  toRecordPage: (rows: readonly Row[]) => RecordPage | undefined,
): PageStatement => ({ statement, planCacheMode, toRecordPage: rows => toRecordPage(rows as readonly Row[]) })

/** A page in one row. Null if there are no records. */
interface AggregatedPageRow {
  readonly records: string | null
  readonly cursors: string | null
  readonly isExact: boolean | null
}

/** Returns the number of records in the rows of a statement. A page can be one row. */
export function countRecordsOf(rows: readonly object[]): number {
  const [row] = rows
  if (rows.length !== 1 || row === undefined || !('cursors' in row)) return rows.length
  const { cursors } = row as AggregatedPageRow // as it has the column
  return cursors === null ? 0 : cursors.split('\n').length
}

/**
 * Renders the statement that reads a page, or one range of its order: the records and their cursors. Whole
 * records have a row each with their stored document, since aggregating them would copy the documents. With
 * `verbatim` escaping some pages must be read again.
 *   `$select=City` → `select string_agg(page.json, E',\n') as "records", string_agg(page.cursor, E'\n') as
 *     "cursors", … as "isExact" from (select concat('{','"City":',…) as json, … from "Property" r0 order by
 *     r0."ListingKey" asc limit 101) page`
 */
export function toPageStatement(
  plan: Plan,
  representation: Representation,
  keysetRange: Sql | undefined,
  limit: number | undefined,
  escaping: StringEscaping,
): PageStatement {
  const planCacheMode = planCacheModeOfPage(plan)
  const bounds = [...(keysetRange ? [keysetRange] : []), ...toBeforeConditions(plan)]
  const select: PageQuery = toColumns => selectPage(plan, bounds, limit, toColumns)
  const stored = toStoredDocumentPlan(plan, representation)
  return stored
    ? toStoredDocumentStatement(stored, plan, representation, select, planCacheMode)
    : toAggregatedPageStatement(plan, representation, select, planCacheMode, escaping)
}

/**
 * Renders the query of a page from the columns of its records. The columns are derived from the order values.
 */
type PageQuery = (toColumns: (orderValues: readonly Sql[]) => Sql) => Sql

/**
 * Selects the rows of a page. A query that sorts carries only keys and order values, or the columns of a
 * transformation.
 */
function selectPage(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number | undefined,
  toColumns: (orderValues: readonly Sql[]) => Sql,
): Sql {
  const mayNeedSorting = planCacheModeOfPage(plan) === 'custom' || isReadThroughFeed(plan)
  if (limit !== undefined && hasKeys(plan) && mayNeedSorting)
    return selectByKeys(plan, bounds, limit, toColumns)
  const window = sql`order by ${toOrderBy(plan)}${toLimitOffset(plan.skip, limit)}`
  const columns = toColumns(plan.orderBy.map(({ expr }) => toSql(expr)))
  const rows = toFromWhere(plan, 'few', bounds)
  return plan.from
    ? sql`select ${columns} from (select ${raw(plan.row)}.* ${rows} ${window}) ${raw(plan.row)} order by ${toOrderBy(plan)}`
    : sql`select ${columns} ${rows} ${window}`
}

function toAggregatedPageStatement(
  plan: Plan,
  representation: Representation,
  select: PageQuery,
  planCacheMode: PlanCacheMode,
  escaping: StringEscaping,
): PageStatement {
  const record = toRecordText(plan, representation, escaping)
  const page = select(orderValues => {
    const cursor = toCursorText(plan, orderValues, escaping)
    const texts = toConcat([...record.escaping, ...cursor.escaping])
    return sql`${record.json} as json, ${cursor.json} as cursor, ${texts} as texts`
  })
  return typedPageStatement<AggregatedPageRow>(
    sql`select string_agg(page.json, E',\\n') as "records", string_agg(page.cursor, E'\\n') as "cursors", ${toNoEscapingCheck(raw('page.texts'))} as "isExact" from (${page}) page`,
    planCacheMode,
    ([row]) =>
      row?.isExact === false
        ? undefined
        : row?.cursors
          ? new RecordPage(row.records ?? '', row.cursors.split('\n'))
          : RecordPage.EMPTY,
  )
}

function toStoredDocumentStatement(
  stored: StoredDocumentPlan,
  plan: Plan,
  representation: Representation,
  select: PageQuery,
  planCacheMode: PlanCacheMode,
): PageStatement {
  const columns = toStoredDocumentColumns(stored, representation)
  return typedPageStatement<StoredDocumentRow>(
    select(orderValues => sql`${columns}, ${toCursorText(plan, orderValues, 'escaped').json} as "cursor"`),
    planCacheMode,
    documentRows =>
      RecordPage.of(
        documentRows.map(({ json, document, cursor }) => ({
          json: mergeStoredDocument(json, document),
          cursor,
        })),
      ),
  )
}

/**
 * Renders the statement that reads the first record of a plan, with its version.
 *   `$select=City` → `select (select row_to_json(record) from (select r0."City" as "City") record)::text as
 *     "json", (r0."RecordVersion")::text as "version" from "Property" r0 order by r0."ListingKey" asc limit
 *     1`
 */
export function toRecordStatement(plan: Plan, representation: Representation): Sql {
  return sql`select ${toRecordColumns(plan, representation)} ${toFromWhere(plan, 'few')} order by ${toOrderBy(plan)} limit 1`
}

/**
 * Renders the columns of one record: its JSON, or the JSON to merge with its stored document, and its
 * version.
 *   `$select=City` → `(select row_to_json(record) from (select r0."City" as "City") record)::text as
 *     "json", (r0."RecordVersion")::text as "version"`
 */
export function toRecordColumns(plan: Plan, representation: Representation): Sql {
  const stored = toStoredDocumentPlan(plan, representation)
  const columns = stored
    ? toStoredDocumentColumns(stored, representation)
    : sql`${toRecordObject(plan, representation)}::text as "json"`
  return sql`${columns}, (${toVersionColumn(plan) ?? raw('null')})::text as "version"`
}

const toStoredDocumentColumns = ({ plan, document }: StoredDocumentPlan, representation: Representation) =>
  sql`${toRecordText(plan, representation, 'escaped').json} as "json", ${document} as "document"`

/**
 * Renders the statement that counts the records of a filter, regardless of the page.
 *   `$filter=City eq 'Vail'` → `select count(*)::int as "count" from "Property" r0 where (r0."City" =
 *     ($1::text collate "C"))`
 */
export function toCountStatement(plan: Plan): Sql {
  return sql`select count(*)::int as "count" ${toFromWhere(plan, 'all')}`
}

/** The records before a record are those after it in the reversed order. */
const toBeforeConditions = ({ orderBy, before }: Plan): readonly Sql[] =>
  before
    ? [
        sql`(${join(
          keysetRanges(reverseOrder({ orderBy, after: before })).filter(s => s !== undefined),
          ' or ',
        )})`,
      ]
    : []
