import { behind, type Given } from '../../query/placeholder.js'
import { type Plan, type Position, reversed } from '../../query/plan.js'
import { BARE, type Notation } from '../../query/representation.js'
import { Records } from '../sql/json/records.js'
import type { Connection } from '../sql/statement.js'
import { readPage } from './read.js'

/** Where a window lies: between two records, and at which end it begins. */
export interface Bounds {
  readonly after?: Position
  readonly before?: Position
  /** The last records between the bounds, not the first. */
  readonly backward: boolean
}

/** What is to be found out about a window beside its records. */
export interface Surroundings {
  readonly hasNext: boolean
  readonly hasPrevious: boolean
}

/** A window on the records of a plan. What was not to be found out is false. */
export interface Window extends Surroundings {
  readonly records: Records
  readonly count?: number
}

/**
 * Reads the first or the last `plan.top` records between two bounds, in the order of the plan. A window of no
 * records still knows what is around it: one record is read to find its place.
 */
export async function readWindow(
  connection: Connection,
  plan: Plan,
  notation: Notation,
  bounds: Bounds,
  wanted: Surroundings,
): Promise<Window> {
  const { walk, given } = toWalk(plan, bounds)
  const isPlace = plan.top === 0 && (wanted.hasNext || wanted.hasPrevious)
  const page = await readPage(connection, isPlace ? { ...walk, top: 1 } : walk, notation, given)
  const inOrder = bounds.backward ? page.records.reversed() : page.records
  const around = await lookAround(connection, plan, inOrder, {
    bounds,
    wanted,
    isMore: page.next !== undefined,
  })
  return {
    records: isPlace ? Records.NONE : inOrder,
    ...(page.count !== undefined && { count: page.count }),
    ...(isPlace && inOrder.length > 0
      ? { ...around, [bounds.backward ? 'hasPrevious' : 'hasNext']: true }
      : around),
  }
}

/** The plan that is read, and what its statement is given: all pages of a walk forward have one plan. */
function toWalk(
  plan: Plan,
  { after, before, backward }: Bounds,
): { readonly walk: Plan; readonly given?: Given } {
  if (!backward && !before) return after ? { walk: behind(plan, after), given: after } : { walk: plan }
  const [from, to] = backward ? [before, after] : [after, before]
  return {
    walk: { ...(backward ? reversed(plan) : plan), ...(from && { after: from }), ...(to && { before: to }) },
  }
}

interface Sight {
  readonly bounds: Bounds
  readonly wanted: Surroundings
  /** There are more records between the bounds, in the direction of the walk. */
  readonly isMore: boolean
}

/**
 * Beyond a bound there may be records or none: its own record may be gone. Where nothing bounds the window,
 * nothing lies beyond its end.
 */
async function lookAround(
  connection: Connection,
  plan: Plan,
  records: Records,
  { bounds, wanted, isMore }: Sight,
): Promise<Surroundings> {
  const { after, before, backward } = bounds
  const [hasNext, hasPrevious] = await Promise.all([
    wanted.hasNext &&
      ((!backward && isMore) || (before !== undefined && isAny(connection, plan, records.end ?? after))),
    wanted.hasPrevious &&
      ((backward && isMore) ||
        ((after !== undefined || plan.skip > 0) &&
          isAny(connection, reversed(plan), records.start ?? before))),
  ])
  return { hasNext, hasPrevious }
}

/** Whether the plan has a record after that place; without a place, whether it has any. */
async function isAny(connection: Connection, plan: Plan, after: Position | undefined): Promise<boolean> {
  const { marks: _, layout: __, ...bare } = plan
  const { records } = await readPage(
    connection,
    { ...bare, select: [], expand: [], top: 1, skip: 0, count: false, ...(after && { after }) },
    BARE,
  )
  return records.length > 0
}
