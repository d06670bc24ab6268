import { pino } from 'pino'
import { type Config, readConfig } from '../../src/config/config.js'
import { createChangeFeed } from '../../src/data/changes/change-feed.js'
import type { Database } from '../../src/data/database.js'
import { type DeliveryRow, readDeliveries } from '../../src/data/webhooks/delivery-log.js'
import type { NewClient } from '../../src/service/clients/clients.js'
import { DatabaseClientDirectory } from '../../src/service/clients/directory.js'
import { createWebhookSettings } from '../../src/service/webhooks/webhook-settings.js'
import {
  type NewWebhook,
  WebhookService,
  type WebhookWithSecret,
} from '../../src/service/webhooks/webhooks.js'
import { createWebhookSender } from '../../src/webhook-sender.js'

import { clientServiceOf, READING_CLIENT } from '../support/partners.js'
import { type Receiver, startReceiver } from './receiver.js'

const JWT_SECRET = 'a secret of the tests, long enough for HS256'

/** Settings of a sender, as environment variables. */
type Environment = Readonly<Record<string, string>>

/** A sender of webhooks in this process, on the database of a test. */
export interface TestSender {
  readonly lines: string[]
  close(timeoutMs?: number): Promise<void>
}

/** Returns the settings of a service whose webhooks may go to this machine. */
export const configOf = (env: Environment = {}): Config =>
  readConfig({
    JWT_SECRET,
    DATA_DIR: 'none',
    WEBHOOK_PRIVATE_ADDRESSES: 'on',
    WEBHOOK_TIMEOUT_MS: '5000',
    ...env,
  })

/** Starts a sender. */
export function startSender(database: Database, env: Environment = {}): TestSender {
  const lines: string[] = []
  const directory = new DatabaseClientDirectory(database)
  const sender = createWebhookSender({
    config: configOf(env),
    database,
    logger: pino({ level: 'debug' }, { write: (line: string) => void lines.push(line) }),
    directory,
    feed: createChangeFeed(database),
    metrics: undefined,
  })
  sender.start()
  return {
    lines,
    close: async (timeoutMs = 5000) => {
      await sender.close(timeoutMs)
      directory.close()
    },
  }
}

/** Returns the service by which commands manage webhooks. */
export function webhookServiceOf(database: Database, env: Environment = {}): WebhookService {
  const config = configOf(env)
  return new WebhookService({ ...createWebhookSettings(config), database, actor: 'test' })
}

/** A subscription with its receiver. */
export interface TestWebhook extends WebhookWithSecret {
  readonly id: string
  readonly clientId: string
  readonly receiver: Receiver
}

/** Adds a client, a receiver and a subscription to all of its events. */
export async function addWebhook(
  database: Database,
  values: Partial<NewWebhook> = {},
  client: Partial<NewClient> = {},
): Promise<TestWebhook> {
  const receiver = await startReceiver()
  const { client: added } = await clientServiceOf(database).add({
    Name: 'Partner',
    ...READING_CLIENT,
    ...client,
  })
  const webhook = await webhookServiceOf(database).add({
    clientId: added.ClientId,
    url: receiver.url,
    ...values,
  })
  return { ...webhook, id: webhook.webhook.WebhookId, clientId: added.ClientId, receiver }
}

/** Returns the delivery log of a subscription, the oldest attempt first. */
export const deliveriesOf = (database: Database, id: string): Promise<readonly DeliveryRow[]> =>
  readDeliveries(database.reader, id, 1000)

/** Changes a listing in SQL, as any writer does. */
export async function changeListing(
  database: Database,
  key: string,
  sql = `"ListPrice" = coalesce("ListPrice", 0) + 1`,
): Promise<void> {
  await database.queryControl({ text: `update "Property" set ${sql} where "ListingKey" = $1`, values: [key] })
}

/** Numbers of the events of listings after a position that staff can see. */
export async function eventsAfter(
  database: Database,
  position: number | string,
  resource = 'Property',
): Promise<readonly number[]> {
  const rows = await database.queryControl<{ readonly number: string }>({
    text: `select distinct "EntityEventSequence" as number from "EntityEvent" where "EntityEventSequence" > $1 and "ResourceName" = $2 order by 1`,
    values: [position, resource],
  })
  return rows.map(({ number }) => Number(number))
}
