import { randomInt } from 'node:crypto'
import {
  type ClientColumns,
  type ClientDetails,
  type ClientTransaction,
  changeClients,
  findClients,
  readClients,
} from '../../data/clients/client-store.js'
import type { Database } from '../../data/database.js'
import type { Author } from '../../domain/actor.js'
import { generateSecret } from '../../domain/clients/secrets.js'
import type { ChangeConditions, Precondition } from '../../domain/write-shape.js'
import { type ChangeError, refuseFaults } from '../../errors/change-error.js'
import { RESOURCES } from '../../errors/phrases.js'
import type { Problem } from '../../errors/problem.js'
import { ClientChangeError, clientFaults } from './client-checks.js'

/** A client and its new secret, which cannot be read again. */
export interface ClientWithSecret {
  readonly client: ClientDetails
  readonly secret: string
}

/** Values that a change sets. The service sets the time at which a client was disabled. */
export interface ClientValues extends Omit<ClientColumns, 'DisabledTimestamp' | 'RemovedTimestamp'> {
  readonly DisabledYN?: boolean
}

/** Values of a new client. */
export interface NewClient extends ClientValues {
  readonly Name: string
}

/** Maximum number of secrets of a client: the old and the new one during a rotation. */
const MAX_SECRETS = 2
const ID_SUFFIX_LENGTH = 6
const ID_LETTERS = 'abcdefghjkmnpqrstuvwxyz23456789'
const MAX_SLUG_LENGTH = 40

/**
 * Manages the clients of the service. Each change is one transaction with its entry in the audit log, and
 * reaches all processes within seconds.
 */
export class ClientService {
  readonly #database: Pick<Database, 'withClient'>
  readonly #actor: Author

  /** @param actor the author of the changes, for the audit log */
  constructor(database: Pick<Database, 'withClient'>, actor: Author) {
    this.#database = database
    this.#actor = actor
  }

  list(): Promise<readonly ClientDetails[]> {
    return readClients(this.#database)
  }

  /**
   * Returns the client with an id, or the only one with a name.
   * @throws ClientChangeError if there is none, or several have the name
   */
  async find(idOrName: string): Promise<ClientDetails> {
    const found = await findClients(this.#database, idOrName)
    const [exact] = found
    if (exact?.ClientId === idOrName) return exact
    const [first, second] = found.filter(client => client.RemovedTimestamp === null)
    if (second)
      throw new ClientChangeError(
        `Several clients have the name '${idOrName}'. Use the id: ${found.map(client => client.ClientId).join(', ')}.`,
      )
    return first ?? exact ?? refuse(`There is no client '${idOrName}'.`)
  }

  /** Adds a client with one secret. */
  async add(values: NewClient, { faults }: ChangeConditions = {}): Promise<ClientWithSecret> {
    const secret = await generateSecret()
    const id = createClientId(values.Name)
    const client = await changeClients(this.#database, async transaction => {
      refuseFaults(faults, [...clientFaults(values, undefined), ...(await feedFaults(transaction, values))])
      await transaction.insert(id, toColumns(values, null))
      await transaction.addSecret(id, secret.stored)
      return this.#audit(transaction, 'client.add', id, undefined)
    })
    return { client, secret: secret.text }
  }

  /** Changes values of a client. */
  change(id: string, values: ClientValues, conditions: ChangeConditions = {}): Promise<ClientDetails> {
    const work: ClientChange = async (transaction, client) => {
      refuseFaults(conditions.faults, [
        ...clientFaults(values, client),
        ...(await feedFaults(transaction, values)),
      ])
      await transaction.update(id, toColumns(values, client.DisabledTimestamp))
    }
    return this.#change(actionOf(values), id, work, conditions)
  }

  /**
   * Adds a second secret. Both are valid until `endRotation`.
   * @throws ClientChangeError if a rotation has not ended, because the partner may use either secret
   */
  async rotate(id: string): Promise<ClientWithSecret> {
    const secret = await generateSecret()
    const client = await this.#change('client.rotate', id, async (transaction, { Secrets }) => {
      if (Secrets.length >= MAX_SECRETS)
        throw new ClientChangeError(
          `The client '${id}' already has ${MAX_SECRETS} secrets. End the rotation first, when the older one is no longer used.`,
        )
      await transaction.addSecret(id, secret.stored)
    })
    return { client, secret: secret.text }
  }

  /** Ends a rotation: only the newest secret remains valid. */
  endRotation(id: string): Promise<ClientDetails> {
    return this.#change('client.end-rotation', id, (transaction, { Secrets }) =>
      transaction.deleteSecrets(
        id,
        Secrets.slice(0, -1).map(secret => secret.SecretId),
      ),
    )
  }

  /**
   * Deletes one secret of a client. With the older one a rotation ends.
   * @throws ClientChangeError for the last secret of a client without public keys, which could not authenticate
   */
  async removeSecret(secretId: string): Promise<void> {
    const id = await changeClients(this.#database, transaction => transaction.clientOf(secretId))
    const missing = `There is no secret '${secretId}'.`
    if (id === undefined) throw toMissing(missing, 'ClientSecret', secretId)
    await this.#change('client.remove-secret', id, async (transaction, { Secrets, PublicKeys }) => {
      if (!Secrets.some(secret => secret.SecretId === secretId))
        throw toMissing(missing, 'ClientSecret', secretId)
      if (Secrets.length === 1 && PublicKeys === null)
        refuse(
          `The client '${id}' has no other secret and no public key. Add a secret first, or disable the client.`,
        )
      await transaction.deleteSecrets(id, [secretId])
    })
  }

  /** Disables the client: its requests are refused until it is enabled again. */
  disable(id: string): Promise<ClientDetails> {
    return this.change(id, { DisabledYN: true })
  }

  enable(id: string): Promise<ClientDetails> {
    return this.change(id, { DisabledYN: false })
  }

  /** Removes a client and its secrets permanently. Its usage and audit entries remain. */
  remove(id: string, condition?: Precondition): Promise<ClientDetails> {
    const work: ClientChange = async (transaction, { Secrets }) => {
      await transaction.deleteSecrets(
        id,
        Secrets.map(secret => secret.SecretId),
      )
      await transaction.update(id, { RemovedTimestamp: new Date().toISOString(), PublicKeys: null })
    }
    return this.#change('client.remove', id, work, condition)
  }

  async #change(
    action: string,
    id: string,
    work: ClientChange,
    condition: Precondition = {},
  ): Promise<ClientDetails> {
    return changeClients(this.#database, async transaction => {
      const before = await transaction.lock(id)
      if (!before) throw toMissing(`There is no client '${id}'.`, 'Client', id)
      if (before.RemovedTimestamp !== null) throw toMissing(`The client '${id}' was removed.`, 'Client', id)
      await transaction.check(id, condition)
      await work(transaction, before)
      return this.#audit(transaction, action, id, before)
    })
  }

  /** Writes the entry of a change, with the values that differ, and returns the client after it. */
  async #audit(
    transaction: ClientTransaction,
    action: string,
    id: string,
    before: ClientDetails | undefined,
  ): Promise<ClientDetails> {
    const after = await transaction.lock(id)
    if (!after) throw new Error(`The client ${id} is not readable after its change`)
    await transaction.auditChange({ actor: this.#actor, action, resource: 'Client', key: id }, before, after)
    return after
  }
}

type ClientChange = (transaction: ClientTransaction, client: ClientDetails) => Promise<void>

const refuse = (reason: string): never => {
  throw new ClientChangeError(reason)
}

const toMissing = (message: string, entity: string, key: string): ChangeError =>
  new ClientChangeError(message, { kind: 'NotFound', what: RESOURCES.recordOf(entity, key) })

/** A change of DisabledYN alone has its own name in the audit log. */
const actionOf = ({ DisabledYN, ...others }: ClientValues): string => {
  if (DisabledYN === undefined || Object.keys(others).length > 0) return 'client.change'
  return DisabledYN ? 'client.disable' : 'client.enable'
}

/** @param disabled the time at which the client was disabled, which it keeps while it stays disabled. */
const toColumns = ({ DisabledYN, ...columns }: ClientValues, disabled: string | null): ClientColumns => ({
  ...columns,
  ...(DisabledYN !== undefined && {
    DisabledTimestamp: DisabledYN ? (disabled ?? new Date().toISOString()) : null,
  }),
})

/** Returns the fault of the name of a feed that does not exist. */
const feedFaults = async (
  transaction: ClientTransaction,
  { FeedName }: ClientValues,
): Promise<readonly Problem[]> =>
  FeedName && !(await transaction.hasFeed(FeedName))
    ? [{ kind: 'NoSuchReference', field: 'FeedName', value: FeedName, target: 'Feed' }]
    : []

/** Returns a readable id: the letters and digits of the client's name, and a random suffix. */
function createClientId(name: string): string {
  const slug = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_SLUG_LENGTH)
    .replace(/^-+|-+$/g, '')
  const suffix = Array.from({ length: ID_SUFFIX_LENGTH }, () => ID_LETTERS[randomInt(ID_LETTERS.length)])
  return [slug || 'client', suffix.join('')].join('-')
}
