import { messageOf } from '../../src/errors/problem.js'
import { openSocketClient } from '../support/clients/subscriber.js'
import { type AttackContext, baseOf } from './attack.js'

const SUBSCRIPTIONS = 20
const RETRY_MS = 1000
const QUERY = 'subscription { propertyChanged { EntityEventSequence ListingKey } }'

/** Opens subscriptions, each on a connection of its own. Returns a function that closes them. */
export function openSubscriptions(context: AttackContext, token: string): () => void {
  const clients = Array.from({ length: SUBSCRIPTIONS }, () => openSocketClient(baseOf(context.target), token))
  for (const client of clients) subscribe(client, context)
  return () => {
    for (const client of clients) void client.dispose()
  }
}

/**
 * Opens a subscription. The service refuses it while the other requests of this client use its connections; it is
 * then opened again. Every other end is an outcome that names its reason.
 */
function subscribe(client: ReturnType<typeof openSocketClient>, context: AttackContext): void {
  const { isOver, count } = context
  let error: { readonly message: string; readonly code: unknown } | undefined
  const end = (reason?: unknown) => {
    if (isOver()) return
    if (error?.code === 'UNAVAILABLE') {
      count(503)
      setTimeout(() => isOver() || subscribe(client, context), RETRY_MS)
    } else count(`subscription ended: ${error?.message ?? describeClose(reason)}`)
  }
  client.subscribe(
    { query: QUERY },
    {
      next: ({ errors }) => {
        error = errors?.[0] && { message: errors[0].message, code: errors[0].extensions?.['code'] }
      },
      error: end,
      complete: end,
    },
  )
}

/** An end without a reason is a completion. Others are an event of the socket or an error. */
function describeClose(reason: unknown): string {
  if (reason === undefined) return 'completed'
  if (reason instanceof Error) return messageOf(reason)
  const { code, reason: text } = reason as { readonly code?: number; readonly reason?: string } // a CloseEvent
  return `${code} ${text}`
}
