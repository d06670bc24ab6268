import type { WebhookTransaction } from '../../data/webhooks/webhook-store.js'

/** A change that is refused. The message is for the operator. */
export class WebhookChangeError extends Error {}

/**
 * Returns the position at which a subscription begins: the given number, or the end of the log for `now` and
 * undefined.
 */
export async function findStart(
  transaction: WebhookTransaction,
  clientId: string,
  from: string | undefined,
): Promise<{ readonly LogId: string; readonly Position: string }> {
  const { id, end } = await transaction.logRange(clientId)
  if (from === undefined || from === 'now') return { LogId: id, Position: end }
  if (!/^\d{1,18}$/.test(from)) return refuse(`--from is '${from}'; expected now or the number of an event.`)
  await checkPosition(transaction, clientId, { position: from, logId: id })
  return { LogId: id, Position: from }
}

/** Refuses a position after which events have been dropped from the log of a client. */
export async function checkPosition(
  transaction: WebhookTransaction,
  clientId: string,
  { position, logId }: { readonly position: string; readonly logId: string },
): Promise<void> {
  const { id, end, floor } = await transaction.logRange(clientId)
  const number = BigInt(position)
  if (id !== logId) refuse(`Position ${position} belongs to a different change log. ${COPY_AGAIN}`)
  if (number > BigInt(end)) refuse(`The change log ends at ${end}, before ${position}.`)
  if (number > 0n && number < BigInt(floor) - 1n)
    refuse(
      `Events after ${position} have been dropped from the change log, or the fields of the feed have changed. ${COPY_AGAIN}`,
    )
}

const COPY_AGAIN = 'Use --from now, and tell the receiver to copy all data again.'

const refuse = (reason: string): never => {
  throw new WebhookChangeError(reason)
}
