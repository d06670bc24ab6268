import type { Database } from '../../src/data/database.js'
import type { NewClient } from '../../src/service/clients/clients.js'
import { FeedService, type NewFeed } from '../../src/service/feeds/feeds.js'
import type { TestResponse } from '../support/app.js'
import type { DatabaseKind } from '../support/database.js'
import { type PartnerApp, startPartnerApp } from '../support/partners.js'

/** A service with feeds and a small market. */
export interface FeedApp extends PartnerApp {
  readonly feeds: FeedService
  run(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>
  /** Adds a feed that shows all listings, or that of the values, and a client of it. */
  addFeed(
    values: Partial<NewFeed> & Pick<NewFeed, 'FeedName'>,
    client?: Partial<NewClient>,
  ): Promise<FeedReader>
  /** Adds a client of a feed. */
  readerOf(feed: string, client?: Partial<NewClient>): Promise<FeedReader>
}

export const feedServiceOf = (database: Pick<Database, 'withClient'>): FeedService =>
  new FeedService(database, 'test', { pageSizeMax: 1000 })

/** Listings A (active), B (sold), C (active, not displayed), D (a draft), each with one of Media, Rooms and OpenHouse. */
const MARKET = [
  `insert into "Office" ("OfficeKey", "OfficeName") values ('O1', 'North')`,
  `insert into "Member" ("MemberKey", "MemberLastName", "OfficeKey") values ('M1', 'Lee', 'O1'), ('M2', 'Kim', 'O1')`,
  `insert into "Property" ("ListingKey", "StandardStatus", "City", "ListPrice", "SoldPrice", "ClosePrice", "CloseDate", "InternetEntireListingDisplayYN", "ListAgentKey", "PublicRemarks") values
    ('A', 'Active', 'Vail', 300, null, null, null, true, 'M1', 'cabin by the lake'), ('B', 'Sold', 'Vail', 200, 190, 190, '2026-01-01', true, 'M1', 'cabin with a view'),
    ('C', 'Active', 'Reno', 300, null, null, null, false, 'M2', 'cabin in town'), ('D', 'Incomplete', 'Vail', 400, null, null, null, true, 'M2', 'cabin to be')`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") select 'P' || "ListingKey", 'Property', "ListingKey", 'Photo' from "Property"`,
  `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") values ('PM1', 'Member', 'M1', 'Photo')`,
  `insert into "Rooms" ("RoomKey", "ListingKey") select 'R' || "ListingKey", "ListingKey" from "Property"`,
  `insert into "OpenHouse" ("OpenHouseKey", "ListingKey") select 'H' || "ListingKey", "ListingKey" from "Property"`,
]

export async function startFeedApp(kind: DatabaseKind): Promise<FeedApp> {
  const app = await startPartnerApp({ kind })
  const run = (text: string, values: readonly unknown[] = []) =>
    app.database.withClient(async client => (await client.query(text, [...values])).rows as unknown[])
  for (const statement of MARKET) await run(statement)
  const feeds = feedServiceOf(app.database)
  const readerOf: FeedApp['readerOf'] = async (FeedName, values = {}) => {
    const client = await app.addClient({ AudienceClass: 'public', FeedName, ...values })
    return new FeedReader(app, await app.tokenOf(client), client.id)
  }
  return {
    ...app,
    run,
    feeds,
    readerOf,
    async addFeed(values, client) {
      await feeds.add({ Filter: 'true', ...values })
      return readerOf(values.FeedName, client)
    },
  }
}

/** An answer with records, as far as the tests read it. */
export interface Records {
  readonly value?: readonly Readonly<Record<string, unknown>>[]
  readonly '@odata.deltaLink'?: string
  readonly '@odata.nextLink'?: string
}

/** A client of a feed. */
export class FeedReader {
  #position = 0

  constructor(
    private readonly app: PartnerApp,
    readonly token: string,
    readonly clientId = '',
  ) {}

  read(path: string, headers: Readonly<Record<string, string>> = {}): Promise<TestResponse> {
    const target = path.startsWith('http') ? path.replace(this.app.base, '') : `/odata/${path}`
    return this.app.send(target, { headers: { Authorization: `Bearer ${this.token}`, ...headers } })
  }

  async record(path: string): Promise<Readonly<Record<string, unknown>>> {
    return (await this.read(path)).json as Readonly<Record<string, unknown>>
  }

  async records(path: string): Promise<NonNullable<Records['value']>> {
    return ((await this.read(path)).json as Records).value ?? []
  }

  async keys(path: string): Promise<readonly unknown[]> {
    return (await this.records(path)).map(record => record['ListingKey'] ?? record['MediaKey'])
  }

  async status(path: string): Promise<number> {
    return (await this.read(path)).status
  }

  async count(path: string): Promise<number> {
    return Number((await this.read(path)).text)
  }

  async graphql(query: string): Promise<unknown> {
    const headers = { Authorization: `Bearer ${this.token}` }
    const answer = await this.app.send('/graphql', { method: 'POST', headers, body: { query } })
    const { data, errors } = answer.json as { readonly data: unknown; readonly errors?: unknown }
    if (errors) throw new Error(JSON.stringify(errors))
    return data
  }

  /** Returns the events since the last call, as `Resource key`. */
  async newEvents(): Promise<readonly string[]> {
    const path = `EntityEvent?$filter=EntityEventSequence gt ${this.#position}&$orderby=EntityEventSequence`
    const events = await this.records(path)
    this.#position = Number(events.at(-1)?.['EntityEventSequence'] ?? this.#position)
    return events.map(event => `${event['ResourceName']} ${event['ResourceRecordKey']}`)
  }

  get position(): number {
    return this.#position
  }

  /** Returns the first delta link of a query. */
  async track(path: string): Promise<string> {
    const { json } = await this.read(path, { Prefer: 'odata.track-changes' })
    return (json as Records)['@odata.deltaLink'] ?? ''
  }

  /** Returns the changes that a delta link brings, and the next link. */
  async follow(link: string): Promise<{ readonly changes: readonly string[]; readonly next: string }> {
    const { value = [], '@odata.deltaLink': next = '' } = (await this.read(link)).json as Records
    const changes = value.map(
      record => `${record['ListingKey'] ?? record['MediaKey']}${record['@removed'] ? ' removed' : ''}`,
    )
    return { changes, next }
  }
}

export const IDX = {
  FeedName: 'idx',
  Filter: "StandardStatus in ('Active','Pending') and InternetEntireListingDisplayYN ne false",
} as const satisfies NewFeed

/** Changes reach every process within five seconds. */
export const DEADLINE = { timeout: 5000, interval: 50 }
