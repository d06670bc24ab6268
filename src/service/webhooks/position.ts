import type { LogRange } from '../../data/webhooks/webhook-store.js'
import { ChangeError, valueFault } from '../../errors/change-error.js'
import type { Problem } from '../../errors/problem.js'

/** A change that is refused. The message is for the operator. */
export class WebhookChangeError extends ChangeError {}

/** A position in a change log. */
export interface LogPosition {
  readonly LogId: string
  readonly Position: string
}

/** The text for the end of the log. */
const NOW = 'now'

/**
 * Returns the position at which a webhook begins: the given number, or the end of the log for `now` and
 * undefined.
 */
export const startPositionOf = ({ id, end }: LogRange, from: string = NOW): LogPosition => ({
  LogId: id,
  Position: from === NOW ? end : from,
})

/** Returns the faults of the text at which a webhook begins. */
export function startPositionFaults(range: LogRange, from: string = NOW): readonly Problem[] {
  if (from === NOW) return []
  if (!/^\d{1,18}$/.test(from))
    return [valueFault('From', `'${from}' is neither now nor the number of an event.`)]
  const reason = positionFault(range, startPositionOf(range, from))
  return reason === undefined ? [] : [valueFault('From', reason)]
}

/** Returns the reason for which a webhook cannot continue at a position, or undefined. */
export function positionFault(
  { id, end, floor }: LogRange,
  { LogId, Position }: LogPosition,
): string | undefined {
  const number = BigInt(Position)
  if (id !== LogId) return `Position ${Position} belongs to a different change log. ${COPY_AGAIN}`
  if (number > BigInt(end)) return `The change log ends at ${end}, before ${Position}.`
  return number > 0n && number < BigInt(floor) - 1n
    ? `Events after ${Position} have been dropped from the change log, or the fields of the feed have changed. ${COPY_AGAIN}`
    : undefined
}

export const COPY_AGAIN =
  'Resume from the end of the log (--from now, or From with the value now), and ask the receiver to copy all data again.'
