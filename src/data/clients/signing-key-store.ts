import type { Client } from 'pg'
import type { Database } from '../database.js'

/** A new signing key. */
export interface NewSigningKey {
  readonly id: string
  readonly publicJwk: object
  readonly encryptedPrivateKey: string
  /** Seconds until it signs. */
  readonly signsInSeconds: number
}

/** A signing key of the list of an operator. */
export interface SigningKeyRow {
  readonly KeyId: string
  readonly CreationTimestamp: string
  readonly SigningTimestamp: string
  readonly WithdrawnTimestamp: string | null
}

/** The existing key that makes a new one unnecessary. */
export type ExistingKey =
  /** One that is none of these. */
  | { readonly kind: 'usable'; readonly except: readonly string[] }
  /** One that does not sign yet. */
  | { readonly kind: 'pending' }
  /** None. All other keys are withdrawn. */
  | { readonly kind: 'none' }

const SELECT_EXISTING = {
  usable: `select from "admin"."SigningKey" where "WithdrawnTimestamp" is null and "KeyId" <> all($1) limit 1`,
  pending: `select from "admin"."SigningKey" where "WithdrawnTimestamp" is null and "SigningTimestamp" > clock_timestamp() limit 1`,
  none: 'select limit 0',
} as const

/** Adds a signing key unless there is one. Returns false if there is. */
export function insertSigningKey(
  database: Pick<Database, 'withClient'>,
  key: NewSigningKey,
  existing: ExistingKey,
  audit?: { readonly actor: string; readonly action: string },
): Promise<boolean> {
  return database.withClient(async connection => {
    await connection.query('begin')
    try {
      // Processes that add a key at the same moment do so one after the other.
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
  audit?: { readonly actor: string; readonly action: string },
): Promise<void> {
  if (withdrawsOthers)
    await connection.query(
      'update "admin"."SigningKey" set "WithdrawnTimestamp" = clock_timestamp() where "WithdrawnTimestamp" is null',
    )
  await connection.query(
    `insert into "admin"."SigningKey" ("KeyId", "PublicKey", "EncryptedPrivateKey", "SigningTimestamp") values ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))`,
    [id, JSON.stringify(publicJwk), encryptedPrivateKey, signsInSeconds],
  )
  if (audit)
    await connection.query(
      `insert into "admin"."AuditEntry" ("Actor", "Action", "ResourceName", "ResourceKey") values ($1, $2, 'SigningKey', $3)`,
      [audit.actor, audit.action, id],
    )
}

/** Returns the keys by the time from which they sign. */
export const readSigningKeys = (
  database: Pick<Database, 'queryControl'>,
): Promise<readonly SigningKeyRow[]> =>
  database.queryControl<SigningKeyRow>({
    text: `select "KeyId", to_json("CreationTimestamp") as "CreationTimestamp", to_json("SigningTimestamp") as "SigningTimestamp", to_json("WithdrawnTimestamp") as "WithdrawnTimestamp" from "admin"."SigningKey" order by "SigningTimestamp", "KeyId"`,
    values: [],
  })
