import type { Client } from 'pg'
import type { Author } from '../../domain/actor.js'
import type { Database } from '../database.js'
import { AdminTransaction } from './admin-transaction.js'

/** A new signing key. */
export interface NewSigningKey {
  readonly id: string
  readonly publicJwk: object
  readonly encryptedPrivateKey: string
  /** Seconds until the key signs. */
  readonly signsInSeconds: number
}

/** A signing key as operators see it. */
export interface SigningKeyRow {
  readonly KeyId: string
  readonly CreationTimestamp: string
  readonly SigningTimestamp: string
  readonly WithdrawnTimestamp: string | null
}

/** The kind of existing key that makes a new one unnecessary. */
export type ExistingKey =
  /** A valid key other than these. */
  | { readonly kind: 'usable'; readonly except: readonly string[] }
  /** A key that does not sign yet. */
  | { readonly kind: 'pending' }
  /** No key prevents the new one, and all others are withdrawn. */
  | { readonly kind: 'none' }

const SELECT_EXISTING = {
  usable: `select from "admin"."SigningKey" where "WithdrawnTimestamp" is null and "KeyId" <> all($1) limit 1`,
  pending: `select from "admin"."SigningKey" where "WithdrawnTimestamp" is null and "SigningTimestamp" > clock_timestamp() limit 1`,
  none: 'select limit 0',
} as const

/** Adds a signing key unless such a key exists. Returns false if it does. */
export function insertSigningKey(
  database: Pick<Database, 'withClient'>,
  key: NewSigningKey,
  existing: ExistingKey,
  audit?: { readonly actor: Author; readonly action: string },
): Promise<boolean> {
  return database.withClient(async connection => {
    await connection.query('begin')
    try {
      // Serializes processes that add a key at the same time.
      await connection.query('select from "admin"."State" for update')
      const { rows } = await connection.query(
        SELECT_EXISTING[existing.kind],
        existing.kind === 'usable' ? [existing.except] : [],
      )
      if (rows.length === 0) await writeSigningKey(connection, key, existing.kind === 'none', audit)
      await connection.query('commit')
      return rows.length === 0
    } catch (error) {
      await connection.query('rollback').catch(() => undefined)
      throw error
    }
  })
}

async function writeSigningKey(
  connection: Client,
  { id, publicJwk, encryptedPrivateKey, signsInSeconds }: NewSigningKey,
  withdrawsOthers: boolean,
  audit?: { readonly actor: Author; readonly action: string },
): Promise<void> {
  if (withdrawsOthers)
    await connection.query(
      'update "admin"."SigningKey" set "WithdrawnTimestamp" = clock_timestamp() where "WithdrawnTimestamp" is null',
    )
  await connection.query(
    `insert into "admin"."SigningKey" ("KeyId", "PublicKey", "EncryptedPrivateKey", "SigningTimestamp") values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))`,
    [id, JSON.stringify(publicJwk), encryptedPrivateKey, signsInSeconds],
  )
  if (audit) await new AdminTransaction(connection).audit({ ...audit, resource: 'SigningKey', key: id })
}

/** Returns the keys in the order of the time from which they sign. */
export const readSigningKeys = (
  database: Pick<Database, 'queryControl'>,
): Promise<readonly SigningKeyRow[]> =>
  database.queryControl<SigningKeyRow>({
    text: `select "KeyId", to_json("CreationTimestamp") as "CreationTimestamp", to_json("SigningTimestamp") as "SigningTimestamp", to_json("WithdrawnTimestamp") as "WithdrawnTimestamp" from "admin"."SigningKey" k order by k."SigningTimestamp", k."KeyId"`,
    values: [],
  })
