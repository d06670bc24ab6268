/** The state of a webhook. Events are sent only in the state `active`. */
export type WebhookState =
  | 'active'
  /** Paused by command. */
  | 'paused'
  /** The receiver answered 410. */
  | 'ended'
  /** A batch could not be delivered for `WEBHOOK_RETRY_HOURS`. */
  | 'failed'
  /** The change log no longer has the events that follow the position. */
  | 'lost'

/** The target of a webhook and the events that it selects. */
export interface WebhookTarget {
  readonly url: string
  /** Undefined for all resources. */
  readonly resourceName?: string
  /** An OData filter on the resource. */
  readonly filter?: string
  /** Value of the header EntityEventSource. */
  readonly source?: string
}

/** An event of the change log in a message (RESO RCP-028). */
export interface WebhookEvent {
  readonly sequence: string
  readonly resource: string
  readonly key: string
  readonly timestamp: string
}
