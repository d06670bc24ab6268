import { type LogState, readLogState as readState } from '../data/changes/log-state.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import type { Actor } from '../domain/actor.js'
import { effectiveFeedOf } from '../domain/feeds/feed.js'
import { fail } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import type { CursorSeal, PlanSeal } from '../query/cursor.js'
import {
  type Expr,
  isInKeyOrder,
  isNonNullLiteral,
  isRowColumn,
  type KeysetPosition,
  type Plan,
} from '../query/plan.js'
import type { ServiceRoot } from './record-url.js'

const EVENT = getEntity('EntityEvent')

/** Returns true if a plan reads the change log itself, not groups of its events. */
const readsLog = ({ entity, from }: Pick<Plan, 'entity' | 'from'>): boolean => entity === EVENT && !from

/** Refuses a position (410, PositionGone), with the address at which the client restarts. */
export function failLogPositionGone(option: string, serviceRoot: ServiceRoot | undefined): never {
  return fail({
    kind: 'PositionGone',
    option,
    ...(serviceRoot && { location: `${serviceRoot()}${EVENT.name}` }),
  })
}

/**
 * Returns true if a reader that has read up to `position` can continue: the log has reached it, and no deletion
 * after it was dropped. The beginning of the log is always open.
 */
export const isPositionOpen = (position: bigint, { floor, last }: LogState): boolean =>
  position <= 0n || (position >= floor - 1n && position <= last)

/**
 * Returns the number after which a filter reads the log, or undefined if it has no such term.
 *   `EntityEventSequence ge 10 and ResourceName eq 'Media'` → 9
 */
export function readLogPosition(filter: Expr | undefined): bigint | undefined {
  if (filter?.kind !== 'call') return undefined
  const { fn, args } = filter
  if (fn === 'and') return args.map(readLogPosition).find(position => position !== undefined)
  const [left, right] = args
  if (isNonNullLiteral(left) && isRowColumn(right)) {
    if (fn === 'lt') return toPosition(right, left, 0n)
    return fn === 'le' ? toPosition(right, left, 1n) : undefined
  }
  if (fn === 'gt') return toPosition(left, right, 0n)
  return fn === 'ge' ? toPosition(left, right, 1n) : undefined
}

function toPosition(column: Expr | undefined, value: Expr | undefined, distance: bigint): bigint | undefined {
  if (!isRowColumn(column) || column.scalar !== EVENT.key || !isNonNullLiteral(value)) return undefined
  const text = String(value.value)
  return /^-?\d+$/.test(text) ? BigInt(text) - distance : undefined
}

/**
 * Returns a seal whose tokens contain the identity and the floor of the log. A token is refused if it is from
 * another log, or if the events after it have been dropped.
 */
function withLogState(
  seal: PlanSeal,
  plan: Plan,
  state: LogState,
  serviceRoot: ServiceRoot | undefined,
): PlanSeal {
  const isDescending = plan.orderBy[0]?.descending ?? false
  return {
    seal: cursor => seal.seal({ ...cursor, log: { id: state.id, floor: String(state.floor) } }),
    open: (token, option) => {
      const cursor = seal.open(token, option)
      const { log, after } = cursor
      const isMissingNothing =
        log?.floor === String(state.floor) ||
        (isInKeyOrder(plan) && (isDescending || isPositionOpen(BigInt(after[0] ?? 0), state)))
      if (log?.id !== state.id || !isMissingNothing) failLogPositionGone(option, serviceRoot)
      return cursor
    },
  }
}

/** A reader of the log. */
interface LogReader {
  readonly executor: StatementExecutor
  readonly actor: Actor
}

const readLogState = ({ executor, actor }: LogReader): Promise<LogState> =>
  readState(executor, effectiveFeedOf(actor)?.id)

/** The seal of a plan's page tokens. */
export interface PageSeal {
  readonly seal: PlanSeal
  /**
   * Must be called after a page of the change log was read. Fails if events after the beginning of the page have
   * been dropped. Undefined for other pages.
   */
  readonly confirm?: (after?: KeysetPosition) => Promise<void>
}

/**
 * Returns the seal of a plan's page tokens. Tokens of the change log are bound to the state of the log.
 * @param position the number after which the first page reads the log
 * @throws ProblemError PositionGone
 */
export function openPageSeal(
  reader: LogReader,
  seals: { readonly seal: CursorSeal },
  plan: Plan,
  position: bigint | undefined,
  serviceRoot: ServiceRoot | undefined,
): PageSeal | Promise<PageSeal> {
  const seal = seals.seal(plan)
  return readsLog(plan) ? openLogSeal(reader, seal, plan, position, serviceRoot) : { seal }
}

async function openLogSeal(
  reader: LogReader,
  seal: PlanSeal,
  plan: Plan,
  position: bigint | undefined,
  serviceRoot: ServiceRoot | undefined,
): Promise<PageSeal> {
  const state = await readLogState(reader)
  if (position !== undefined && !isPositionOpen(position, state)) failLogPositionGone('$filter', serviceRoot)
  const confirm = async (after?: KeysetPosition) => {
    const { id, floor } = await readLogState(reader)
    // In any other order the position is unknown and counts as one before the floor.
    const start = after ? (isInKeyOrder(plan) ? BigInt(after[0] ?? 0) : 1n) : (position ?? 0n)
    if (id !== state.id || (floor !== state.floor && start > 0n && start < floor - 1n))
      failLogPositionGone(after ? '$skiptoken' : '$filter', serviceRoot)
  }
  return { seal: withLogState(seal, plan, state, serviceRoot), confirm }
}
