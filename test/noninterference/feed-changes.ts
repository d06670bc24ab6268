import type { Client } from 'pg'
import type { Database } from '../../src/data/database.js'
import type { NewFeed } from '../../src/service/feeds/feeds.js'
import type { Choose } from './channels.js'
import { type ReaderRights, toAssignment } from './random-feed.js'

/** The reader that a change is hidden from. */
export interface FeedRights extends ReaderRights {
  readonly feedId: number
  readonly feed: NewFeed
  /** Fields that the reader sees of no listing but its own. */
  readonly hiddenFields: readonly string[]
}

/** Triggers that leave a trace of an edit in the log and in the record. */
const TRACES = [
  'lock_change_log_first', 'stamp_record', 'log_change', 'log_insert', 'log_update', 'log_delete', 'hide_children', 'show_children', 'photos_insert', 'photos_update', 'photos_delete',
] // biome-ignore format: a list of names

/** Changes of what the reader of a feed cannot see. */
export class FeedChanges {
  constructor(
    private readonly database: Pick<Database, 'withClient'>,
    private readonly memberKeys: readonly string[],
    private readonly random: (below: number) => number,
    private readonly pick: Choose,
  ) {}

  /** Names of the changes that can be made for a reader. */
  namesFor({ feed, hiddenFields }: FeedRights): readonly string[] {
    return [
      'outside', 'outside', 'outside',
      ...(hiddenFields.length > 0 ? ['fields', 'fields', 'fields'] : []),
      ...(feed.SoldPriceDelayDays === undefined ? [] : ['sold prices']),
      ...(feed.ShowsMedia === false ? ['media'] : []),
      ...(feed.ShowsOpenHouses === false ? ['open houses'] : []),
      ...(feed.ShowsMembers === false ? ['members'] : []),
    ] // biome-ignore format: a list of names
  }

  /** Makes a change. Returns false if there is nothing to change, or the change would be visible. */
  async make(name: string, rights: FeedRights): Promise<boolean> {
    return this.database.withClient(async client => {
      await client.query('begin')
      try {
        await client.query(`select setseed($1)`, [this.random(1000) / 1000])
        const isHidden = await this.#apply(client, name, rights)
        await client.query(isHidden ? 'commit' : 'rollback')
        return isHidden
      } catch (error) {
        await client.query('rollback')
        throw error
      }
    })
  }

  #apply(client: Client, name: string, rights: FeedRights): Promise<boolean> {
    const seen = `(${isSeen(rights)})`
    switch (name) {
      case 'outside':
        return this.#changeOutside(client, seen)
      case 'fields':
        return this.#changeFields(client, rights, `${seen} and not (${isOwn(rights)})`)
      case 'sold prices':
        return this.#untraced(client, 'Property', rights, `"SoldPrice" = 1 + floor(random() * 900), "ClosePrice" = 2`,
          `${seen} and not (${isOwn(rights)}) and exists (select from "admin"."FeedListing" m where m."FeedId" = ${rights.feedId} and m."ListingKey" = p."ListingKey" and not m."ShowsSoldPrice")`) // biome-ignore format: one call
      case 'media':
        return this.#untraced(client, 'Media', rights, `"ShortDescription" = md5(random()::text), "Order" = floor(random() * 9), "MediaCategory" = 'Video'`, 'true') // biome-ignore format: one call
      case 'open houses':
        return this.#untraced(client, 'OpenHouse', rights, '"OpenHouseRemarks" = md5(random()::text), "OpenHouseDate" = current_date', 'true') // biome-ignore format: one call
      default:
        return this.#changeMembers(client)
    }
  }

  /** Changes listings that the reader does not see, with all traces. The reader must not see them afterwards either. */
  async #changeOutside(client: Client, seen: string): Promise<boolean> {
    const { rows } = await client.query<{ key: string }>(
      `select "ListingKey" as key from "Property" p where (${seen}) is not true order by 1`,
    )
    const keys = rows.map(({ key }) => key)
    if (keys.length === 0) return false
    const [key, other] = [this.pick(keys), this.pick(keys)]
    const touched = `any(array['${key}', '${other}', 'X${key}'])`
    const isTouchedSeen = async (): Promise<boolean> => {
      const { rowCount } = await client.query(
        `select from "Property" p where "ListingKey" = ${touched} and (${seen}) is true`,
      )
      return rowCount !== 0
    }
    // An earlier change may have created the listing `X…`, and the reader may see that one.
    if (await isTouchedSeen()) return false
    for (const statement of this.pick(OUTSIDE_CHANGES)(key, other, this.#assignments()))
      await client.query(statement)
    return !(await isTouchedSeen())
  }

  /** Returns values of frequent fields, of which some decide who sees the listing. */
  #assignments(): string {
    const fields = ['ListPrice', 'City', 'PublicRemarks', 'BedroomsTotal', 'ListAgentKey', 'Latitude', 'PoolFeatures'].filter(() => this.random(2) === 0) // biome-ignore format: one list
    const status = this.pick(['Active', 'Pending', 'Incomplete', 'Closed'])
    const values = [
      ...fields.map(name => toAssignment(name, this.memberKeys, this.pick)),
      this.random(2) === 0 ? `"StandardStatus" = '${status}'` : `"City" = 'Seattle'`,
      ...(this.random(4) === 0 ? ['"InternetEntireListingDisplayYN" = random() < 0.5'] : []),
    ]
    return [...new Map(values.map(value => [value?.split(' ')[0], value])).values()].join(', ')
  }

  /** Gives hidden fields of listings in the feed other values. */
  async #changeFields(client: Client, rights: FeedRights, where: string): Promise<boolean> {
    // The audiences of the events of a listing have its agent.
    const isFixed = (name: string) => rights.memberKey !== undefined && name === 'ListAgentKey'
    const assignments = rights.hiddenFields
      .filter(name => !isFixed(name) && this.random(3) > 0)
      .flatMap(name => toAssignment(name, this.memberKeys, this.pick) ?? [])
    if (assignments.length === 0) return false
    return this.#untraced(client, 'Property', rights, assignments.join(', '), where)
  }

  /** Changes records as if they had always been like this. */
  async #untraced(
    client: Client,
    table: string,
    { feedId }: FeedRights,
    assignments: string,
    where: string,
  ): Promise<boolean> {
    const { rows } = await client.query<{ name: string }>(
      `select tgname as name from pg_trigger where tgrelid = '"${table}"'::regclass and tgname = any($1::text[])`,
      [TRACES],
    )
    const switchTriggers = async (action: string) => {
      for (const { name } of rows) await client.query(`alter table "${table}" ${action} trigger "${name}"`)
    }
    await switchTriggers('disable')
    const changed = await client.query(`update "${table}" p set ${assignments} where ${where}`)
    await switchTriggers('enable')
    const moved = await client.query(
      `select from "Property" p where coalesce(${feedId} = any("admin".feeds_of(p)), false)
        <> exists (select from "admin"."FeedListing" m where m."FeedId" = ${feedId} and m."ListingKey" = p."ListingKey" and m."IsShown")`,
    )
    return (changed.rowCount ?? 0) > 0 && moved.rowCount === 0
  }

  async #changeMembers(client: Client): Promise<boolean> {
    const key = this.pick(this.memberKeys)
    await client.query(
      this.pick([
        `update "Member" set "MemberLastName" = md5(random()::text), "OfficeKey" = null where "MemberKey" = '${key}'`,
        `update "Office" set "OfficeName" = md5(random()::text), "OfficeCity" = 'Vail'`,
        `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") values ('XM' || md5(random()::text), 'Member', '${key}', 'Photo')`,
        `delete from "Media" where "ResourceName" = 'Member'`,
      ]),
    )
    return true
  }
}

type OutsideChange = (key: string, other: string, assignments: string) => readonly string[]

const INSERT_CHILDREN: OutsideChange = key => [
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory", "Order") values ('X${key}-P' || md5(random()::text), 'Property', '${key}', 'Photo', 1)`,
  `insert into "Rooms" ("RoomKey", "ListingKey", "RoomType") values ('X${key}-R' || md5(random()::text), '${key}', 'Attic')`,
  `insert into "OpenHouse" ("OpenHouseKey", "ListingKey") values ('X${key}-O' || md5(random()::text), '${key}')`,
]
const OUTSIDE_CHANGES: readonly OutsideChange[] = [
  (key, _, assignments) => [`update "Property" set ${assignments} where "ListingKey" = '${key}'`],
  (key, other, assignments) => [`update "Property" set ${assignments} where "ListingKey" in ('${key}', '${other}')`],
  INSERT_CHILDREN,
  (key, other, assignments) => [...INSERT_CHILDREN(key, other, assignments), `update "Property" set ${assignments} where "ListingKey" = '${key}'`],
  (key, other) => [`update "Media" set "ResourceRecordKey" = '${other}', "Order" = 3 where "ResourceName" = 'Property' and "ResourceRecordKey" = '${key}'`],
  (key, other) => [`update "Rooms" set "ListingKey" = '${other}', "RoomType" = 'Kitchen' where "ListingKey" = '${key}'`],
  (key, other) => [`update "OpenHouse" set "ListingKey" = '${other}', "OpenHouseRemarks" = md5(random()::text) where "ListingKey" = '${key}'`],
  key => [`delete from "Media" where "ResourceRecordKey" = '${key}'`, `delete from "Rooms" where "ListingKey" = '${key}'`],
  (key, _, assignments) => [
    `insert into "Property" ("ListingKey", "StandardStatus", "City") values ('X${key}', 'Incomplete', 'Seattle') on conflict do nothing`,
    ...INSERT_CHILDREN(`X${key}`, '', ''), `update "Property" set ${assignments} where "ListingKey" = 'X${key}'`,
  ],
  key => [`delete from "Property" where "ListingKey" like 'X%' and "ListingKey" = '${key}'`],
  (key, _, assignments) => [`set local listing.import = 'on'`, `update "Property" set ${assignments} where "ListingKey" = '${key}'`],
] // biome-ignore format: one change a line

/** The reader may write the listing `p`, as SQL. */
function isOwn({ scopes, memberKey }: ReaderRights): string {
  if (!scopes.includes('listings:write') || memberKey === undefined) return 'false'
  return `coalesce(p."ListAgentKey" = '${memberKey}', false) or coalesce(p."ListOfficeKey" = '${memberKey}', false)`
}

/** The reader sees the listing `p`, as SQL. */
function isSeen({ feedId, ...rights }: FeedRights): string {
  const displayed = rights.audience === 'public' ? 'p."InternetEntireListingDisplayYN" is not false' : 'true'
  const inFeed = `exists (select from "admin"."FeedListing" m where m."FeedId" = ${feedId} and m."ListingKey" = p."ListingKey" and m."IsShown")`
  return `${isOwn(rights)} or (p."StandardStatus" is distinct from 'Incomplete' and ${displayed} and ${inFeed})`
}
