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
import { generateSecret } from '../../domain/clients/secrets.js'

/** A change that is refused. The message is for the operator. */
export class ClientChangeError extends Error {}

/** A client and its new secret, which cannot be read again. */
export interface ClientWithSecret {
  readonly client: ClientDetails
  readonly secret: string
}

/** Values of a new client. */
export interface NewClient extends ClientColumns {
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
  readonly #actor: string

  /** @param actor the author of the changes, for the audit log */
  constructor(database: Pick<Database, 'withClient'>, actor: string) {
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
  async add(values: NewClient): Promise<ClientWithSecret> {
    const secret = await generateSecret()
    const id = createClientId(values.Name)
    const client = await changeClients(this.#database, async transaction => {
      await checkFeed(transaction, values)
      await transaction.insert(id, values)
      await transaction.addSecret(id, secret.stored)
      return this.#audit(transaction, 'client.add', id, undefined)
    })
    return { client, secret: secret.text }
  }

  /** Changes values of a client. */
  change(id: string, columns: ClientColumns): Promise<ClientDetails> {
    return this.#change('client.change', id, async transaction => {
      await checkFeed(transaction, columns)
      await transaction.update(id, columns)
    })
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

  /** Disables the client: its requests are refused until it is enabled again. */
  disable(id: string): Promise<ClientDetails> {
    return this.#change('client.disable', id, (transaction, client) =>
      transaction.update(id, { DisabledTimestamp: client.DisabledTimestamp ?? new Date().toISOString() }),
    )
  }

  enable(id: string): Promise<ClientDetails> {
    return this.#change('client.enable', id, transaction =>
      transaction.update(id, { DisabledTimestamp: null }),
    )
  }

  /** Removes a client and its secrets permanently. Its usage and audit entries remain. */
  remove(id: string): Promise<ClientDetails> {
    return this.#change('client.remove', id, async (transaction, { Secrets }) => {
      await transaction.deleteSecrets(
        id,
        Secrets.map(secret => secret.SecretId),
      )
      await transaction.update(id, { RemovedTimestamp: new Date().toISOString(), PublicKeys: null })
    })
  }

  async #change(
    action: string,
    id: string,
    work: (transaction: ClientTransaction, client: ClientDetails) => Promise<void>,
  ): Promise<ClientDetails> {
    return changeClients(this.#database, async transaction => {
      const before = (await transaction.lock(id)) ?? refuse(`There is no client '${id}'.`)
      if (before.RemovedTimestamp !== null) refuse(`The client '${id}' was removed.`)
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

const refuse = (reason: string): never => {
  throw new ClientChangeError(reason)
}

/** @throws ClientChangeError for the name of a feed that does not exist */
async function checkFeed(transaction: ClientTransaction, { FeedName }: ClientColumns): Promise<void> {
  if (FeedName && !(await transaction.hasFeed(FeedName))) refuse(`There is no feed '${FeedName}'.`)
}

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
