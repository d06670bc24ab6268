import type { Database } from '../../src/data/database.js'
import type { WebhookService } from '../../src/service/webhooks/webhooks.js'
import type { TestApp } from '../support/app.js'
import { startSubscription } from '../support/clients/subscriber.js'
import { startReceiver } from '../webhooks/receiver.js'
import type { Answer } from './channels.js'

/** A webhook to be read. */
export interface WebhookProbe {
  readonly client: string
  readonly from: number
  readonly resourceName?: string
  readonly filter?: string
}

const DEADLINE_MS = 60_000

/** Returns the bodies that a new webhook sends of the events after a position, up to the present end of the log. */
export async function readWebhook(
  database: Database,
  service: WebhookService,
  { from, client: clientId, ...values }: WebhookProbe,
): Promise<Answer> {
  const receiver = await startReceiver()
  const { webhook } = await service.add({ ...values, clientId, url: receiver.url, from: String(from) })
  try {
    const [row] = await database.queryControl<{ readonly end: string }>({
      text: 'select coalesce(max("EntityEventSequence"), 0)::text as end from "EntityEvent"',
      values: [],
    })
    // The embedded database may be busy for longer than a statement waits for it.
    const find = () => service.find(webhook.WebhookId).catch(() => undefined)
    for (const until = Date.now() + DEADLINE_MS; ; ) {
      const { Position = 0, State = 'active', StateReason = null } = (await find()) ?? {}
      if (State !== 'active') throw new Error(`The webhook is ${State}: ${StateReason}`)
      if (Position >= Number(row?.end)) break
      if (Date.now() > until) throw new Error('The webhook does not reach the end of the log')
      await new Promise(resolve => setTimeout(resolve, 20))
    }
    const bodies = receiver.deliveries.map(({ body }) => ({ status: 200, etag: undefined, text: body }))
    return { pages: bodies, hasData: bodies.length > 0 }
  } finally {
    await service.remove(webhook.WebhookId)
    await receiver.close()
  }
}

/** A subscription that must not receive hidden changes. */
export interface QuietSubscription {
  /** Makes a visible change of a listing, and returns the keys that the subscription received until then. */
  readUntil(key: string, change: () => Promise<unknown>): Promise<readonly string[]>
  close(): void
}

/** Subscribes to the changes of listings after a position. */
export function subscribeAfter(app: TestApp, token: string, since: number): QuietSubscription {
  const query = `subscription { propertyChanged(since: ${since}) { EntityEventSequence ListingKey property { ListingKey City ListPrice SoldPrice PublicRemarks } } }`
  const subscription = startSubscription<{ readonly ListingKey: string }>(app, query, { token })
  return {
    async readUntil(key, change) {
      await change()
      const told: string[] = []
      while (told.at(-1) !== key) told.push((await subscription.nextChange()).ListingKey)
      return told
    },
    close: () => subscription.dispose(),
  }
}
