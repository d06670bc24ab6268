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
import { type AddressRules, maskUrl } from '../../domain/webhooks/address.js'
import type { WebhookState } from '../../domain/webhooks/webhook.js'
import type { ChangeConditions, Precondition } from '../../domain/write-shape.js'
import { refuseFaults } from '../../errors/change-error.js'
import { RESOURCES } from '../../errors/phrases.js'
import { encryptText, generateWebhookSecret } from './encryption.js'
import { startPositionOf, WebhookChangeError } from './position.js'
import type { SelectionDependencies } from './selection.js'
import {
  NO_BATCH,
  pause,
  resend,
  resume,
  skip,
  toState,
  transitionTo,
  type WebhookTransition,
} from './transitions.js'
import { newWebhookFaults, webhookChangeFaults, withoutMasked } from './webhook-checks.js'

/** A webhook and its new secret, which cannot be read again. */
export interface WebhookWithSecret {
  readonly webhook: WebhookDetails
  readonly secret: string
}

/** Values that an operator sets. Null clears an optional one. */
export interface WebhookValues {
  readonly url?: string
  readonly source?: string | null | undefined
  readonly token?: string | null | undefined
}

/** A new webhook. */
export interface NewWebhook extends WebhookValues {
  readonly clientId: string
  readonly url: string
  /** Undefined or null for events of all resources. */
  readonly resourceName?: string | null | undefined
  readonly filter?: string | null | undefined
  /** Events after this number are sent. Undefined for the end of the log. */
  readonly from?: string | undefined
  /** Active or paused. */
  readonly state?: WebhookState | undefined
}

/** A change at /admin. The client and the selection can only be repeated. */
export interface WebhookChange extends WebhookValues {
  readonly clientId?: string
  readonly resourceName?: string | null | undefined
  readonly filter?: string | null | undefined
  readonly state?: WebhookState | undefined
  readonly from?: string | undefined
}

/** Dependencies of the service. */
export interface WebhookServiceDependencies extends SelectionDependencies {
  readonly database: Pick<Database, 'withClient'>
  /** Encrypts secrets and tokens. */
  readonly encryptionKey: KeyObject
  readonly rules: AddressRules
  /** The author of the changes, for the audit log. */
  readonly actor: Author
}

/** Default time for which the older secret still signs after a rotation, in hours. */
export const DEFAULT_OVERLAP_HOURS = 24
export const MAX_OVERLAP_HOURS = 9999
/** Maximum number of secrets of a webhook: the old and the new one during a rotation. */
const MAX_SECRETS = 2
const ID_LENGTH = 16
const ID_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
/** Members of a webhook that the audit log records. */
const AUDITED = [
  'ClientId', 'ResourceName', 'Filter', 'Source', 'HasToken', 'State', 'StateReason', 'Position', 'Secrets', 'RemovedTimestamp',
] as const // biome-ignore format: one list

/** Manages webhooks. Each change is one transaction with its entry in the audit log. */
export class WebhookService {
  readonly #dependencies: WebhookServiceDependencies

  constructor(dependencies: WebhookServiceDependencies) {
    this.#dependencies = dependencies
  }

  /** Returns the webhooks of a client, or of all. */
  list(clientId?: string): Promise<readonly WebhookDetails[]> {
    return readWebhooks(this.#dependencies.database, clientId)
  }

  /** @throws WebhookChangeError if there is none with this id */
  async find(id: string): Promise<WebhookDetails> {
    return (await findWebhook(this.#dependencies.database, id)) ?? refuseMissing('Webhook', id)
  }

  /** Adds a webhook with one secret. Exactly the events after its position are sent. */
  async add(values: NewWebhook, { faults }: ChangeConditions = {}): Promise<WebhookWithSecret> {
    const { database, encryptionKey } = this.#dependencies
    const { clientId, resourceName, filter, from, state = 'active' } = values
    const secret = generateWebhookSecret()
    const id = createWebhookId()
    const webhook = await changeWebhooks(database, async transaction => {
      const range = await transaction.logRange(clientId)
      const clientFaults = (await transaction.hasClient(clientId))
        ? []
        : [{ kind: 'NoSuchReference', field: 'ClientId', value: clientId, target: 'Client' } as const]
      refuseFaults(faults, [...clientFaults, ...newWebhookFaults(values, range, this.#dependencies)])
      const selection = { ResourceName: resourceName ?? null, Filter: filter ?? null }
      const columns = { ...selection, ...(await this.#toColumns(values)), ...startPositionOf(range, from) }
      await transaction.insert(id, { ClientId: clientId, ...columns, ...toState(state) })
      await transaction.addSecret(id, await encryptText(secret, encryptionKey))
      return this.#audit(transaction, 'webhook.add', id, undefined)
    })
    return { webhook, secret }
  }

  /**
   * Changes the target, the options, the state and the position of a webhook. The next attempt follows
   * immediately.
   */
  change(id: string, values: WebhookChange, conditions: ChangeConditions = {}): Promise<WebhookDetails> {
    return this.#change(id, conditions, async (transaction, webhook) => {
      const changes = withoutMasked(values, webhook)
      const range = await transaction.logRange(webhook.ClientId)
      refuseFaults(conditions.faults, webhookChangeFaults(changes, webhook, range, this.#dependencies))
      const columns = await this.#toColumns(changes)
      const hasColumns = Object.keys(columns).length > 0
      const [action, transition] = transitionTo(changes.state, changes.from, webhook) ?? []
      await transition?.(transaction, webhook)
      if (hasColumns) await transaction.update(id, { ...columns, NextAttemptTimestamp: null })
      return hasColumns || action === undefined ? 'webhook.change' : action
    })
  }

  pause(id: string): Promise<WebhookDetails> {
    return this.#transition('webhook.pause', id, pause)
  }

  /** Resumes a webhook, by default after its last acknowledged event. */
  resume(id: string, from?: string): Promise<WebhookDetails> {
    return this.#transition('webhook.resume', id, resume(from))
  }

  /** Sends the pending batch immediately, also if it was given up or its next attempt is due later. */
  resend(id: string): Promise<WebhookDetails> {
    return this.#transition('webhook.resend', id, resend)
  }

  /** Discards the pending batch. A failed webhook continues with the events after it. */
  skip(id: string): Promise<WebhookDetails> {
    return this.#transition('webhook.skip', id, skip)
  }

  /**
   * Adds a second secret. Both sign for `overlapHours`, then the new one alone.
   * @throws WebhookChangeError if an earlier rotation has not ended, because the receiver may use either
   * secret
   */
  async rotate(id: string, overlapHours: number): Promise<WebhookWithSecret> {
    const secret = generateWebhookSecret()
    const encryptedSecret = await encryptText(secret, this.#dependencies.encryptionKey)
    const webhook = await this.#change(id, {}, async (transaction, { Secrets }) => {
      if (Secrets.length >= MAX_SECRETS && overlapHours > 0)
        refuse(
          `The webhook '${id}' already has ${MAX_SECRETS} secrets. End the rotation first, or use an overlap of 0 hours.`,
        )
      await transaction.addSecret(id, encryptedSecret)
      await transaction.expireSecrets(id, overlapHours * 3600)
      await transaction.update(id, {})
      return 'webhook.rotate'
    })
    return { webhook, secret }
  }

  /** Ends a rotation: only the newest secret signs. */
  endRotation(id: string): Promise<WebhookDetails> {
    return this.#transition('webhook.end-rotation', id, async transaction => {
      await transaction.expireSecrets(id, 0)
      await transaction.update(id, {})
    })
  }

  /**
   * Deletes the older secret, which ends a rotation.
   * @throws WebhookChangeError for the newest secret
   */
  async removeSecret(secretId: string): Promise<void> {
    const id = await changeWebhooks(this.#dependencies.database, transaction =>
      transaction.webhookOf(secretId),
    )
    if (id === undefined) return refuseMissing('WebhookSecret', secretId)
    await this.#transition('webhook.end-rotation', id, async (transaction, { Secrets }) => {
      const ids = Secrets.map(secret => secret.SecretId)
      if (!ids.includes(secretId)) refuseMissing('WebhookSecret', secretId)
      if (ids.at(-1) === secretId)
        refuse(`The newest secret of the webhook '${id}' signs its messages. Add another one first.`)
      await transaction.expireSecrets(id, 0)
      await transaction.update(id, {})
    })
  }

  /**
   * Removes a webhook and its secrets permanently. Its delivery log remains until the end of its
   * retention.
   */
  remove(id: string, condition: Precondition = {}): Promise<WebhookDetails> {
    return this.#change(id, condition, async transaction => {
      await transaction.clear(id, { secrets: true })
      const RemovedTimestamp = new Date().toISOString()
      await transaction.update(id, { ...NO_BATCH, EncryptedToken: null, RemovedTimestamp })
      return 'webhook.remove'
    })
  }

  async #toColumns({ url, source, token }: WebhookValues): Promise<WebhookColumns> {
    const { encryptionKey } = this.#dependencies
    const EncryptedToken = typeof token === 'string' ? await encryptText(token, encryptionKey) : token
    return {
      ...(url !== undefined && { Url: new URL(url).href }),
      ...(source !== undefined && { Source: source }),
      ...(EncryptedToken !== undefined && { EncryptedToken }),
    }
  }

  #transition(action: string, id: string, transition: WebhookTransition): Promise<WebhookDetails> {
    return this.#change(id, {}, async (transaction, webhook) => {
      await transition(transaction, webhook)
      return action
    })
  }

  /** @param work changes the webhook, which is locked. Returns the action in the audit log. */
  #change(
    id: string,
    condition: Precondition,
    work: (transaction: WebhookTransaction, webhook: WebhookDetails) => Promise<string>,
  ): Promise<WebhookDetails> {
    return changeWebhooks(this.#dependencies.database, async transaction => {
      const before = (await transaction.lock(id)) ?? refuseMissing('Webhook', id)
      if (before.RemovedTimestamp !== null)
        throw new WebhookChangeError(`The webhook '${id}' was removed.`, missing('Webhook', id))
      await transaction.check(id, condition)
      return this.#audit(transaction, await work(transaction, before), id, before)
    })
  }

  /** Writes the entry of a change, with the values that differ, and returns the webhook after it. */
  async #audit(
    transaction: WebhookTransaction,
    action: string,
    id: string,
    before: WebhookDetails | undefined,
  ): Promise<WebhookDetails> {
    const webhook = await transaction.lock(id)
    if (!webhook) throw new Error(`The webhook ${id} is not readable after its change`)
    await transaction.auditChange(
      { actor: this.#dependencies.actor, action, resource: 'Webhook', key: id },
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

const refuse = (reason: string): never => {
  throw new WebhookChangeError(reason)
}

const missing = (entity: string, key: string) =>
  ({ kind: 'NotFound', what: RESOURCES.recordOf(entity, key) }) as const

function refuseMissing(entity: 'Webhook' | 'WebhookSecret', key: string): never {
  const name = entity === 'Webhook' ? 'webhook' : 'secret'
  throw new WebhookChangeError(`There is no ${name} '${key}'.`, missing(entity, key))
}

const createWebhookId = (): string =>
  `wh-${Array.from({ length: ID_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)]).join('')}`
