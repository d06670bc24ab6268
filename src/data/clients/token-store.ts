import type { Database } from '../database.js'
import type { RevokedToken } from './client-changes.js'

type Store = Pick<Database, 'queryControl'>

/** Revokes a token, and drops revoked tokens that have expired. */
export async function insertRevokedToken(
  database: Store,
  { issuer, tokenId, expiresAt }: RevokedToken,
): Promise<void> {
  await database.queryControl({
    text: `with expired as (delete from "admin"."RevokedToken" where "ExpirationTimestamp" < now() - interval '1 hour')
      insert into "admin"."RevokedToken" ("Issuer", "TokenId", "ExpirationTimestamp") values ($1, $2, to_timestamp($3::float8 / 1000)) on conflict do nothing`,
    values: [issuer, tokenId, expiresAt],
  })
}

/** Records the use of a client assertion. Returns false if it was used before. */
export async function insertUsedAssertion(
  database: Store,
  { clientId, assertionId, expiresAt }: { clientId: string; assertionId: string; expiresAt: number },
): Promise<boolean> {
  const rows = await database.queryControl({
    text: `with expired as (delete from "admin"."UsedAssertion" where "ExpirationTimestamp" < now() - interval '1 hour')
      insert into "admin"."UsedAssertion" ("ClientId", "AssertionId", "ExpirationTimestamp") values ($1, $2, to_timestamp($3::float8 / 1000))
      on conflict do nothing returning 1`,
    values: [clientId, assertionId, expiresAt],
  })
  return rows.length > 0
}
