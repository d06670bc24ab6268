import { type KeyObject, randomInt } from 'node:crypto'
import type { Database } from '../../data/database.js'
import {
  changeWebhooks,
  findWebhook,
  readWebhooks,
  type WebhookColumns,
  type WebhookDetails,
  type WebhookTransaction,
} from '../../data/webhooks/webhook-store.js'
import type { Author } from '../../domain/actor.js'
import { type AddressRules, maskUrl, readWebhookUrl } from '../../domain/webhooks/address.js'
import type { ClientService } from '../clients/clients.js'
import { checkPosition, findStart, WebhookChangeError } from './position.js'
import { encryptText, generateWebhookSecret } from './secret-box.js'
import { checkSelection, type SelectionParts } from './selection.js'

/** A subscription and its new secret, which cannot be read again. */
export interface WebhookWithSecret {
  readonly webhook: WebhookDetails
  readonly secret: string
}

/** Values that a command sets. Null clears an optional one. */
export interface WebhookValues {
  readonly url?: string | undefined
  readonly source?: string | null | undefined
  readonly token?: string | null | undefined
}

/** A new subscription. */
export interface NewWebhook extends WebhookValues {
  /** Id or name of a client. */
  readonly client: string
  readonly url: string
  /** Undefined for events of all resources. */
  readonly resourceName?: string | undefined
  readonly filter?: string | undefined
  /** Events after this number are sent. Undefined for the end of the log. */
  readonly from?: string | undefined
}

/** Dependencies of the service. */
export interface WebhookServiceParts extends SelectionParts {
  readonly database: Pick<Database, 'withClient'>
  readonly clients: ClientService
  /** Encrypts secrets and tokens. */
  readonly encryptionKey: KeyObject
  readonly rules: AddressRules
  /** The author of the changes, for the audit log. */
  readonly actor: Author
}

/** Default time for which the older secret still signs after a rotation, in hours. */
export const DEFAULT_OVERLAP_HOURS = 24
/** Maximum number of secrets of a subscription: the old and the new one during a rotation. */
const MAX_SECRETS = 2
const ID_LENGTH = 16
const ID_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const NO_BATCH = {
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
/** Members of a subscription that the audit log records. */
const AUDITED = [
  'ClientId', 'ResourceName', 'Filter', 'Source', 'HasToken', 'State', 'StateReason', 'Position', 'Secrets', 'RemovedTimestamp',
] as const // biome-ignore format: one list

/** Manages subscriptions. Each change is one transaction with its entry in the audit log. */
export class WebhookService {
  readonly #parts: WebhookServiceParts

  constructor(parts: WebhookServiceParts) {
    this.#parts = parts
  }

  /** Returns the subscriptions of a client, or of all. */
  list(clientId?: string): Promise<readonly WebhookDetails[]> {
    return readWebhooks(this.#parts.database, clientId)
  }

  /** @throws WebhookChangeError if there is none with this id */
  async find(id: string): Promise<WebhookDetails> {
    return (await findWebhook(this.#parts.database, id)) ?? refuse(`There is no webhook '${id}'.`)
  }

  /** Adds a subscription with one secret. Exactly the events after its position are sent. */
  async add(values: NewWebhook): Promise<WebhookWithSecret> {
    const { clients, database, encryptionKey } = this.#parts
    const { resourceName, filter } = values
    checkSelection({ resourceName, filter }, this.#parts)
    const client = await clients.find(values.client)
    if (client.RemovedTimestamp !== null) refuse(`The client '${client.ClientId}' was removed.`)
    const columns = await this.#toColumns(values)
    const secret = generateWebhookSecret()
    const encryptedSecret = await encryptText(secret, encryptionKey)
    const id = createWebhookId()
    const webhook = await changeWebhooks(database, async transaction => {
      const position = await findStart(transaction, client.ClientId, values.from)
      const selection = { ResourceName: resourceName ?? null, Filter: filter ?? null }
      await transaction.insert(id, { ClientId: client.ClientId, ...selection, ...columns, ...position })
      await transaction.addSecret(id, encryptedSecret)
      return this.#audit(transaction, 'webhook.add', id, undefined)
    })
    return { webhook, secret }
  }

  /** Changes the target and the options of a subscription. The next attempt follows immediately. */
  async change(id: string, values: WebhookValues): Promise<WebhookDetails> {
    const columns = await this.#toColumns(values)
    return this.#change('webhook.change', id, transaction =>
      transaction.update(id, { ...columns, NextAttemptTimestamp: null }),
    )
  }

  pause(id: string): Promise<WebhookDetails> {
    return this.#change('webhook.pause', id, (transaction, { State }) =>
      State === 'active'
        ? transaction.update(id, toState('paused', null))
        : refuse(`The webhook '${id}' is ${State}, not active.`),
    )
  }

  /**
   * Resumes a subscription that is paused, ended or lost, after its last acknowledged event. `from` begins at
   * another number, or at the end of the log (`now`).
   */
  resume(id: string, from?: string): Promise<WebhookDetails> {
    return this.#change('webhook.resume', id, async (transaction, { ClientId, State, Position, LogId }) => {
      if (State === 'failed' && from === undefined)
        refuse(`The webhook '${id}' has an undelivered batch. Use resend or skip.`)
      if (State === 'lost' && from === undefined)
        refuse(
          `The webhook '${id}' has lost its position. Use --from now, and tell the receiver to copy all data again.`,
        )
      const begin = from === undefined ? undefined : await findStart(transaction, ClientId, from)
      if (!begin) await checkPosition(transaction, ClientId, { position: String(Position), logId: LogId })
      await transaction.update(id, {
        ...(begin && { ...begin, ...NO_BATCH }),
        ...NO_FAILURE,
        ...toState('active', null),
      })
    })
  }

  /** Sends the pending batch immediately, also if it was given up or its next attempt is due later. */
  resend(id: string): Promise<WebhookDetails> {
    return this.#change('webhook.resend', id, (transaction, webhook) => {
      checkBatch(webhook)
      if (webhook.State !== 'active' && webhook.State !== 'failed')
        refuse(`The webhook '${id}' is ${webhook.State}. Use resume.`)
      return transaction.update(id, { ...NO_FAILURE, ...toState('active', null) })
    })
  }

  /** Discards the pending batch. A failed subscription continues with the events after it. */
  skip(id: string): Promise<WebhookDetails> {
    return this.#change('webhook.skip', id, (transaction, webhook) => {
      const position = checkBatch(webhook)
      const state = webhook.State === 'failed' ? toState('active', null) : {}
      return transaction.update(id, { Position: String(position), ...NO_BATCH, ...NO_FAILURE, ...state })
    })
  }

  /**
   * Adds a second secret. Both sign for `overlapHours`, then the new one alone.
   * @throws WebhookChangeError if an earlier rotation has not ended, because the receiver may use either
   * secret
   */
  async rotate(id: string, overlapHours: number): Promise<WebhookWithSecret> {
    const secret = generateWebhookSecret()
    const encryptedSecret = await encryptText(secret, this.#parts.encryptionKey)
    const webhook = await this.#change('webhook.rotate', id, async (transaction, { Secrets }) => {
      if (Secrets.length >= MAX_SECRETS && overlapHours > 0)
        refuse(
          `The webhook '${id}' already has ${MAX_SECRETS} secrets. End the rotation first, or use --overlap 0.`,
        )
      await transaction.addSecret(id, encryptedSecret)
      await transaction.expireSecrets(id, overlapHours * 3600)
      await transaction.update(id, {})
    })
    return { webhook, secret }
  }

  /** Ends a rotation: only the newest secret signs. */
  endRotation(id: string): Promise<WebhookDetails> {
    return this.#change('webhook.end-rotation', id, async transaction => {
      await transaction.expireSecrets(id, 0)
      await transaction.update(id, {})
    })
  }

  /**
   * Removes a subscription and its secrets permanently. Its delivery log remains until the end of its
   * retention.
   */
  remove(id: string): Promise<WebhookDetails> {
    return this.#change('webhook.remove', id, async transaction => {
      await transaction.clear(id, { secrets: true })
      await transaction.update(id, {
        ...NO_BATCH,
        EncryptedToken: null,
        RemovedTimestamp: new Date().toISOString(),
      })
    })
  }

  async #toColumns({ url, source, token }: WebhookValues): Promise<WebhookColumns> {
    const { rules, encryptionKey } = this.#parts
    const EncryptedToken = typeof token === 'string' ? await encryptText(token, encryptionKey) : token
    return {
      ...(url !== undefined && { Url: readWebhookUrl(url, rules) }),
      ...(source !== undefined && { Source: source }),
      ...(EncryptedToken !== undefined && { EncryptedToken }),
    }
  }

  #change(
    action: string,
    id: string,
    work: (transaction: WebhookTransaction, webhook: WebhookDetails) => Promise<void>,
  ): Promise<WebhookDetails> {
    return changeWebhooks(this.#parts.database, async transaction => {
      const before = (await transaction.lock(id)) ?? refuse(`There is no webhook '${id}'.`)
      if (before.RemovedTimestamp !== null) refuse(`The webhook '${id}' was removed.`)
      await work(transaction, before)
      return this.#audit(transaction, action, id, before)
    })
  }

  /** Writes the entry of a change, with the values that differ, and returns the subscription after it. */
  async #audit(
    transaction: WebhookTransaction,
    action: string,
    id: string,
    before: WebhookDetails | undefined,
  ): Promise<WebhookDetails> {
    const webhook = await transaction.lock(id)
    if (!webhook) throw new Error(`The webhook ${id} is not readable after its change`)
    await transaction.auditChange(
      { actor: this.#parts.actor, action, resource: 'Webhook', key: id },
      before && toAudited(before),
      toAudited(webhook),
    )
    return webhook
  }
}

const toAudited = (webhook: WebhookDetails): Readonly<Record<string, unknown>> => ({
  Url: maskUrl(webhook.Url),
  ...Object.fromEntries(AUDITED.map(name => [name, webhook[name]])),
})

const toState = (state: 'active' | 'paused', reason: string | null): WebhookColumns => ({
  State: state,
  StateReason: reason,
  StateTimestamp: new Date().toISOString(),
})

/** Returns the position after the pending batch. */
const checkBatch = ({ WebhookId, BatchPosition }: WebhookDetails): number =>
  BatchPosition ?? refuse(`The webhook '${WebhookId}' has no pending batch.`)

const refuse = (reason: string): never => {
  throw new WebhookChangeError(reason)
}

const createWebhookId = (): string =>
  `wh-${Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join('')}`
