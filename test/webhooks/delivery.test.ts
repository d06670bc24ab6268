import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { clientServiceOf } from '../support/partners.js'
import { type Answer, answering, type Delivery, type Receiver, startReceiver, verify } from './receiver.js'
import {
  addWebhook,
  changeListing,
  deliveriesOf,
  eventsAfter,
  startSender,
  type TestSender,
  type TestWebhook,
  webhookServiceOf,
} from './setting.js'

const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))
const SOON = { timeout: 40_000, interval: 50 }

describe.each(DATABASE_KINDS)(
  'webhooks on the %s database',
  kind => {
    let database: TestDatabase
    let sender: TestSender
    const receivers: Receiver[] = []
    const add = async (
      ...values: Parameters<typeof addWebhook> extends [unknown, ...infer R] ? R : never
    ): Promise<TestWebhook> => {
      const webhook = await addWebhook(database, ...values)
      receivers.push(webhook.receiver)
      return webhook
    }

    beforeAll(async () => {
      database = await openTestDatabase(kind)
      await importFile(database, FIXTURE)
      sender = startSender(database, { WEBHOOK_TIMEOUT_MS: '5000' })
    }, 60_000)
    afterAll(async () => {
      await sender?.close()
      await database?.close()
    })
    afterEach(async () => {
      for (const { WebhookId } of await webhookServiceOf(database).list())
        await webhookServiceOf(database).remove(WebhookId)
      await Promise.all(receivers.splice(0).map(receiver => receiver.close()))
    })

    test('WHK-01, WHK-24, WHK-27, LIM-11: exactly the events above the position, signed, as the list of RCP-028', async () => {
      const { id, secret, webhook, receiver } = await add(
        { resourceName: 'Property', source: 'IDX Feed 123' },
        // No limit delays what is delivered.
        { RequestsPerDay: 1, RowsPerDay: 1 },
      )
      for (const key of ['P01', 'P02', 'P01']) await changeListing(database, key)
      const expected = await eventsAfter(database, webhook.Position)
      expect(expected).toHaveLength(3)
      await expect
        .poll(() => receiver.acknowledged().map(event => event.EntityEventSequence), SOON)
        .toEqual(expected)
      const [delivery] = receiver.deliveries
      if (!delivery) throw new Error('no delivery')
      expect(verify(secret, delivery)).toMatchObject({
        '@reso.context': 'urn:reso:metadata:2.0:resource:entityevent',
        type: 'entityevent',
      })
      expect(Object.keys(delivery.events[0] ?? {})).toEqual([
        'EntityEventSequence',
        'ResourceName',
        'ResourceRecordKey',
      ])
      expect(delivery.headers).toMatchObject({
        'content-type': 'application/json',
        entityeventsource: 'IDX Feed 123',
      })
      await expect
        .poll(async () => (await webhookServiceOf(database).find(id)).Position, SOON)
        .toBeGreaterThanOrEqual(expected.at(-1) ?? 0)
      expect((await deliveriesOf(database, id)).map(row => row.Status)).toContain(204)
    })

    /** Returns the position of a subscription. */
    const positionOf = async (id: string) => (await service().find(id)).Position
    const service = () => webhookServiceOf(database)
    /** Waits until a receiver has accepted the events, and no others. */
    const expectAccepted = async (receiver: Receiver, expected: readonly number[]) =>
      expect
        .poll(() => receiver.acknowledged().map(event => event.EntityEventSequence), SOON)
        .toEqual(expected)

    test('WHK-02, WHK-09, WHK-14: a failed attempt is repeated with the same id and body, and the time of the attempt', async () => {
      const elsewhere = await startReceiver()
      receivers.push(elsewhere)
      const failures: readonly Answer[] = [
      answering(500), answering(404), answering(409), answering(302, { Location: elsewhere.url }), answering(307, { Location: elsewhere.url }),
      (_, res) => void res.destroy(), () => undefined,
    ] // biome-ignore format: one list
      const successes: readonly Answer[] = [
        answering(299),
        (_, res) => {
          res.writeContinue()
          res.writeEarlyHints({ link: '</a>; rel=preload' })
          res.writeHead(202).end('{"error":"no"}')
          return 202
        },
        (_, res) => {
          res.writeHead(200)
          const flood = setInterval(() => res.write('x'.repeat(100_000)), 5)
          res.once('close', () => clearInterval(flood))
          return 200
        },
      ]
      const webhooks: TestWebhook[] = []
      for (const first of [...failures, ...successes]) {
        const webhook = await add({ resourceName: 'Property' })
        webhook.receiver.answer = (delivery, res, i) => (i === 0 ? first : answering(200))(delivery, res, i)
        webhooks.push(webhook)
      }
      await changeListing(database, 'P01')
      for (const [i, { id, secret, receiver, webhook }] of webhooks.entries()) {
        await expectAccepted(receiver, await eventsAfter(database, webhook.Position))
        const [first, second] = receiver.deliveries
        expect(receiver.deliveries).toHaveLength(i < failures.length ? 2 : 1)
        if (!first || !second) continue
        expect([second.id, second.body]).toEqual([first.id, first.body])
        expect(Number(second.headers['webhook-timestamp'])).toBeGreaterThan(
          Number(first.headers['webhook-timestamp']),
        )
        verify(secret, second)
        const [failed] = await deliveriesOf(database, id)
        expect(failed).toMatchObject({
          IsDelivered: false,
          Attempt: 1,
          Reason: expect.stringMatching(REASONS[i] ?? /^$/),
        })
      }
      expect(elsewhere.deliveries).toEqual([])
    })

    test('WHK-10: 410 ends the webhook; taken up again, it continues after the last accepted event', async () => {
      const { id, receiver, webhook } = await add({ resourceName: 'Property' })
      receiver.answer = answering(410)
      await changeListing(database, 'P01')
      await expect.poll(async () => (await service().find(id)).State, SOON).toBe('ended')
      expect(await service().find(id)).toMatchObject({
        StateReason: 'answered 410',
        Position: webhook.Position,
      })
      await changeListing(database, 'P02')
      await new Promise(resolve => setTimeout(resolve, 2500))
      expect(receiver.deliveries).toHaveLength(1)
      receiver.answer = answering(200)
      await service().resume(id)
      await expectAccepted(receiver, await eventsAfter(database, webhook.Position))
    })

    test('429 and Retry-After delay the next attempt by an hour at most; resend does not wait for it', async () => {
      const { id, receiver, webhook } = await add({ resourceName: 'Property' })
      receiver.answer = answering(429, { 'Retry-After': '86400' })
      await changeListing(database, 'P01')
      await expect.poll(async () => (await deliveriesOf(database, id)).length, SOON).toBe(1)
      const { NextAttemptTimestamp, StateTimestamp } = await service().find(id)
      const waitMs = Date.parse(NextAttemptTimestamp ?? '') - Date.parse(StateTimestamp)
      expect(waitMs).toBeGreaterThan(3_600_000)
      expect(waitMs).toBeLessThan(2 * 3_600_000)
      receiver.answer = answering(200)
      await service().resend(id)
      await expectAccepted(receiver, await eventsAfter(database, webhook.Position))
    })

    test('CLI-03: the attempt of a disabled client is aborted, and no other follows; enabled, the webhook continues', async () => {
      const { id, clientId, receiver, webhook } = await add({ resourceName: 'Property' })
      let isClosed = false
      receiver.answer = (_, res) => void res.once('close', () => (isClosed = true))
      await changeListing(database, 'P01')
      await expect.poll(() => receiver.deliveries.length, SOON).toBe(1)
      await clientServiceOf(database).disable(clientId)
      await expect.poll(() => isClosed, { timeout: 5000, interval: 50 }).toBe(true)
      receiver.answer = answering(200)
      await changeListing(database, 'P02')
      await new Promise(resolve => setTimeout(resolve, 2500))
      expect(receiver.deliveries).toHaveLength(1)
      expect(await positionOf(id)).toBe(webhook.Position)
      await clientServiceOf(database).enable(clientId)
      await expectAccepted(receiver, await eventsAfter(database, webhook.Position))
      // Only what was accepted counts, so the first message was sent again, under its id.
      expect(receiver.deliveries[1]?.id).toBe(receiver.deliveries[0]?.id)
    })

    test('WHK-22: each attempt has the current rights, and a different body has a different id', async () => {
      const { clientId, receiver } = await add({ resourceName: 'Property' })
      receiver.answer = answering(500)
      await changeListing(database, 'P01')
      await changeListing(database, 'P02', `"InternetEntireListingDisplayYN" = false`)
      await changeListing(database, 'P02')
      await changeListing(database, 'P03')
      await expect.poll(() => receiver.deliveries.length, SOON).toBeGreaterThan(0)
      const first = receiver.deliveries[0]
      await clientServiceOf(database).change(clientId, { AudienceClass: 'public' })
      await new Promise(resolve => setTimeout(resolve, 3000))
      receiver.answer = answering(200)
      await expect
        .poll(() => receiver.acknowledged().map(event => event.ResourceRecordKey), SOON)
        .toEqual(['P01', 'P02', 'P03'])
      expect(receiver.deliveries.at(-1)?.id).not.toBe(first?.id)
      expect(receiver.maxOpen).toBe(1)
    })

    test('one event is sent of a record that leaves the filter, and one of each record that is outside', async () => {
      const { receiver } = await add({ resourceName: 'Property', filter: "City eq 'Denver'" })
      const send = async (key: string, sql?: string) => {
        await changeListing(database, key, sql)
        await expect.poll(async () => (await service().list()).every(({ Lag }) => Lag === 0), SOON).toBe(true)
        return receiver.acknowledged().map(event => event.ResourceRecordKey)
      }
      expect(await send('P01')).toEqual(['P01'])
      expect(await send('P05')).toEqual(['P01', 'P05'])
      expect(await send('P05')).toEqual(['P01', 'P05'])
      expect(await send('P01', `"City" = 'Boulder'`)).toEqual(['P01', 'P05', 'P01'])
      expect(await send('P01')).toEqual(['P01', 'P05', 'P01'])
      expect(await send('P01', `"City" = 'Denver'`)).toEqual(['P01', 'P05', 'P01', 'P01'])
      await expect(
        add({ resourceName: 'Property', filter: "Media/any(m:m/MediaCategory eq 'Photo')" }),
      ).rejects.toThrow(/related records/)
      await expect(add({ resourceName: 'Property', filter: 'Citty eq 1' })).rejects.toThrow()
    })

    test('WHK-03: during a rotation each message has both signatures, afterwards only the new one', async () => {
      const { id, secret, receiver } = await add({ resourceName: 'Property' })
      const sendAndVerify = async (count: number) => {
        await changeListing(database, 'P01')
        await expect.poll(() => receiver.deliveries.length, SOON).toBe(count)
        return receiver.deliveries[count - 1] as Delivery // as just counted
      }
      const { secret: next } = await service().rotate(id, 24)
      const both = await sendAndVerify(1)
      for (const known of [secret, next]) verify(known, both)
      expect(String(both.headers['webhook-signature']).split(' ')).toHaveLength(2)
      await expect(service().rotate(id, 24)).rejects.toThrow(/already has 2 secrets/)
      await service().endRotation(id)
      const alone = await sendAndVerify(2)
      verify(next, alone)
      expect(() => verify(secret, alone)).toThrow()
    })

    test('WHK-19: a batch that fails for too long stops the webhook until it is sent again or skipped', async () => {
      const webhooks = [await add({ resourceName: 'Property' }), await add({ resourceName: 'Property' })]
      for (const { receiver } of webhooks) receiver.answer = answering(503)
      await changeListing(database, 'P01')
      for (const { id } of webhooks) {
        await expect.poll(async () => (await service().find(id)).FailingSinceTimestamp, SOON).not.toBeNull()
        await database.queryControl({
          text: `update "admin"."Webhook" set "FailingSinceTimestamp" = clock_timestamp() - interval '73 hours', "NextAttemptTimestamp" = null where "WebhookId" = $1`,
          values: [id],
        })
        await expect.poll(async () => (await service().find(id)).State, SOON).toBe('failed')
      }
      await changeListing(database, 'P02')
      const [resent, skipped] = webhooks
      if (!resent || !skipped) throw new Error('two webhooks')
      for (const { receiver } of webhooks) receiver.answer = answering(200)
      await expect(service().resume(resent.id)).rejects.toThrow(/pending batch/)
      await service().resend(resent.id)
      await service().skip(skipped.id)
      const expected = await eventsAfter(database, resent.webhook.Position)
      await expectAccepted(resent.receiver, expected)
      await expectAccepted(skipped.receiver, expected.slice(1))
      expect(resent.receiver.deliveries.at(-2)?.id).toBe(resent.receiver.deliveries[0]?.id)
    })

    test('WHK-30: secrets are shown once; the query of the URL is in no log', async () => {
      const receiver = await startReceiver()
      receivers.push(receiver)
      const { id, secret } = await add({
        resourceName: 'Property',
        url: `${receiver.url}?token=abcdef`,
        token: 'a-bearer-token',
      })
      await changeListing(database, 'P01')
      await expect.poll(() => receiver.deliveries.length, SOON).toBe(1)
      expect(receiver.deliveries[0]?.headers.authorization).toBe('Bearer a-bearer-token')
      const audit = await database.queryControl({ text: 'select * from "admin"."AuditEntry"', values: [] })
      const stored = await database.queryControl({
        text: 'select w.*, s."EncryptedSecret" from "admin"."Webhook" w join "admin"."WebhookSecret" s using ("WebhookId")',
        values: [],
      })
      const shown = JSON.stringify([
        await service().find(id),
        await deliveriesOf(database, id),
        audit,
        stored,
        sender.lines,
      ])
      for (const hidden of [secret, secret.slice('whsec_'.length), 'a-bearer-token'])
        expect(shown).not.toContain(hidden)
      expect(JSON.stringify([audit, sender.lines])).not.toContain('abcdef')
    })

    test('BAK-02: a position of another log stops the webhook until it begins again', async () => {
      const { id, receiver } = await add({ resourceName: 'Property' })
      await database.queryControl({ text: 'truncate "EntityEvent"', values: [] })
      await expect.poll(async () => (await service().find(id)).State, SOON).toBe('lost')
      expect((await service().find(id)).StateReason).toMatch(/belongs to a different change log/)
      await expect(service().resume(id)).rejects.toThrow(/--from now/)
      const { Position } = await service().resume(id, 'now')
      await changeListing(database, 'P01')
      await expectAccepted(receiver, await eventsAfter(database, Position))
      await expect(add({ from: '999999999999999999' })).rejects.toThrow(/ends at/)
    })
  },
  120_000,
)

/** Reasons in the delivery log, in the order of the failures. */
const REASONS = [
  /^answered 500$/,
  /^answered 404$/,
  /^answered 409$/,
  /^answered 302: redirects/,
  /^answered 307: redirects/,
  /hang up|ECONNRESET/,
  /^no answer within 5 s$/,
]
