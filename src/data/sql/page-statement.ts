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
  toNeedsNoEscaping,
  toRecordText,
} from './json/json-text.js'
import { toVersionColumn } from './json/record-members.js'
import { RecordPage, type StoredDocumentRow } from './json/records.js'
import { mergeStoredDocument, type StoredDocumentPlan, toStoredDocumentPlan } from './json/stored-document.js'
import { toLimitOffset, toOrderBy } from './limit-offset.js'
import { keysetRanges } from './order.js'
import { hasKeys, selectByKeys } from './page-by-keys.js'
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
  const planCacheMode = planCacheModeOfPage(plan)
  const bounds = [...(keysetRange ? [keysetRange] : []), ...toBeforeConditions(plan)]
  const select: PageQuery = toColumns => selectPage(plan, bounds, limit, toColumns)
  const stored = toStoredDocumentPlan(plan, representation)
  return stored
    ? toStoredDocumentStatement(stored, plan, representation, select, planCacheMode)
    : toAggregatedPageStatement(plan, representation, select, planCacheMode, escaping)
}

/** Makes the query of a page from the columns of its records, which are made from their order values. */
type PageQuery = (toColumns: (orderValues: readonly Sql[]) => Sql) => Sql

/** No statement that sorts carries more than keys and order values, or what transformations have made. */
function selectPage(
  plan: Plan,
  bounds: readonly Sql[],
  limit: number | undefined,
  toColumns: (orderValues: readonly Sql[]) => Sql,
): Sql {
  if (limit !== undefined && hasKeys(plan) && planCacheModeOfPage(plan) === 'custom')
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
    sql`select string_agg(page.json, E',\\n') as "records", string_agg(page.cursor, E'\\n') as "cursors", ${toNeedsNoEscaping(raw('page.texts'))} as "isExact" from (${page}) page`,
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
