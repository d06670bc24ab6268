import type { Database } from '../../data/database.js'
import type { Writer } from '../../domain/actor.js'
import type { Values } from '../../domain/values.js'
import type { ChangeConditions } from '../../domain/write-shape.js'
import type { FeedLimits } from '../feeds/feed-checks.js'
import type { WebhookSettings } from '../webhooks/webhook-settings.js'

/** The request that makes a change. */
export interface AdminChange {
  readonly database: Pick<Database, 'withClient'>
  readonly writer: Writer
  readonly conditions: ChangeConditions
  readonly feedLimits: FeedLimits
  readonly webhooks: WebhookSettings
}

/** A new record. */
export interface CreatedRecord {
  readonly key: string
  /** The secret that was made. It cannot be read again. */
  readonly secret?: string
}

/**
 * The writes of one entity of administration, by the service that the commands use. Values are named like the
 * fields of the model. An absent write is not allowed. Each write checks the conditions of the change.
 */
export interface AdminResource {
  readonly create?: (values: Values, change: AdminChange) => Promise<CreatedRecord>
  readonly update?: (key: string, values: Values, change: AdminChange) => Promise<unknown>
  readonly remove?: (key: string, change: AdminChange) => Promise<unknown>
}
