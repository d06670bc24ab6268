import { withCause } from '../../errors/problem.js'
import { remember } from '../../query/memoize.js'
import type { Given } from '../../query/placeholder.js'
import { isFalse, type Plan, type Position } from '../../query/plan.js'
import type { Notation } from '../../query/representation.js'
import { toProblem } from '../postgres/errors.js'
import type { Texts } from '../sql/json/json-text.js'
import { type Found, type RecordRow, Records, toFound } from '../sql/json/records.js'
import { toStretches } from '../sql/order.js'
import { toCountStatement, toPageStatement, toRecordStatement } from '../sql/page-statement.js'
import { countPlanning, pagePlanning } from '../sql/plan-cache-policy.js'
import type { Connection } from '../sql/statement.js'
import { fill, type Prepared, prepare } from '../sql/statement-template.js'

/** A page of finished records. */
export interface Page {
  readonly records: Records
  /** Place of the last record; absent: there is no record after this page. */
  readonly next?: Position
  readonly count?: number
}

const NOTHING: Given = []

/**
 * Reads a page of a plan in the JSON lane: whatever the language can say, PostgreSQL answers as finished
 * JSON.
 */
export async function readPage(
  connection: Connection,
  plan: Plan,
  notation: Notation,
  given = NOTHING,
): Promise<Page> {
  if (plan.filter && isFalse(plan.filter)) return { records: Records.NONE, ...(plan.count && { count: 0 }) }
  const [found, count] = await Promise.all([
    plan.top === 0 ? Records.NONE : readRecords(connection, plan, notation, given),
    plan.count ? readCount(connection, plan) : undefined,
  ])
  const records = plan.top === undefined ? found : found.first(plan.top)
  const next = found.length > records.length ? records.end : undefined
  return { records, ...(next && { next }), ...(count !== undefined && { count }) }
}

/** The first record of a plan. */
export async function readRecord(
  connection: Connection,
  plan: Plan,
  notation: Notation,
  given = NOTHING,
): Promise<Found | undefined> {
  if (plan.filter && isFalse(plan.filter)) return undefined
  const [row] = await run<RecordRow>(connection, recordStatement(plan, notation), given)
  return row && toFound(row)
}

const recordStatement = remember((plan: Plan, notation: Notation) =>
  prepare(toRecordStatement(plan, notation), pagePlanning(plan)),
)

/** One record more than the page holds is read, to know whether there is a next page. */
async function readRecords(
  connection: Connection,
  plan: Plan,
  notation: Notation,
  given: Given,
): Promise<Records> {
  const wanted = plan.top === undefined ? Number.POSITIVE_INFINITY : plan.top + 1
  let records = Records.NONE
  for (const stretch of stretchesOf(plan, notation)) {
    records = records.followedBy(await readStretch(connection, stretch, given))
    if (records.length >= wanted) break
  }
  return records
}

async function readStretch(connection: Connection, stretch: Stretch, given: Given): Promise<Records> {
  const read = async (page: StretchStatement) => page.read(await run(connection, page.statement, given))
  return (await read(stretch.asTheyAre)) ?? (await read(stretch.escaped())) ?? Records.NONE
}

interface StretchStatement {
  readonly statement: Prepared
  readonly read: (rows: readonly object[]) => Records | undefined
}

/**
 * What reads a stretch of the order, a whole page of it, whatever was found before: with texts as they are,
 * and if that is not right, with texts escaped.
 */
interface Stretch {
  readonly asTheyAre: StretchStatement
  readonly escaped: () => StretchStatement
}

const stretchesOf = remember((plan: Plan, notation: Notation): readonly Stretch[] => {
  const most = plan.top === undefined ? undefined : plan.top + 1
  return toStretches(plan).map(stretch => {
    const of = (texts: Texts): StretchStatement => {
      const { statement, planning, read } = toPageStatement(plan, notation, stretch, most, texts)
      return { statement: prepare(statement, planning), read }
    }
    let escaped: StretchStatement | undefined
    return { asTheyAre: of('as they are'), escaped: () => (escaped ??= of('escaped')) }
  })
})

export async function readCount(connection: Connection, plan: Plan): Promise<number> {
  if (plan.filter && isFalse(plan.filter)) return 0
  const [row] = await run<{ readonly count: number }>(connection, countStatement(plan), NOTHING)
  return row?.count ?? 0
}

const countStatement = remember((plan: Plan) => prepare(toCountStatement(plan), countPlanning(plan)))

/** Runs a statement; faults of the database become problems that a client may be told. */
async function run<T>(connection: Connection, prepared: Prepared, given: Given): Promise<readonly T[]> {
  try {
    return await connection.query<T>(fill(prepared, given), prepared.planning)
  } catch (error) {
    const problem = toProblem(error)
    throw problem ? withCause(problem, error) : error
  }
}
