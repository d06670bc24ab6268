import sql, { empty, join, raw, type Sql } from 'sql-template-tag'
import { type Plan, reverseOrder } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { type RowEstimate, toCondition } from './expression.js'
import { toFrom } from './from.js'
import { toRecordObject } from './json/json-object.js'
import {
  type StringEscaping,
  toConcat,
  toCursorText,
  toNeedsNoEscaping,
  toRecordText,
} from './json/json-text.js'
import { toVersionColumn } from './json/record-members.js'
import { RecordPage, type StoredDocumentRow } from './json/records.js'
import { mergeStoredDocument, type StoredDocumentPlan, toStoredDocumentPlan } from './json/stored-document.js'
import { toLimitOffset, toOrderBy } from './limit-offset.js'
import { keysetRanges } from './order.js'
import { keysByIndexOnlyScan, keysByIndexScanPerValue } from './page-by-keys.js'
import { planCacheModeOfPage } from './plan-cache-policy.js'
import type { PlanCacheMode } from './statement.js'

/** A statement that reads records, and how its rows are read; undefined: the text is not right. */
export interface PageStatement {
  readonly statement: Sql
  readonly planCacheMode: PlanCacheMode
  readonly toRecordPage: (rows: readonly object[]) => RecordPage | undefined
}

/** The rows of a statement are what it says that they are. */
const typedPageStatement = <Row>(
  statement: Sql,
  planCacheMode: PlanCacheMode,
  toRecordPage: (rows: readonly Row[]) => RecordPage | undefined,
): PageStatement => ({ statement, planCacheMode, toRecordPage: rows => toRecordPage(rows as readonly Row[]) })

/** A page in one row; null where there are no records. */
interface AggregatedPageRow {
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
  representation: Representation,
  keysetRange: Sql | undefined,
  limit: number | undefined,
  escaping: StringEscaping,
): PageStatement {
  const rows = sql`${toPageFromWhere(plan, [...(keysetRange ? [keysetRange] : []), ...toBeforeConditions(plan)], limit)} order by ${toOrderBy(plan)}${toLimitOffset(plan.skip, limit)}`
  const stored = toStoredDocumentPlan(plan, representation)
  const planCacheMode = planCacheModeOfPage(plan)
  return stored
    ? toStoredDocumentStatement(stored, plan, representation, rows, planCacheMode)
    : toAggregatedPageStatement(plan, representation, rows, planCacheMode, escaping)
}

function toAggregatedPageStatement(
  plan: Plan,
  representation: Representation,
  rows: Sql,
  planCacheMode: PlanCacheMode,
  escaping: StringEscaping,
): PageStatement {
  const record = toRecordText(plan, representation, escaping)
  const cursor = toCursorText(plan, escaping)
  const parts = [record.json, cursor.json, toConcat([...record.escaping, ...cursor.escaping])] as const
  const { selectList, columns } =
    planCacheMode === 'generic' ? projectAsColumns(parts) : projectAsArray(parts)
  const [json, cursorColumn, verbatimTexts] = columns
  return typedPageStatement<AggregatedPageRow>(
    sql`select string_agg(${json}, E',\\n') as "records", string_agg(${cursorColumn}, E'\\n') as "cursors", ${toNeedsNoEscaping(verbatimTexts)} as "isExact" from (select ${selectList} ${rows}) page`,
    planCacheMode,
    ([row]) =>
      row?.isExact === false
        ? undefined
        : row?.cursors
          ? new RecordPage(row.records ?? '', row.cursors.split('\n'))
          : RecordPage.EMPTY,
  )
}

/** JSON, place and checked texts of a record: what PostgreSQL makes, and how that is named. */
type RecordParts = readonly [Sql, Sql, Sql]
interface RecordPartsProjection {
  readonly selectList: Sql
  readonly columns: RecordParts
}

const projectAsColumns = ([json, cursor, texts]: RecordParts): RecordPartsProjection => ({
  selectList: sql`${json} as json, ${cursor} as cursor, ${texts} as texts`,
  columns: [raw('page.json'), raw('page.cursor'), raw('page.texts')],
})

/**
 * Where records are sorted: what PostgreSQL takes for cheap it makes of all that it sorts, not of the records
 * of the page alone. One array of all three is dear enough.
 */
const projectAsArray = (parts: RecordParts): RecordPartsProjection => ({
  selectList: sql`array[${join([...parts])}] as made`,
  columns: [raw('page.made[1]'), raw('page.made[2]'), raw('page.made[3]')],
})

function toStoredDocumentStatement(
  stored: StoredDocumentPlan,
  plan: Plan,
  representation: Representation,
  rows: Sql,
  planCacheMode: PlanCacheMode,
): PageStatement {
  const cursor = toCursorText(plan, 'escaped').json
  return typedPageStatement<StoredDocumentRow>(
    sql`select ${toStoredDocumentColumns(stored, representation)}, ${cursor} as "cursor" ${rows}`,
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

/** The statement that reads one record, with its version: the first one of the plan. */
export function toRecordStatement(plan: Plan, representation: Representation): Sql {
  return sql`select ${toRecordColumns(plan, representation)} ${toFromWhere(plan, 'few')} order by ${toOrderBy(plan)} limit 1`
}

/**
 * What is said of one record: its JSON, or what is to be joined with its stored document, and its version.
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

/** How many records the filter selects, whatever the page. */
export function toCountStatement(plan: Plan): Sql {
  return sql`select count(*)::int as "count" ${toFromWhere(plan, 'all')}`
}

/** What is before a record is what comes after it from the other end. */
const toBeforeConditions = ({ orderBy, before }: Plan): readonly Sql[] =>
  before
    ? [
        sql`(${join(
          keysetRanges(reverseOrder({ orderBy, after: before })).filter(s => s !== undefined),
          ' or ',
        )})`,
      ]
    : []

function toPageFromWhere(plan: Plan, bounds: readonly Sql[], limit: number | undefined): Sql {
  const keys = keysByIndexScanPerValue(plan, bounds, limit) ?? keysByIndexOnlyScan(plan, bounds, limit)
  return keys ? sql`${toFrom(plan)} where ${keys}` : toFromWhere(plan, 'few', ...bounds)
}

function toFromWhere({ filter, ...plan }: Plan, rowEstimate: RowEstimate, ...bounds: readonly Sql[]): Sql {
  const conditions = [...(filter ? [toCondition(filter, false, rowEstimate)] : []), ...bounds]
  const where = conditions.length > 0 ? sql` where ${join(conditions, ' and ')}` : empty
  return sql`${toFrom(plan)}${where}`
}
