import type { KeyObject } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { getEntity } from '../../src/model/model.js'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { FeedService, type NewFeed } from '../../src/service/feeds/feeds.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { firstDifference, rowsOf } from '../support/assertions.js'
import { LogReader } from '../support/clients/log-reader.js'
import { DATABASE_KINDS } from '../support/database.js'
import { readDataset } from '../support/oracle/dataset.js'
import { QueryGenerator } from '../support/oracle/random-queries.js'
import { clientServiceOf } from '../support/partners.js'
import { startSender, type TestSender, webhookServiceOf } from '../webhooks/setting.js'
import { type Answer, type Channel, type Choose, createChannels, type Probe, type ReaderState, readAnswer, renewState, TRACKED } from './channels.js' // biome-ignore format: one line
import { FeedChanges, type FeedRights } from './feed-changes.js'
import { createFeedChannels, trackedWith } from './feed-channels.js'
import { readWebhook, subscribeAfter } from './other-channels.js'
import { createRandom } from './random.js'
import { createRandomFeed, hiddenFieldsOf, type ReaderRights } from './random-feed.js'

// Noninterference with feeds: what a random feed hides changes no response to its readers. A pair is a request through
// one of the channels, sent before and after changes of listings outside of the feed (with their events), of hidden
// fields and sets, or of other feeds. NONINTERFERENCE_FEED_PAIRS and NONINTERFERENCE_SEED extend the run.

const PAIRS = Number(process.env['NONINTERFERENCE_FEED_PAIRS'] ?? 60)
const SEED = Number(process.env['NONINTERFERENCE_SEED'] ?? 7)
const LISTINGS = 40
const PROBES = 10
const ROUNDS_PER_FEED = 3
const CLASSES = ['public', 'member', 'agent', 'staff'] as const

/** A filter can compare the field with null: it is not a list or a position, and some reader can read it. */
const isComparable = (name: string): boolean =>
  getEntity('Property').scalars.some(
    field =>
      field.name === name &&
      !field.collection &&
      field.type !== 'GeographyPoint' &&
      field.readableBy !== 'nobody',
  )

/** A reader of a feed, as it follows the market. */
interface FeedState extends ReaderState, FeedRights {
  readonly name: string
  readonly token: string
  readonly client: string
  readonly channels: Readonly<Record<string, Channel>>
}

describe.each(DATABASE_KINDS)('noninterference of feeds on the %s database', kind => {
  const random = createRandom(SEED)
  const pick: Choose = list => list[random(list.length)] as (typeof list)[number] // no list is empty
  let app: TestApp
  let sender: TestSender
  let feeds: FeedService
  let changes: FeedChanges
  let channels: Readonly<Record<string, Channel>>
  let memberKeys: readonly string[]
  let hiddenKeys: readonly string[] = ['none']
  let hiddenEvents: readonly number[] = [1]
  let count = 0

  const select = <T>(text: string): Promise<readonly T[]> =>
    app.database.queryControl<T>({ text, values: [] })

  beforeAll(async () => {
    app = await startTestApp({ kind, env: { PAGE_SIZE: '15', NON_DISCLOSURE: 'on', RATE_LIMIT: '0' } })
    await loadSampleIfEmpty(app.database, LISTINGS)
    const agents = await select<{ key: string }>(`select distinct "ListAgentKey" as key from "Property" where "ListAgentKey" is not null order by 1`) // biome-ignore format: one statement
    memberKeys = agents.map(({ key }) => key)
    feeds = new FeedService(app.database, 'test', { pageSizeMax: 1000 })
    changes = new FeedChanges(app.database, memberKeys, random, pick)
    channels = createChannels(new QueryGenerator(await readDataset(app.database)), SEED, {
      keys: () => hiddenKeys,
      events: () => hiddenEvents,
    })
    sender = startSender(app.database, { NON_DISCLOSURE: 'on' })
  }, 240_000)
  afterAll(async () => {
    await sender?.close()
    await app?.close()
  })

  const rightsOf = (name: (typeof CLASSES)[number]): ReaderRights =>
    name === 'agent'
      ? { audience: 'public', scopes: ['listings:read', 'listings:write'], memberKey: pick(memberKeys) }
      : { audience: name, scopes: ['listings:read'] }

  function tokenOf({ audience, scopes, memberKey }: ReaderRights, feed: string): string {
    const claims = { scope: scopes.join(' '), audience_class: audience, member_key: memberKey, feed }
    return jwt.sign(claims, app.config.jwtSecret as KeyObject, { expiresIn: 3600 }) // the tests have a secret
  }

  /** Adds a random feed and returns a reader of it. Feeds before the last three are removed. */
  async function addReader(): Promise<FeedState> {
    const feed = createRandomFeed(`feed-${++count}`, random, pick)
    const name = CLASSES[count % CLASSES.length] ?? 'public'
    const rights = rightsOf(name)
    const { FeedId } = await feeds.add(feed)
    const { client } = await clientServiceOf(app.database).add({
      Name: `reader ${count}`,
      Scopes: [...rights.scopes],
      AudienceClass: rights.audience,
      FeedName: feed.FeedName,
      ...(rights.memberKey !== undefined && { MemberKey: rights.memberKey }),
    })
    const token = tokenOf(rights, feed.FeedName)
    const reader = new LogReader(app, name, token)
    const isKnown = async () => (await reader.send('/odata/Property/$count')).status
    await expect.poll(isKnown, { timeout: 10_000, interval: 30 }).toBe(200)
    const hiddenFields = hiddenFieldsOf(feed, rights)
    const own = createFeedChannels({ hiddenFields }, () => hiddenKeys)
    const positions = { reader, position: 0, deltaLinks: [], changesToken: '' }
    const webhook: Channel = ({ position }) => readsWebhook(client.ClientId, position, hiddenFields)
    const state = { ...rights, ...positions, feed, feedId: FeedId, hiddenFields, name, token, client: client.ClientId, channels: { ...channels, ...own, webhook } } // biome-ignore format: one object
    await renewState(state, [...TRACKED.slice(0, 5), ...trackedWith(pick([...hiddenFields, 'ListPrice']))])
    return state
  }

  function readsWebhook(client: string, from: number, hiddenFields: readonly string[]): Probe {
    const names = [...hiddenFields.filter(isComparable), 'ListPrice']
    const filter = pick([undefined, "City ne 'Boise'", `${pick(names)} ne null`])
    const values = { client, from, ...(filter !== undefined && { resourceName: 'Property', filter }) }
    return {
      target: `webhook ${JSON.stringify(values)}`,
      read: () => readWebhook(app.database, webhookServiceOf(app.database, { NON_DISCLOSURE: 'on' }), values),
    }
  }

  async function removeReader({ feed, client }: FeedState): Promise<void> {
    await clientServiceOf(app.database).remove(client)
    await feeds.remove(feed.FeedName)
  }

  /** Changes a listing that the reader sees, in a field that no feed uses. Returns its key. */
  async function changeVisibly({ reader }: FeedState): Promise<string | undefined> {
    const rows = rowsOf(await reader.send('/odata/Property?$select=ListingKey&$top=1000'))
    if (rows.length === 0) return undefined
    const key = String(pick(rows)['ListingKey'])
    await select(`update "Property" set "Zoning" = 'Z${random(9999)}' where "ListingKey" = '${key}'`)
    // Every photo that changes changes its listing too, so one is enough.
    const photo = `select min("MediaKey") from "Media" where "ResourceRecordKey" = '${key}'`
    await select(`update "Media" set "ImageOf" = 'I${random(9999)}' where "MediaKey" = (${photo})`)
    return key
  }

  async function readHidden(): Promise<void> {
    const keys = await select<{ key: string }>(`select key from (select "ListingKey" as key from "Property" where "ListingKey" like 'X%' union all (select "MediaKey" from "Media" order by 1 desc limit 9) union all select "ListingKey" from "Property" order by 1 desc limit 30) k`) // biome-ignore format: one statement
    hiddenKeys = [...keys.map(({ key }) => key), 'XL000000001']
    const rows = await select<{ number: string }>(`select distinct "EntityEventSequence" as number from "EntityEvent" order by 1 desc limit 40`) // biome-ignore format: one statement
    hiddenEvents = rows.map(({ number }) => Number(number))
  }

  /** A request of a reader and its response. */
  interface Asked { readonly channel: string; readonly probe: Probe; readonly answer: Answer } // biome-ignore format: one line
  async function ask(state: FeedState, names: readonly string[]): Promise<readonly Asked[]> {
    const asked: Asked[] = []
    for (const channel of names) {
      const probe = state.channels[channel]?.(state, pick) ?? { target: '' }
      asked.push({ channel, probe, answer: await readAnswer(state, probe) })
    }
    return asked
  }
  const chooseNames = ({ channels: all }: FeedState, round: number) => {
    const names = Object.keys(all).filter(name => name !== 'webhook')
    return [...Array.from({ length: PROBES }, () => pick(names)), ...(round % 3 === 0 ? ['webhook'] : [])]
  }

  /** Makes changes that the reader cannot see. Returns their names. */
  async function changeHidden(state: FeedState, other: NewFeed | undefined): Promise<readonly string[]> {
    const made: string[] = []
    const names = changes.namesFor(state)
    for (let tries = 0; tries < 30 && made.length < 3; tries++) {
      const name = pick(names)
      if (await changes.make(name, state)) made.push(name)
    }
    if (other && random(4) === 0) {
      const { FeedName: _, ...values } = createRandomFeed(other.FeedName, random, pick)
      const cleared = { OnlyFields: null, HiddenFields: [], PageSize: null, PageSizeMax: null, ...values }
      await feeds.change(other.FeedName, cleared)
      made.push('another feed')
    }
    return made
  }

  const figures = new Map<string, readonly [pairs: number, withData: number]>()
  const differences: (readonly string[])[] = []
  const made = new Map<string, number>()

  async function runRound(state: FeedState, other: FeedState | undefined, round: number): Promise<number> {
    await changeVisibly(state)
    await readHidden()
    const subscription = round % 3 === 1 ? subscribeAfter(app, state.token, await endOf(state)) : undefined
    const asked = await ask(state, chooseNames(state, round))
    const names = await changeHidden(state, other?.feed)
    for (const name of names) made.set(name, (made.get(name) ?? 0) + 1)
    const context = [names.join(), state.reader.name, JSON.stringify(state.feed)]
    for (const { channel, probe, answer } of asked) {
      const after = await readAnswer(state, probe)
      addFigure(channel, answer.hasData)
      const difference = firstDifference(after.pages, answer.pages)
      if (difference) differences.push([...context, channel, probe.target, JSON.stringify(probe.options ?? {}), ...difference])
    } // biome-ignore format: one difference
    if (subscription) await checkSubscription(subscription, state, context)
    return asked.length + (subscription ? 1 : 0)
  }

  const addFigure = (channel: string, hasData: boolean): void => {
    const [pairs, withData] = figures.get(channel) ?? [0, 0]
    figures.set(channel, [pairs + 1, withData + Number(hasData)])
  }
  async function endOf({ reader }: FeedState): Promise<number> {
    const [last] = rowsOf(await reader.send('/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=1'))
    return Number(last?.['EntityEventSequence'] ?? 0)
  }

  /** Checks that the next change of a subscription is the next one that its reader can see. */
  async function checkSubscription(
    subscription: ReturnType<typeof subscribeAfter>,
    state: FeedState,
    context: readonly string[],
  ): Promise<void> {
    try {
      const [row] = rowsOf(await state.reader.send('/odata/Property?$select=ListingKey&$top=1'))
      addFigure('subscription', row !== undefined)
      if (!row) return
      const key = String(row['ListingKey'])
      const change = () => select(`update "Property" set "Zoning" = 'S' || random() where "ListingKey" = '${key}'`) // biome-ignore format: one statement
      const told = await subscription.readUntil(key, change)
      if (told.length > 1) differences.push([...context, 'subscription', told.join()])
    } finally {
      subscription.close()
    }
  }

  test(`FED-01, FED-04: ${PAIRS} pairs of answers`, { timeout: 180_000 + 1500 * PAIRS }, async () => {
    const readers: FeedState[] = []
    for (let pairs = 0; pairs < PAIRS && differences.length < 3; ) {
      const state = await addReader()
      for (let round = 0; round < ROUNDS_PER_FEED; round++)
        pairs += await runRound(state, readers.at(-1), round)
      readers.push(state)
      const [oldest] = readers.length > 3 ? readers.splice(0, 1) : []
      if (oldest) await removeReader(oldest)
    }
    const total = [...figures.values()].reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0])
    process.stdout.write(
      `${kind}: ${total[0]} pairs, ${total[1]} with data, ${count} feeds, ${differences.length} differences; ${JSON.stringify([...figures])}; hidden changes ${JSON.stringify([...made])}\n`,
    )
    expect({ seed: SEED, differences: differences.slice(0, 3) }).toEqual({ seed: SEED, differences: [] })
    expect(total[1]).toBeGreaterThan(total[0] / 3)
  })
})
