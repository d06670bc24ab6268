import { ProblemError } from '../errors/problem.js'
import type { Notation } from '../query/notation.js'
import { isFalse, type Plan, type Position } from '../query/plan.js'
import type { Connection, Planning } from './connection.js'
import { toProblem } from './failures.js'
import { type Found, Records } from './found.js'
import { toStretches } from './keyset.js'
import { type StoredRow, type TextRow, toCountStatement, toPageStatement, toRecordStatement } from './page.js'
import type { Sql } from './render.js'
import { countPlanning, pagePlanning } from './steady.js'
import { joinStored } from './stored.js'

/** A page of finished records. */
export interface Page {
  readonly records: Records
  /** Place of the last record; absent: there is no record after this page. */
  readonly next?: Position
  readonly count?: number
}

/** Reads a page of a plan in the JSON lane: whatever the language can say, PostgreSQL answers as finished JSON. */
export async function readPage(connection: Connection, plan: Plan, notation: Notation): Promise<Page> {
  if (plan.filter && isFalse(plan.filter)) return { records: Records.NONE, ...(plan.count && { count: 0 }) }
  const [found, count] = await Promise.all([
    plan.top === 0 ? Records.NONE : readRecords(connection, plan, notation),
    plan.count ? readCount(connection, plan) : undefined,
  ])
  const records = plan.top === undefined ? found : found.first(plan.top)
  const next = found.length > records.length ? records.end : undefined
  return { records, ...(next && { next }), ...(count !== undefined && { count }) }
}

/** The first record of a plan. */
export async function readRecord(connection: Connection, plan: Plan, notation: Notation): Promise<Found | undefined> {
  if (plan.filter && isFalse(plan.filter)) return undefined
  const [row] = await run<RecordRow>(connection, toRecordStatement(plan, notation), pagePlanning(plan))
  return row && toFound(row)
}

/** A row of `toRecordColumns`. */
export type RecordRow = Found & Pick<Partial<StoredRow>, 'document'>

export const toFound = ({ json, document, version }: RecordRow): Found => ({ json: document === undefined ? json : joinStored(json, document), version })

/** One record more than the page holds is read, to know whether there is a next page. */
async function readRecords(connection: Connection, plan: Plan, notation: Notation): Promise<Records> {
  const wanted = plan.top === undefined ? Number.POSITIVE_INFINITY : plan.top + 1
  let records = Records.NONE
  for (const stretch of toStretches(plan)) {
    const most = Number.isFinite(wanted) ? wanted - records.length : undefined
    records = records.followedBy(await readStretch(connection, plan, notation, stretch, most))
    if (records.length >= wanted) break
  }
  return records
}

async function readStretch(connection: Connection, plan: Plan, notation: Notation, stretch: Sql | undefined, most: number | undefined): Promise<Records> {
  const { form, statement } = toPageStatement(plan, notation, stretch, most)
  if (form === 'rows') {
    const rows = await run<StoredRow>(connection, statement, pagePlanning(plan))
    return Records.of(rows.map(({ json, document, cursor }) => ({ json: joinStored(json, document), cursor })))
  }
  const [row] = await run<TextRow>(connection, statement, pagePlanning(plan))
  return row?.cursors ? new Records(row.records ?? '', row.cursors.split('\n')) : Records.NONE
}

export async function readCount(connection: Connection, plan: Plan): Promise<number> {
  if (plan.filter && isFalse(plan.filter)) return 0
  const [row] = await run<{ readonly count: number }>(connection, toCountStatement(plan), countPlanning(plan))
  return row?.count ?? 0
}

/** Runs a statement; faults of the database become problems that a client may be told. */
async function run<T>(connection: Connection, statement: Sql, planning: Planning): Promise<readonly T[]> {
  try {
    return await connection.query<T>(statement, planning)
  } catch (error) {
    const problem = toProblem(error)
    throw problem ? new ProblemError(problem) : error
  }
}
