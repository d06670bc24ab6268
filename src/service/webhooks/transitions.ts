import type { WebhookColumns, WebhookDetails, WebhookTransaction } from '../../data/webhooks/webhook-store.js'
import type { WebhookState } from '../../domain/webhooks/webhook.js'
import { refuseFaults } from '../../errors/change-error.js'
import {
  COPY_AGAIN,
  positionFault,
  startPositionFaults,
  startPositionOf,
  WebhookChangeError,
} from './position.js'

/** Changes the state or the position of a webhook, which is locked. */
export type WebhookTransition = (transaction: WebhookTransaction, webhook: WebhookDetails) => Promise<void>

export const NO_BATCH = {
  BatchEvents: null,
  BatchPosition: null,
  BatchOutsideKeys: null,
  BatchRights: null,
} as const
const NO_FAILURE = {
  FailedAttempts: 0,
  FailingSinceTimestamp: null,
  LastFailure: null,
  NextAttemptTimestamp: null,
} as const

export const toState = (state: WebhookState): WebhookColumns => ({
  State: state,
  StateReason: null,
  StateTimestamp: new Date().toISOString(),
})

/** A webhook that is active keeps the time since which it is. */
const toActive = ({ State }: WebhookDetails): WebhookColumns => (State === 'active' ? {} : toState('active'))

export const pause: WebhookTransition = (transaction, { WebhookId, State }) =>
  State === 'active'
    ? transaction.update(WebhookId, toState('paused'))
    : refuse(`The webhook '${WebhookId}' is ${State}, not active.`)

/**
 * Resumes a webhook that is paused, ended or lost, after its last acknowledged event. `from` begins at
 * another number, or at the end of the log (`now`).
 */
export const resume =
  (from?: string): WebhookTransition =>
  async (transaction, webhook) => {
    const { WebhookId, ClientId, State, Position, LogId } = webhook
    const range = await transaction.logRange(ClientId)
    if (from === undefined) {
      if (State === 'failed') refuse(`The webhook '${WebhookId}' has a pending batch. Resend it or skip it.`)
      if (State === 'lost') refuse(`The webhook '${WebhookId}' has lost its position. ${COPY_AGAIN}`)
      const reason = positionFault(range, { Position: String(Position), LogId })
      if (reason !== undefined) refuse(reason)
    }
    refuseFaults([], startPositionFaults(range, from))
    await transaction.update(WebhookId, {
      ...(from !== undefined && { ...startPositionOf(range, from), ...NO_BATCH }),
      ...NO_FAILURE,
      ...toActive(webhook),
    })
  }

/** Sends the pending batch immediately, also if it was given up or its next attempt is due later. */
export const resend: WebhookTransition = async (transaction, webhook) => {
  const { WebhookId, State } = webhook
  checkBatch(webhook)
  if (!hasAttempts(webhook)) refuse(`The webhook '${WebhookId}' is ${State}. Resume it.`)
  await transaction.update(WebhookId, { ...NO_FAILURE, ...toActive(webhook) })
}

/** Discards the pending batch. A failed webhook continues with the events after it. */
export const skip: WebhookTransition = async (transaction, webhook) => {
  const position = checkBatch(webhook)
  await transaction.update(webhook.WebhookId, {
    Position: String(position),
    ...NO_BATCH,
    ...NO_FAILURE,
    ...(webhook.State === 'failed' && toState('active')),
  })
}

/** The action in the audit log, and the transition. */
export type NamedTransition = readonly [action: string, transition: WebhookTransition]

/**
 * Returns the transition to the state that a client of /admin sends. An active or failed webhook sends its
 * pending batch immediately. The position after this batch skips it. Returns undefined if there is nothing to do.
 */
export function transitionTo(
  state: WebhookState | undefined,
  from: string | undefined,
  webhook: WebhookDetails,
): NamedTransition | undefined {
  if (state === 'paused') return webhook.State === 'paused' ? undefined : ['webhook.pause', pause]
  const { BatchPosition } = webhook
  if (from !== undefined)
    return hasAttempts(webhook) && BatchPosition !== null && from === String(BatchPosition)
      ? ['webhook.skip', skip]
      : ['webhook.resume', resume(from)]
  if (state !== 'active') return undefined
  if (!hasAttempts(webhook)) return ['webhook.resume', resume()]
  return BatchPosition === null ? undefined : ['webhook.resend', resend]
}

const hasAttempts = ({ State }: WebhookDetails): boolean => State === 'active' || State === 'failed'

/** Returns the position after the pending batch. */
const checkBatch = ({ WebhookId, BatchPosition }: WebhookDetails): number =>
  BatchPosition ?? refuse(`The webhook '${WebhookId}' has no pending batch.`)

const refuse = (reason: string): never => {
  throw new WebhookChangeError(reason)
}
