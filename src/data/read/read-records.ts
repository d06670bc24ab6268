import { memoize } from '../../query/memoize.js'
import type { ParameterValues } from '../../query/parameter.js'
import { isFalse, type KeysetPosition, type Plan } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import { toProblemOnError } from '../postgres/errors.js'
import type { StringEscaping } from '../sql/json/json-text.js'
import { type RecordJson, RecordPage, type RecordRow, recordJsonOf } from '../sql/json/records.js'
import { pageRanges } from '../sql/page-ranges.js'
import { toCountStatement, toPageStatement, toRecordStatement } from '../sql/page-statement.js'
import { planCacheModeOfCount, planCacheModeOfPage } from '../sql/plan-cache-policy.js'
import type { RecordFinder, StatementExecutor } from '../sql/statement.js'
import { bindParameters, type StatementTemplate, toStatementTemplate } from '../sql/statement-template.js'

/** A page of records. */
export interface Page {
  readonly records: RecordPage
  /** Position of the last record. Undefined if no record follows this page. */
  readonly next?: KeysetPosition
  readonly count?: number
}

const NO_PARAMETERS: ParameterValues = []

/** Reads a page of a plan. PostgreSQL builds its JSON. */
export async function readPage(
  executor: StatementExecutor,
  plan: Plan,
  representation: Representation,
  parameters = NO_PARAMETERS,
): Promise<Page> {
  if (plan.filter && isFalse(plan.filter))
    return { records: RecordPage.EMPTY, ...(plan.count && { count: 0 }) }
  const [fetched, count] = await Promise.all([
    plan.top === 0 ? RecordPage.EMPTY : readRecords(executor, plan, representation, parameters),
    plan.count ? countRecords(executor, plan) : undefined,
  ])
  const records = plan.top === undefined ? fetched : fetched.take(plan.top)
  const next = fetched.length > records.length ? records.endPosition : undefined
  return { records, ...(next && { next }), ...(count !== undefined && { count }) }
}

/** Reads the first record of a plan. */
export async function readFirstRecord(
  executor: StatementExecutor,
  plan: Plan,
  representation: Representation,
  parameters = NO_PARAMETERS,
): Promise<RecordJson | undefined> {
  if (plan.filter && isFalse(plan.filter)) return undefined
  const found = executor.finder && (await findByEngine(executor.finder, plan, representation, parameters, 1))
  if (found) return found[0]
  const [row] = await runTemplate<RecordRow>(executor, recordStatementOf(plan, representation), parameters)
  return row && recordJsonOf(row)
}

const recordStatementOf = memoize(function recordStatementOf(plan: Plan, representation: Representation) {
  return toStatementTemplate(toRecordStatement(plan, representation), planCacheModeOfPage(plan))
})

/** Reads one record more than the page has, to detect a next page. */
async function readRecords(
  executor: StatementExecutor,
  plan: Plan,
  representation: Representation,
  parameters: ParameterValues,
): Promise<RecordPage> {
  const limit = plan.top === undefined ? undefined : plan.top + 1
  const found =
    executor.finder && (await findByEngine(executor.finder, plan, representation, parameters, limit))
  if (found) return RecordPage.of(found)
  let records = RecordPage.EMPTY
  for (const range of keysetRangeStatementsOf(plan, representation)) {
    records = records.concat(await readKeysetRange(executor, range, parameters))
    if (limit !== undefined && records.length >= limit) break
  }
  return records
}

async function readKeysetRange(
  executor: StatementExecutor,
  range: KeysetRangeStatements,
  parameters: ParameterValues,
): Promise<RecordPage> {
  const runStatement = async (page: KeysetRangeStatement) =>
    page.toRecords(await runTemplate(executor, page.statement, parameters))
  return (await runStatement(range.verbatim())) ?? (await runStatement(range.escaped())) ?? RecordPage.EMPTY
}

interface KeysetRangeStatement {
  readonly statement: StatementTemplate
  readonly toRecords: (rows: readonly object[]) => RecordPage | undefined
}

/**
 * The statements that read one range of the order, up to a whole page: with verbatim strings first, and with
 * escaped strings if one of them needs escaping.
 */
interface KeysetRangeStatements {
  readonly verbatim: () => KeysetRangeStatement
  readonly escaped: () => KeysetRangeStatement
}

const keysetRangeStatementsOf = memoize(function keysetRangeStatementsOf(
  plan: Plan,
  representation: Representation,
): readonly KeysetRangeStatements[] {
  const limit = plan.top === undefined ? undefined : plan.top + 1
  return pageRanges(plan).map(range => {
    const toRangeStatement = (escaping: StringEscaping): KeysetRangeStatement => {
      const { statement, planCacheMode, toRecordPage } = toPageStatement(
        range.plan,
        representation,
        range.condition,
        limit,
        escaping,
      )
      return { statement: toStatementTemplate(statement, planCacheMode), toRecords: toRecordPage }
    }
    let verbatim: KeysetRangeStatement | undefined
    let escaped: KeysetRangeStatement | undefined
    return {
      verbatim: () => (verbatim ??= toRangeStatement('verbatim')),
      escaped: () => (escaped ??= toRangeStatement('escaped')),
    }
  })
})

/** Counts the records that the filter of a plan selects. */
export async function countRecords(executor: StatementExecutor, plan: Plan): Promise<number> {
  if (plan.filter && isFalse(plan.filter)) return 0
  const { finder } = executor
  const found = finder && (await toProblemOnError(() => finder.countRecords(plan)))
  if (found !== undefined) return found
  const [row] = await runTemplate<{ readonly count: number }>(executor, countStatementOf(plan), NO_PARAMETERS)
  return row?.count ?? 0
}

const countStatementOf = memoize(function countStatementOf(plan: Plan) {
  return toStatementTemplate(toCountStatement(plan), planCacheModeOfCount(plan))
})

const runTemplate = <T>(
  executor: StatementExecutor,
  template: StatementTemplate,
  parameters: ParameterValues,
): Promise<readonly T[]> =>
  toProblemOnError(() => executor.query<T>(bindParameters(template, parameters), template.planCacheMode))

const findByEngine = (
  finder: RecordFinder,
  plan: Plan,
  representation: Representation,
  parameters: ParameterValues,
  limit: number | undefined,
) => toProblemOnError(() => finder.findRecords(plan, representation, parameters, limit))
