import type { Audience } from '../actor.js'

/** Limits of one client. An absent limit does not apply. */
export interface ClientLimits {
  readonly requestsPerMinute?: number
  readonly requestsPerDay?: number
  readonly rowsPerDay?: number
  /** Maximum number of concurrent SQL statements. */
  readonly runningStatements?: number
}

/** A secret of a client. The secret itself is not stored. */
export interface ClientSecret {
  /** The part of the secret before the underscore. It is public. */
  readonly id: string
  /** scrypt hash with its parameters and salt. */
  readonly hash: string
}

/** The rights of a client, which an operator sets. */
export interface ClientRights {
  readonly scopes: readonly string[]
  readonly audience: Audience
  readonly memberKey?: string
  readonly officeKey?: string
  /** Name of the feed that restricts what the client can read. */
  readonly feed?: string
}

/** A registered client. Objects are immutable: a change of the client creates a new object. */
export interface Client extends ClientRights {
  readonly id: string
  readonly name: string
  readonly limits: ClientLimits
  readonly secrets: readonly ClientSecret[]
  /** Public keys for private_key_jwt: the members of a JSON Web Key Set. */
  readonly publicKeys: readonly object[]
  /** ms since 1970. */
  readonly expiresAt?: number
  readonly isDisabled: boolean
  readonly isRemoved: boolean
}

/** Returns true if the client may use the service now. */
export const isActive = (client: Client, now = Date.now()): boolean =>
  !client.isDisabled && !client.isRemoved && (client.expiresAt === undefined || now < client.expiresAt)
