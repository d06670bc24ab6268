import { ProblemError } from '../errors/problem.js'
import type { Notation } from '../query/notation.js'
import { isFalse, type Plan, type Position } from '../query/plan.js'
import type { Connection } from './connection.js'
import { toProblem } from './failures.js'
import { toStretches } from './keyset.js'
import { toCountStatement, toPageStatement } from './page.js'
import type { Sql } from './render.js'
import { joinStored } from './stored.js'

/** A finished record: its JSON text, and its version, from which ETags are made. */
export interface Found {
  readonly json: string
  readonly version: string | null
}

/** A record with its place in the order of the plan: a JSON text that `toPosition` reads. */
export interface Placed extends Found {
  readonly cursor: string
}

/** A page of finished records. */
export interface Page {
  readonly records: readonly Placed[]
  /** Place of the last record; absent: there is no record after this page. */
  readonly next?: Position
  readonly count?: number
}

/** The place of a record, from the text that toPageStatement has written. */
export const toPosition = ({ cursor }: Placed): Position => JSON.parse(cursor) as Position

/** Reads a page of a plan in the JSON lane: whatever the language can say, PostgreSQL answers as finished JSON. */
export async function readPage(connection: Connection, plan: Plan, notation: Notation): Promise<Page> {
  if (plan.filter && isFalse(plan.filter)) return { records: [], ...(plan.count && { count: 0 }) }
  const [rows, count] = await Promise.all([plan.top === 0 ? [] : readRows(connection, plan, notation), plan.count ? readCount(connection, plan) : undefined])
  const page = plan.top === undefined ? rows : rows.slice(0, plan.top)
  const last = page.at(-1)
  return {
    records: page,
    ...(last && rows.length > page.length && { next: toPosition(last) }),
    ...(count !== undefined && { count }),
  }
}

/** A row of the statement; `document` is there if the stored JSON serves the plan. */
interface Row extends Placed {
  readonly document?: string
}

const toPlaced = ({ document, ...row }: Row): Placed => (document === undefined ? row : { ...row, json: joinStored(row.json, document) })

/** One record more than the page holds is read, to know whether there is a next page. */
async function readRows(connection: Connection, plan: Plan, notation: Notation): Promise<readonly Placed[]> {
  const wanted = plan.top === undefined ? Number.POSITIVE_INFINITY : plan.top + 1
  const rows: Placed[] = []
  for (const stretch of toStretches(plan)) {
    const most = Number.isFinite(wanted) ? wanted - rows.length : undefined
    const found = await run<Row>(connection, toPageStatement(plan, notation, stretch, most))
    rows.push(...found.map(toPlaced))
    if (rows.length >= wanted) break
  }
  return rows
}

export async function readCount(connection: Connection, plan: Plan): Promise<number> {
  if (plan.filter && isFalse(plan.filter)) return 0
  const [row] = await run<{ readonly count: number }>(connection, toCountStatement(plan))
  return row?.count ?? 0
}

/** Runs a statement; faults of the database become problems that a client may be told. */
async function run<T>(connection: Connection, statement: Sql): Promise<readonly T[]> {
  try {
    return await connection.query<T>(statement)
  } catch (error) {
    const problem = toProblem(error)
    throw problem ? new ProblemError(problem) : error
  }
}
