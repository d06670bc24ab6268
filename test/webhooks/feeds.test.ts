import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { cleanDeliveryLog } from '../../src/data/webhooks/delivery-log.js'
import { sendTestMessage } from '../../src/service/webhooks/test-message.js'
import { feedServiceOf } from '../feeds/market.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { clientServiceOf } from '../support/partners.js'
import { answering, type Receiver, verify } from './receiver.js'
import {
  addWebhook,
  changeListing,
  configOf,
  deliveriesOf,
  startSender,
  type TestSender,
  type TestWebhook,
  webhookServiceOf,
} from './setting.js'

const SOON = { timeout: 40_000, interval: 50 }
const LISTINGS = `insert into "Property" ("ListingKey", "StandardStatus", "City", "ListPrice") values
  ('A', 'Active', 'Vail', 1234567), ('B', 'Active', 'Reno', 7654321), ('C', 'Incomplete', 'Vail', 1)`
const PHOTO = `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") values ('PA', 'Property', 'A', 'Photo')`

describe.each(DATABASE_KINDS)(
  'webhooks of feeds on the %s database',
  kind => {
    let database: TestDatabase
    let sender: TestSender
    const receivers: Receiver[] = []
    const feeds = () => feedServiceOf(database)
    const service = () => webhookServiceOf(database)
    const run = (text: string) => database.queryControl({ text, values: [] })
    let count = 0

    /** Adds a webhook of a client with a new feed. */
    async function addToFeed(filter: string, hidden: readonly string[] = []) {
      const feed = `feed-${++count}`
      await feeds().add({ FeedName: feed, Filter: filter, HiddenFields: hidden })
      const webhook = await addWebhook(database, {}, { AudienceClass: 'public', FeedName: feed })
      receivers.push(webhook.receiver)
      return { ...webhook, feed }
    }
    const acceptedBy = ({ receiver }: TestWebhook) =>
      receiver.acknowledged().map(event => `${event.ResourceName} ${event.ResourceRecordKey}`)
    const stateOf = async (id: string) => (await service().find(id)).State

    beforeAll(async () => {
      database = await openTestDatabase(kind)
      for (const statement of [LISTINGS, PHOTO]) await run(statement)
      sender = startSender(database)
    }, 60_000)
    afterAll(async () => {
      await sender?.close()
      await database?.close()
    })
    afterEach(async () => {
      for (const { WebhookId } of await service().list()) await service().remove(WebhookId)
      await Promise.all(receivers.splice(0).map(receiver => receiver.close()))
    })

    test('FED-11: listings that enter and leave the feed are sent with their photos, others are not, and no field', async () => {
      const webhook = await addToFeed("City eq 'Vail'", ['ListPrice'])
      await changeListing(database, 'B')
      await changeListing(database, 'C')
      await changeListing(database, 'A', `"City" = 'Aspen'`)
      await changeListing(database, 'A')
      await changeListing(database, 'A', `"City" = 'Vail', "ListPrice" = 1234567`)
      const expected = ['Media PA', 'Property A', 'Property A', 'Media PA']
      await expect.poll(() => acceptedBy(webhook), SOON).toEqual(expected)
      for (const { body } of webhook.receiver.deliveries)
        for (const hidden of ['1234567', 'Aspen', 'Vail', '"B"', '"C"']) expect(body).not.toContain(hidden)
    })

    test('WHK-22: if the feed of the client changes between two attempts, the new body has a new id', async () => {
      const narrow = await addToFeed("City eq 'Vail'")
      const webhook = await addToFeed("City eq 'Vail' or City eq 'Reno'")
      webhook.receiver.answer = answering(500)
      await service().pause(webhook.id)
      for (const key of ['B', 'A']) await changeListing(database, key)
      await service().resume(webhook.id)
      await expect.poll(() => webhook.receiver.deliveries.at(-1)?.events.length, SOON).toBe(2)
      await clientServiceOf(database).change(webhook.clientId, { FeedName: narrow.feed })
      const eventsOfNextAttempt = async () => {
        await service().resend(webhook.id)
        return webhook.receiver.deliveries.at(-1)?.events.length
      }
      await expect.poll(eventsOfNextAttempt, { ...SOON, interval: 500 }).toBe(1)
      webhook.receiver.answer = answering(204)
      await service().resend(webhook.id)
      // A message that is being sent while a command runs can come twice.
      await expect.poll(() => [...new Set(acceptedBy(webhook))], SOON).toEqual(['Property A'])
      const ids = new Map(webhook.receiver.deliveries.map(({ id, body }) => [id, body]))
      expect(ids.size).toBeGreaterThan(1)
      for (const { id, body } of webhook.receiver.deliveries) expect(ids.get(id)).toBe(body)
    })

    test('a change of the fields of the feed stops its webhooks until they begin again', async () => {
      const webhook = await addToFeed("City eq 'Vail'")
      const other = await addToFeed("City eq 'Vail'")
      await feeds().change(webhook.feed, { HiddenFields: ['ListPrice'] })
      await expect.poll(() => stateOf(webhook.id), SOON).toBe('lost')
      expect((await service().find(webhook.id)).StateReason).toMatch(/fields of the feed/)
      await expect(service().resume(webhook.id)).rejects.toThrow(/--from now/)
      const before = String(webhook.webhook.Position)
      await expect(service().resume(webhook.id, before)).rejects.toThrow(/--from now/)
      await service().resume(webhook.id, 'now')
      await changeListing(database, 'A')
      await expect.poll(() => acceptedBy(webhook), SOON).toEqual(['Property A'])
      expect(await stateOf(other.id)).toBe('active')
    })

    test('FED-14: a feed without media sends no event of photos', async () => {
      const webhook = await addToFeed('true')
      await feeds().change(webhook.feed, { ShowsMedia: false })
      await expect.poll(() => stateOf(webhook.id), SOON).toBe('lost')
      await service().resume(webhook.id, 'now')
      await run(`update "Media" set "ShortDescription" = 'pool' where "MediaKey" = 'PA'`)
      await expect.poll(() => acceptedBy(webhook), SOON).toEqual(['Property A'])
    })

    test('a position before the pruned events stops the webhook', async () => {
      const webhook = await addToFeed('true')
      await clientServiceOf(database).disable(webhook.clientId)
      await changeListing(database, 'A')
      await changeListing(database, 'A')
      await run(`update "ChangeLog" set "Floor" = (select max("EntityEventSequence") from "EntityEvent")`)
      await clientServiceOf(database).enable(webhook.clientId)
      await expect.poll(() => stateOf(webhook.id), SOON).toBe('lost')
      expect((await service().find(webhook.id)).StateReason).toMatch(/have been dropped/)
      expect(webhook.receiver.deliveries).toEqual([])
    })

    test('WHK-27: a test message is signed, has no events, and changes no position', async () => {
      const webhook = await addToFeed("City eq 'Vail'")
      const config = configOf()
      const dependencies = {
        database,
        encryptionKey: config.webhookEncryption,
        settings: { allowsPrivate: true, timeoutMs: 5000 },
      }
      await service().pause(webhook.id)
      const before = await service().find(webhook.id)
      const result = await sendTestMessage(dependencies, webhook.id)
      expect(result).toMatchObject({ isDelivered: true, status: 204, reason: undefined })
      const [delivery] = webhook.receiver.deliveries
      expect(delivery && verify(webhook.secret, delivery)).toMatchObject({ type: 'test', value: [] })
      expect(delivery?.id).toBe(result.messageId)
      expect(await service().find(webhook.id)).toEqual(before)
      expect(await deliveriesOf(database, webhook.id)).toEqual([])
      webhook.receiver.answer = answering(302, { Location: 'http://127.0.0.1:1/' })
      expect(await sendTestMessage(dependencies, webhook.id)).toMatchObject({
        isDelivered: false,
        reason: expect.stringMatching(/redirects are not followed/),
      })
      const noPrivate = { ...dependencies, settings: { ...dependencies.settings, allowsPrivate: false } }
      expect((await sendTestMessage(noPrivate, webhook.id)).reason).toMatch(/private address/)
      await clientServiceOf(database).disable(webhook.clientId)
      await expect(sendTestMessage(dependencies, webhook.id)).rejects.toThrow(/may not receive/)
      await expect(sendTestMessage(dependencies, 'wh-none')).rejects.toThrow(/no webhook/)
      await service().remove(webhook.id)
      await expect(sendTestMessage(dependencies, webhook.id)).rejects.toThrow(/was removed/)
    })

    // The embedded database has the clock of its process.
    test.runIf(kind === 'server')('WHK-29: a wrong clock of the process changes neither signatures nor the schedule', async () => {
      const webhook = await addToFeed("City eq 'Vail'")
      webhook.receiver.answer = (delivery, res, i) => answering(i === 0 ? 500 : 204)(delivery, res, i)
      const now = Date.now()
      const isDelivered = () => acceptedBy(webhook).length > 0
      try {
        vi.useFakeTimers({ toFake: ['Date'], now: now + 3_600_000 })
        await changeListing(database, 'A')
        await expect.poll(() => webhook.receiver.deliveries.length, SOON).toBe(1)
        vi.setSystemTime(now - 3_600_000)
        await expect.poll(isDelivered, SOON).toBe(true)
      } finally {
        vi.useRealTimers()
      }
      for (const delivery of webhook.receiver.deliveries) verify(webhook.secret, delivery)
      const attempts = await deliveriesOf(database, webhook.id)
      const [first = 0, second = 0] = attempts.map(row => Date.parse(row.AttemptTimestamp))
      expect(second - first).toBeGreaterThan(3000)
      expect(second - first).toBeLessThan(60_000)
    }) // biome-ignore format: one test

    test('old rows of the delivery log are deleted, and those beyond 10,000 of one webhook', async () => {
      const [old, busy] = [await addToFeed('true'), await addToFeed('true')]
      const insert = (id: string, rows: number, age: string) =>
        database.withClient(async client => {
          // Without the foreign key: its checks would wait for the sender, which locks the row of the webhook.
          await client.query('set session_replication_role = replica')
          await client.query(
            `insert into "admin"."WebhookDelivery" ("WebhookId", "AttemptTimestamp", "MessageId", "FirstEvent", "LastEvent", "Events", "Attempt", "IsDelivered", "DurationMs")
              select '${id}', now() - interval '${age}', 'm' || n, n, n, 1, 1, true, 1 from generate_series(1, ${rows}) n`,
          )
          await client.query('reset session_replication_role')
        })
      await insert(old.id, 3, '31 days')
      await insert(old.id, 2, '29 days')
      await insert(busy.id, 10_005, '1 day')
      await cleanDeliveryLog(database.reader, 30)
      const rows = await database.queryControl({
        text: `select "WebhookId" as id, count(*)::int as rows, min("FirstEvent")::int as first from "admin"."WebhookDelivery" where "WebhookId" = any($1::text[]) group by 1 order by 2`,
        values: [[old.id, busy.id]],
      })
      expect(rows).toEqual([
        { id: old.id, rows: 2, first: 1 },
        { id: busy.id, rows: 10_000, first: 6 },
      ])
    })
  },
  120_000,
)
