import { setTimeout as wait } from 'node:timers/promises'
import { getEntity } from '../../../src/model/model.js'
import { openSocketClient } from '../../support/clients/subscriber.js'
import { createMarket, type Market } from '../market.js'
import type { ServiceGroup } from '../services.js'
import type { StormRow } from '../storm.js'
import type { StormClient } from '../storm-client.js'
import type { StormReader } from './reader.js'

const fieldsOf = (entity: string): string =>
  getEntity(entity)
    .scalars.filter(({ hidden, readableBy }) => !hidden && readableBy !== 'nobody')
    .map(({ name }) => name)
    .join(' ')

/** A listing with its children, every field of them. */
const LISTING = `${fieldsOf('Property')} etag ${['Media', 'Rooms', 'OpenHouse']
  .map(set => `${set === 'OpenHouse' ? 'OpenHouses' : set} { ${fieldsOf(set)} }`)
  .join(' ')}`
const PAGE_QUERY = `query ($after: String) { properties(first: 20, after: $after) { nodes { ${LISTING} } pageInfo { hasNextPage endCursor } } }`
const SUBSCRIPTION = `subscription ($since: Long!) { propertyChanged(since: $since) { EntityEventSequence ListingKey property { ${LISTING} } } }`

interface PropertyPage {
  readonly data: {
    readonly properties: {
      readonly nodes: readonly StormRow[]
      readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
    }
  }
}
interface ChangeResult {
  readonly data?: {
    readonly propertyChanged: {
      readonly EntityEventSequence: number | string
      readonly ListingKey: string
      readonly property: StormRow | null
    }
  } | null
  readonly errors?: unknown
}

/** Reads all listings with their children by GraphQL. */
export async function readListings(client: StormClient): Promise<Market> {
  const market = createMarket()
  for (let after: string | null = null; ; ) {
    const body = JSON.stringify({ query: PAGE_QUERY, variables: { after } })
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json' } }
    const { text } = await client.read('/graphql', init)
    const page = JSON.parse(text) as Partial<PropertyPage> // the answer of the query
    if (!page.data?.properties && !text.includes('UNAVAILABLE')) throw new Error(text.slice(0, 500))
    if (!page.data?.properties) await wait(200)
    else {
      const { nodes, pageInfo } = page.data.properties
      for (const node of nodes) market.get('Property')?.set(String(node['ListingKey']), node)
      if (!pageInfo.hasNextPage) return market
      after = pageInfo.endCursor
    }
  }
}

/** A copy of the listings with their children, maintained by a GraphQL subscription that connects again. */
export class SubscriptionStormReader implements StormReader {
  #copy = createMarket()
  #since = 0
  #isDone = false
  #running: Promise<void> | undefined
  changes = 0
  connections = 0

  constructor(
    readonly name: string,
    private readonly client: StormClient,
    private readonly services: ServiceGroup,
    /** Returns the number of the event after which nothing is written. */
    private readonly lastSequence: () => Promise<number>,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    this.#since = await this.client.readLastSequence()
    this.#copy = await readListings(this.client)
    this.#running = this.#follow()
    while (!isOver()) await wait(100)
  }

  async #follow(): Promise<void> {
    while (!this.#isDone) {
      await this.#connect().catch(() => undefined)
      await wait(200)
    }
  }

  async #connect(): Promise<void> {
    const client = openSocketClient(await this.services.pick(), this.client.token)
    this.connections++
    const results = client.iterate({ query: SUBSCRIPTION, variables: { since: String(this.#since) } })
    const timer = setInterval(() => this.#isDone && void client.dispose(), 100)
    try {
      for await (const result of results as AsyncIterable<ChangeResult>) this.#apply(result)
    } finally {
      clearInterval(timer)
      await client.dispose()
    }
  }

  #apply({ data }: ChangeResult): void {
    if (!data) return
    const { EntityEventSequence, ListingKey, property } = data.propertyChanged
    const copied = this.#copy.get('Property')
    if (property) copied?.set(ListingKey, property)
    else copied?.delete(ListingKey)
    this.changes++
    this.#since = Number(EntityEventSequence)
  }

  async finish(): Promise<Market> {
    const last = await this.lastSequence()
    for (let tries = 0; this.#since < last && tries < 600; tries++) await wait(100)
    this.#isDone = true
    await this.#running
    return this.#copy
  }
}
