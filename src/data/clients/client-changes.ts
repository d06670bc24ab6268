import type { JsonWebKey } from 'node:crypto'
import type { Audience } from '../../domain/actor.js'
import type { Client, ClientSecret } from '../../domain/clients/client.js'
import type { Feed } from '../../domain/feeds/feed.js'
import type { Database } from '../database.js'

/** A row of the table SigningKey. */
export interface StoredSigningKey {
  readonly id: string
  readonly publicJwk: JsonWebKey
  readonly encryptedPrivateKey: string
  readonly signsFrom: number
  readonly isWithdrawn: boolean
}

/** A token that was revoked. */
export interface RevokedToken {
  readonly issuer: string
  readonly tokenId: string
  /** ms since 1970. */
  readonly expiresAt: number
}

/** Changes of clients, feeds, keys and revoked tokens since a version. */
export interface ClientChanges {
  readonly version: string
  readonly clients: readonly Client[]
  readonly keys: readonly StoredSigningKey[]
  readonly revoked: readonly RevokedToken[]
  readonly feeds: readonly StoredFeed[]
}

/** A row of the table Feed, with its filter. */
export interface StoredFeed extends Feed {
  readonly filter: string
  /** The compiled filter, by which the database computes the listings of the feed. */
  readonly filterSql: string
  readonly isRemoved: boolean
}

/** One statement, so that all lists are from one snapshot. Each list is read by the index on its version. */
const SELECT_CHANGES = `select "Version"::text as version,
  (select json_agg(json_build_object('id', "ClientId", 'name', "Name", 'scopes', "Scopes", 'audience', "AudienceClass", 'memberKey', "MemberKey", 'officeKey', "OfficeKey",
      'feed', "FeedName", 'requestsPerMinute', "RequestsPerMinute", 'requestsPerDay', "RequestsPerDay", 'rowsPerDay', "RowsPerDay", 'runningStatements', "RunningStatements",
      'publicKeys', "PublicKeys" -> 'keys', 'expiresAt', extract(epoch from "ExpirationTimestamp") * 1000, 'isDisabled', "DisabledTimestamp" is not null, 'isRemoved', "RemovedTimestamp" is not null,
      'secrets', (select json_agg(json_build_object('id', "SecretId", 'hash', "Hash")) from "admin"."ClientSecret" s where s."ClientId" = c."ClientId")))
    from "admin"."Client" c where "Version" > $1) as clients,
  (select json_agg(json_build_object('id', "KeyId", 'publicJwk', "PublicKey", 'encryptedPrivateKey', "EncryptedPrivateKey", 'signsFrom', extract(epoch from "SigningTimestamp") * 1000,
      'isWithdrawn', "WithdrawnTimestamp" is not null)) from "admin"."SigningKey" where "Version" > $1) as keys,
  (select json_agg(json_build_object('issuer', "Issuer", 'tokenId', "TokenId", 'expiresAt', extract(epoch from "ExpirationTimestamp") * 1000))
    from "admin"."RevokedToken" where "Version" > $1 and "ExpirationTimestamp" > now()) as revoked,
  (select json_agg(json_build_object('id', "FeedId", 'name', "FeedName", 'filter', "Filter", 'filterSql', "FilterSql", 'hiddenFields', "HiddenFields", 'onlyFields', "OnlyFields",
      'topIsTotal', "TopIsTotal", 'pageSize', "PageSize", 'pageSizeMax', "PageSizeMax", 'soldPriceDelayDays', "SoldPriceDelayDays", 'showsMedia', "ShowsMedia",
      'showsOpenHouses', "ShowsOpenHouses", 'showsMembers', "ShowsMembers", 'isRemoved', "RemovedTimestamp" is not null) order by "FeedId") from "admin"."Feed" where "Version" > $1) as feeds
from "admin"."State"`

interface ClientJson {
  readonly id: string
  readonly name: string
  readonly scopes: readonly string[]
  readonly audience: Audience
  readonly memberKey: string | null
  readonly officeKey: string | null
  readonly feed: string | null
  readonly requestsPerMinute: number | null
  readonly requestsPerDay: number | null
  readonly rowsPerDay: number | null
  readonly runningStatements: number | null
  readonly publicKeys: readonly object[] | null
  readonly expiresAt: number | null
  readonly isDisabled: boolean
  readonly isRemoved: boolean
  readonly secrets: readonly ClientSecret[] | null
}

interface ChangesRow {
  readonly version: string
  readonly clients: readonly ClientJson[] | null
  readonly keys: readonly StoredSigningKey[] | null
  readonly revoked: readonly RevokedToken[] | null
  readonly feeds: readonly FeedJson[] | null
}

interface FeedJson
  extends Omit<StoredFeed, 'onlyFields' | 'topIsTotal' | 'pageSize' | 'pageSizeMax' | 'soldPriceDelayDays'> {
  readonly onlyFields: readonly string[] | null
  readonly topIsTotal: boolean | null
  readonly pageSize: number | null
  readonly pageSizeMax: number | null
  readonly soldPriceDelayDays: number | null
}

/** Reads the changes since a version. Version 0 precedes all changes. */
export async function readClientChanges(
  database: Pick<Database, 'queryControl'>,
  since: string,
): Promise<ClientChanges> {
  const [row] = await database.queryControl<ChangesRow>({ text: SELECT_CHANGES, values: [since] })
  if (!row) throw new Error('The table State of the schema admin has no row')
  return {
    version: row.version,
    clients: (row.clients ?? []).map(toClient),
    keys: row.keys ?? [],
    revoked: row.revoked ?? [],
    feeds: (row.feeds ?? []).map(toStoredFeed),
  }
}

function toClient({
  secrets,
  publicKeys,
  requestsPerMinute,
  requestsPerDay,
  rowsPerDay,
  runningStatements,
  memberKey,
  officeKey,
  feed,
  expiresAt,
  ...rest
}: ClientJson): Client {
  return Object.freeze({
    ...rest,
    secrets: secrets ?? [],
    publicKeys: publicKeys ?? [],
    limits: withoutNulls({ requestsPerMinute, requestsPerDay, rowsPerDay, runningStatements }),
    ...withoutNulls({ memberKey, officeKey, feed, expiresAt }),
  })
}

function toStoredFeed({
  onlyFields,
  topIsTotal,
  pageSize,
  pageSizeMax,
  soldPriceDelayDays,
  ...rest
}: FeedJson): StoredFeed {
  return Object.freeze({
    ...rest,
    ...withoutNulls({ onlyFields, topIsTotal, pageSize, pageSizeMax, soldPriceDelayDays }),
  })
}

type WithoutNulls<T> = { readonly [K in keyof T]?: NonNullable<T[K]> }

/** Members that are not null. */
const withoutNulls = <T extends object>(values: T): WithoutNulls<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null)) as WithoutNulls<T>
