import { afterCursor, type PlaceholderValues } from '../../query/placeholder.js'
import { type KeysetPosition, type Plan, reverseOrder } from '../../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../../query/representation.js'
import { RecordPage } from '../sql/json/records.js'
import type { StatementExecutor } from '../sql/statement.js'
import { readPage } from './read.js'

/** Where a window lies: between two records, and at which end it begins. */
export interface CursorBounds {
  readonly after?: KeysetPosition
  readonly before?: KeysetPosition
  /** The last records between the bounds, not the first. */
  readonly backward: boolean
}

/** What is to be found out about a window beside its records. */
export interface PageInfo {
  readonly hasNext: boolean
  readonly hasPrevious: boolean
}

/** A window on the records of a plan. What was not to be found out is false. */
export interface CursorWindow extends PageInfo {
  readonly records: RecordPage
  readonly count?: number
}

/**
 * Reads the first or the last `plan.top` records between two bounds, in the order of the plan. A window of no
 * records still knows what is around it: one record is read to find its place.
 */
export async function readCursorWindow(
  executor: StatementExecutor,
  plan: Plan,
  representation: Representation,
  bounds: CursorBounds,
  requested: PageInfo,
): Promise<CursorWindow> {
  const { windowPlan, parameters } = toWindowPlan(plan, bounds)
  const isProbeOnly = plan.top === 0 && (requested.hasNext || requested.hasPrevious)
  const page = await readPage(
    executor,
    isProbeOnly ? { ...windowPlan, top: 1 } : windowPlan,
    representation,
    parameters,
  )
  const inOrder = bounds.backward ? page.records.toReversed() : page.records
  const pageInfo = await probeNeighbours(executor, plan, inOrder, {
    bounds,
    requested,
    hasMore: page.next !== undefined,
  })
  return {
    records: isProbeOnly ? RecordPage.EMPTY : inOrder,
    ...(page.count !== undefined && { count: page.count }),
    ...(isProbeOnly && inOrder.length > 0
      ? { ...pageInfo, [bounds.backward ? 'hasPrevious' : 'hasNext']: true }
      : pageInfo),
  }
}

/** The plan that is read, and what its statement is given: all pages of a walk forward have one plan. */
function toWindowPlan(
  plan: Plan,
  { after, before, backward }: CursorBounds,
): { readonly windowPlan: Plan; readonly parameters?: PlaceholderValues } {
  if (!backward && !before)
    return after ? { windowPlan: afterCursor(plan, after), parameters: after } : { windowPlan: plan }
  const [from, to] = backward ? [before, after] : [after, before]
  return {
    windowPlan: {
      ...(backward ? reverseOrder(plan) : plan),
      ...(from && { after: from }),
      ...(to && { before: to }),
    },
  }
}

interface WindowProbe {
  readonly bounds: CursorBounds
  readonly requested: PageInfo
  /** There are more records between the bounds, in the direction of the walk. */
  readonly hasMore: boolean
}

/**
 * Beyond a bound there may be records or none: its own record may be gone. Where nothing bounds the window,
 * nothing lies beyond its end.
 */
async function probeNeighbours(
  executor: StatementExecutor,
  plan: Plan,
  records: RecordPage,
  { bounds, requested, hasMore }: WindowProbe,
): Promise<PageInfo> {
  const { after, before, backward } = bounds
  const [hasNext, hasPrevious] = await Promise.all([
    requested.hasNext &&
      ((!backward && hasMore) ||
        (before !== undefined && hasRecordAfter(executor, plan, records.endPosition ?? after))),
    requested.hasPrevious &&
      ((backward && hasMore) ||
        ((after !== undefined || plan.skip > 0) &&
          hasRecordAfter(executor, reverseOrder(plan), records.startPosition ?? before))),
  ])
  return { hasNext, hasPrevious }
}

/** Whether the plan has a record after that place; without a place, whether it has any. */
async function hasRecordAfter(
  executor: StatementExecutor,
  plan: Plan,
  after: KeysetPosition | undefined,
): Promise<boolean> {
  const { metaFields: _, memberOrder: __, ...bare } = plan
  const { records } = await readPage(
    executor,
    { ...bare, select: [], expand: [], top: 1, skip: 0, count: false, ...(after && { after }) },
    BARE_REPRESENTATION,
  )
  return records.length > 0
}
