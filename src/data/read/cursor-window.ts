import { afterCursor, type ParameterValues } from '../../query/parameter.js'
import { type KeysetPosition, type Plan, reverseOrder } from '../../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../../query/representation.js'
import { RecordPage } from '../sql/json/records.js'
import type { StatementExecutor } from '../sql/statement.js'
import { readPage } from './read-records.js'

/** The bounds of a window, and the end at which it begins. */
export interface CursorBounds {
  readonly after?: KeysetPosition
  readonly before?: KeysetPosition
  /** True for the last records between the bounds instead of the first. */
  readonly backward: boolean
}

/** The requested parts of the page info of a window. */
export interface PageInfo {
  readonly hasNext: boolean
  readonly hasPrevious: boolean
}

/** A window of a plan's records. Page info that was not requested is false. */
export interface CursorWindow extends PageInfo {
  readonly records: RecordPage
  readonly count?: number
}

/**
 * Reads the first or the last `plan.top` records between two bounds, in the order of the plan. A window of no
 * records also has page info: one record is read to find its position.
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

/** Returns the plan to read and its parameters. All pages of a forward traversal share one plan. */
function toWindowPlan(
  plan: Plan,
  { after, before, backward }: CursorBounds,
): { readonly windowPlan: Plan; readonly parameters?: ParameterValues } {
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
  /** There are more records between the bounds in the direction of reading. */
  readonly hasMore: boolean
}

/**
 * Checks for records outside of the window. A cursor does not prove that its record still exists. Without a
 * bound on a side there are no records beyond the last one.
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

/** Returns true if the plan has a record after the position, or any record without a position. */
async function hasRecordAfter(
  executor: StatementExecutor,
  plan: Plan,
  after: KeysetPosition | undefined,
): Promise<boolean> {
  const { controlInformation: _, memberOrder: __, ...bare } = plan
  const { records } = await readPage(
    executor,
    { ...bare, select: [], expand: [], top: 1, skip: 0, count: false, ...(after && { after }) },
    BARE_REPRESENTATION,
  )
  return records.length > 0
}
