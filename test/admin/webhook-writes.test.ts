import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maskUrl } from '../../src/domain/webhooks/address.js'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import type { PartnerApp } from '../support/partners.js'
import { answering, type Receiver, startReceiver, verify } from '../webhooks/receiver.js'
import { startSender, type TestSender } from '../webhooks/setting.js'
import { ADDRESS, type AdminClient, faultsOf, LONG, SOON, startAdmin } from './admin-client.js'

describe.each(DATABASE_KINDS)('webhooks at /admin/odata on the %s database', LONG, kind => {
  let app: PartnerApp
  let admin: AdminClient
  let clientId: string
  let receiver: Receiver
  let sender: TestSender
  beforeAll(async () => {
    admin = await startAdmin(kind, { WEBHOOK_PRIVATE_ADDRESSES: 'on' })
    app = admin.app
    clientId = (await app.addClient({ Name: 'Acme' })).id
    receiver = await startReceiver()
    sender = startSender(app.database)
  }, LONG.timeout)
  afterAll(async () => {
    await sender?.close()
    await app?.close()
    await receiver?.close()
  })

  const add = async (values: object = {}) => {
    const answer = await admin.write('POST', 'Webhook', { ClientId: clientId, Url: receiver.url, ...values })
    expect(answer.status, answer.text).toBe(201)
    const { WebhookId, Secret } = bodyOf(answer)
    return { id: String(WebhookId), secret: String(Secret), answer }
  }
  const pathOf = (id: string) => `Webhook('${id}')`
  const change = async (id: string, body: object, status = 200) => {
    const answer = await admin.write('PATCH', pathOf(id), body)
    expect(answer.status, answer.text).toBe(status)
    return bodyOf(answer)
  }
  const entriesOf = async (id: string) => (await admin.entriesOf(id)).toReversed()
  const changeListing = () =>
    app.database.queryControl({
      text: `update "Property" set "ListPrice" = coalesce("ListPrice", 0) + 1 where "ListingKey" = (select min("ListingKey") from "Property")`,
      values: [],
    })

  test('WHK-30 a webhook is made, sends, is read and removed; secrets, tokens and paths are shown nowhere', async () => {
    const url = receiver.url.replace('/hook', '/services/T0PATH?key=K0QUERY')
    const values = { ResourceName: 'Property', Filter: `City ne 'x'`, Source: 'mls' }
    const { id, secret, answer } = await add({ Url: url, ...values, Token: 'B0TOKEN' })
    const shown = {
      ClientId: clientId,
      ...values,
      Url: maskUrl(url),
      Token: '…',
      State: 'Active',
      From: null,
    }
    expect(bodyOf(answer)).toMatchObject({ ...shown, ClientActiveYN: true, Secret: secret, Lag: 0 })
    expect(secret).toMatch(/^whsec_/)
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', etag: 'W/"1"' })
    expect(answer.headers['location']).toBe(`${app.issuer}/admin/odata/${pathOf(id)}`)
    await changeListing()
    await expect.poll(() => receiver.deliveries.length, SOON).toBeGreaterThan(0)
    const [delivery] = receiver.deliveries
    expect(delivery && verify(secret, delivery)).toMatchObject({ type: 'entityevent' })
    expect(delivery?.headers).toMatchObject({ authorization: 'Bearer B0TOKEN', entityeventsource: 'mls' })
    await expect
      .poll(async () => rowsOf(await admin.read(`${pathOf(id)}/Deliveries`)), SOON)
      .toMatchObject([{ DeliveredYN: true, Status: 204, Attempt: 1, Reason: null }])

    const stored = await admin.read(`${pathOf(id)}?$expand=Client($select=Name),Secrets,Deliveries`)
    expect(bodyOf(stored)).toMatchObject({ ...shown, Secret: null, Client: { Name: 'Acme' } })
    expect(bodyOf(stored)['LastDeliveryTimestamp']).not.toBeNull()
    expect(rowsOf(await admin.read(`Client('${clientId}')/Webhooks?$filter=State eq 'Active'`))).toHaveLength(
      1,
    )
    expect((await admin.write('DELETE', pathOf(id))).status).toBe(204)
    expect((await admin.read(pathOf(id))).status).toBe(404)
    const entries = await entriesOf(id)
    expect(entries.map(entry => entry['Action'])).toEqual(['webhook.add', 'webhook.remove'])
    for (const entry of entries)
      expect(entry).toMatchObject({ Actor: 'subject ops-7', Subject: 'ops-7', Address: ADDRESS })
    const texts = [stored.text, JSON.stringify(entries), ...admin.logLines, ...sender.lines].join('\n')
    for (const hidden of ['T0PATH', 'K0QUERY', 'B0TOKEN', secret]) expect(texts).not.toContain(hidden)
  })

  test('a failed batch is sent again, skipped, paused and resumed as by command', async () => {
    const { id, answer } = await add({ ResourceName: 'Property', State: 'Paused' })
    expect(bodyOf(answer)).toMatchObject({ State: 'Paused' })
    receiver.answer = answering(500)
    await change(id, { State: 'Active' })
    await changeListing()
    const pending = async () => bodyOf(await admin.read(pathOf(id)))
    await expect.poll(async () => (await pending())['FailedAttempts'], SOON).toBe(1)
    const { BatchPosition, NextAttemptTimestamp, Position } = await pending()
    expect(NextAttemptTimestamp).not.toBeNull()
    // The next attempt follows immediately, and not after five seconds.
    await change(id, { State: 'Active' })
    await expect
      .poll(async () => (await entriesOf(id)).at(-1), SOON)
      .toMatchObject({ Action: 'webhook.resend' })
    expect(await change(id, { State: 'Paused' })).toMatchObject({ State: 'Paused', BatchPosition, Position })
    expect((await admin.write('PATCH', pathOf(id), { State: 'Paused' })).status).toBe(200)
    await change(id, { From: String(BatchPosition) })
    receiver.answer = answering(204)
    await expect.poll(pending, SOON).toMatchObject({ Position: BatchPosition, BatchPosition: null, Lag: 0 })

    // A batch that was given up is skipped.
    await app.database.queryControl({
      text: `update "admin"."Webhook" set "State" = 'failed', "StateReason" = 'answered 500', "Position" = "Position" - 1, "BatchEvents" = array["Position"], "BatchPosition" = "Position" where "WebhookId" = $1`,
      values: [id],
    })
    expect(await change(id, { State: 'Paused' }, 409)).toMatchObject({ error: { code: '4009' } })
    const failed = await admin.read(pathOf(id))
    const returned = await admin.write('PUT', pathOf(id), bodyOf(failed), {
      'If-Match': failed.headers['etag'] ?? '',
    })
    expect(bodyOf(returned), returned.text).toMatchObject({ State: 'Failed', Url: maskUrl(receiver.url) })
    const before = receiver.deliveries.length
    await change(id, { From: String(bodyOf(failed)['BatchPosition']) })
    await expect
      .poll(pending, SOON)
      .toMatchObject({ State: 'Active', Position: BatchPosition, BatchFirstEvent: null })
    expect(receiver.deliveries).toHaveLength(before)
    const actions = (await entriesOf(id)).map(entry => entry['Action'])
    expect(actions).toEqual([
      'webhook.add', 'webhook.resume', 'webhook.resend', 'webhook.pause', 'webhook.change', 'webhook.resume', 'webhook.change', 'webhook.skip',
    ]) // biome-ignore format: one list

    // A lost position needs a new one.
    await app.database.queryControl({
      text: `update "admin"."Webhook" set "State" = 'lost' where "WebhookId" = $1`,
      values: [id],
    })
    expect(await change(id, { State: 'Active' }, 409)).toMatchObject({
      error: { code: '4009', message: expect.stringContaining('copy all data again') },
    })
    expect(await change(id, { State: 'Active', From: 'now' })).toMatchObject({ State: 'Active', Lag: 0 })
  })

  test('WHK-20 a rotation: a second secret, then the older one is deleted', async () => {
    const { id, secret } = await add({ State: 'Paused' })
    const secretsOf = async () => rowsOf(await admin.read(`${pathOf(id)}/Secrets?$orderby=SecretId`))
    const rotated = await admin.write('POST', 'WebhookSecret', { WebhookId: id, OverlapHours: 48 })
    expect(rotated.status, rotated.text).toBe(201)
    expect(rotated.headers['cache-control']).toBe('no-store')
    const { SecretId, Secret } = bodyOf(rotated)
    expect(Secret).toMatch(/^whsec_/)
    expect(Secret).not.toBe(secret)
    const [old, latest] = await secretsOf()
    expect(latest).toMatchObject({ SecretId, ExpirationTimestamp: null, Secret: null, OverlapHours: null })
    const hours = (Date.parse(String(old?.['ExpirationTimestamp'])) - Date.now()) / 3_600_000
    expect(hours).toBeGreaterThan(47)
    expect((await admin.write('POST', 'WebhookSecret', { WebhookId: id })).status).toBe(409)
    expect((await admin.write('DELETE', `WebhookSecret(${SecretId})`)).status).toBe(409)
    expect((await admin.write('DELETE', `WebhookSecret(${old?.['SecretId']})`)).status).toBe(204)
    expect((await admin.write('DELETE', `WebhookSecret(${old?.['SecretId']})`)).status).toBe(404)
    expect(await secretsOf()).toMatchObject([{ SecretId }])
    const immediate = await admin.write('POST', 'WebhookSecret', { WebhookId: id, OverlapHours: 0 })
    expect(await secretsOf()).toMatchObject([{ SecretId: bodyOf(immediate)['SecretId'] }])
    for (const [body, fault] of [
      [{ WebhookId: id, OverlapHours: -1 }, '1104 OverlapHours'],
      [{ WebhookId: id, OverlapHours: 10_000 }, '1104 OverlapHours'],
      [{}, '1101 WebhookId'],
    ] as const)
      expect(faultsOf((await admin.write('POST', 'WebhookSecret', body)).text)).toEqual([fault])
    expect((await admin.write('POST', 'WebhookSecret', { WebhookId: 'wh-none' })).status).toBe(404)
    expect((await admin.write('PATCH', `WebhookSecret(${SecretId})`, {})).status).toBe(405)
    const actions = (await entriesOf(id)).map(entry => entry['Action'])
    expect(actions).toEqual(['webhook.add', 'webhook.rotate', 'webhook.end-rotation', 'webhook.rotate'])
    expect(JSON.stringify(await entriesOf(id))).not.toContain('whsec_')
  })

  test('WHK-25 all faults are reported together by field, and nothing is changed', async () => {
    const { id } = await add({ ResourceName: 'Property', State: 'Paused' })
    const before = (await admin.read(pathOf(id))).text
    const refusals: readonly (readonly [body: object, faults: readonly string[]])[] = [
      [{ Url: 'ftp://u:p@169.254.169.254/' }, ['1103 Url', '1103 Url', '1103 Url']],
      [{ Url: 'https://other.example/…' }, ['1103 Url']],
      [
        { Url: null, Nmae: 1, Source: 'ä', Token: 'a b' },
        ['1101 Url', '1102 Nmae', '1103 Source', '1103 Token'],
      ],
      [{ From: 'then', State: 'Gone' }, ['1103 From', '1103 State']],
      [{ From: '999999999999' }, ['1103 From']],
      [{ Secret: 'whsec_mine' }, ['1106 Secret']],
    ]
    for (const [body, faults] of refusals) {
      const patched = await admin.write('PATCH', pathOf(id), body)
      expect(patched.status, patched.text).toBe(400)
      expect(faultsOf(patched.text)).toEqual(faults)
      const created = await admin.write('POST', 'Webhook', { ClientId: clientId, Url: receiver.url, ...body })
      expect([created.status, faultsOf(created.text)], created.text).toEqual([400, faults])
    }
    for (const [body, faults] of [
      [
        { ClientId: 'other', ResourceName: null, Filter: 'true' },
        ['1106 ClientId', '1106 ResourceName', '1106 Filter'],
      ],
      [{ State: 'Paused', From: 'now' }, ['1103 From']],
      [{ WebhookId: 'wh-other', Url: 'x' }, ['1103 Url']],
    ] as const)
      expect(faultsOf((await admin.write('PATCH', pathOf(id), body)).text)).toEqual(faults)
    for (const [body, faults] of [
      [{}, ['1101 ClientId', '1101 Url']],
      [
        { ClientId: 'nobody', Url: 'x', ResourceName: 'Nothing' },
        ['1107 ClientId', '1103 Url', '1103 ResourceName'],
      ],
      [{ ClientId: clientId, Url: receiver.url, Filter: 'true' }, ['1103 Filter']],
      [
        { ClientId: clientId, Url: receiver.url, ResourceName: 'Property', Filter: 'Media/any()' },
        ['1103 Filter'],
      ],
      [
        { ClientId: clientId, Url: receiver.url, ResourceName: 'Property', Filter: 'Citty eq 1' },
        ['1103 Filter'],
      ],
    ] as const) {
      const refused = await admin.write('POST', 'Webhook', body)
      expect([refused.status, faultsOf(refused.text)], refused.text).toEqual([400, faults])
    }
    const unparsable = await admin.write('POST', 'Webhook', {
      ClientId: clientId, Url: receiver.url, ResourceName: 'Property', Filter: `City eq 'Vail`,
    }) // biome-ignore format: one body
    expect(unparsable.text).toContain('position 9 of the filter')
    expect((await admin.read(pathOf(id))).text).toBe(before)
  })

  test('If-Match: of two admins one wins, and deliveries keep the version', async () => {
    const { id, answer } = await add()
    const etag = answer.headers['etag'] ?? ''
    await changeListing()
    await expect
      .poll(async () => bodyOf(await admin.read(pathOf(id)))['LastDeliveryTimestamp'], SOON)
      .not.toBeNull()
    expect((await admin.read(pathOf(id))).headers['etag']).toBe(etag)
    const both = await Promise.all(
      ['a', 'b'].map(Source => admin.write('PATCH', pathOf(id), { Source }, { 'If-Match': etag })),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412])
    for (const [method, body] of [
      ['PATCH', { Unknown: 1 }],
      ['DELETE', undefined],
    ] as const)
      expect((await admin.write(method, pathOf(id), body, { 'If-Match': etag })).status).toBe(412)
    const current = (await admin.read(pathOf(id))).headers['etag'] ?? ''
    expect((await admin.write('DELETE', pathOf(id), undefined, { 'If-Match': current })).status).toBe(204)
    expect((await admin.write('PATCH', pathOf(id), { Source: 'x' })).status).toBe(404)
    expect((await admin.write('DELETE', pathOf('wh-none'))).status).toBe(404)
  })

  test('CLI-09 other scopes see and write no webhook, and the delivery log is read-only', async () => {
    const staff = {
      Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read', 'listings:write:any'] })}`,
    }
    for (const set of ['Webhook', 'WebhookSecret', 'WebhookDelivery']) {
      expect((await app.send(`/admin/odata/${set}`, { headers: staff })).status).toBe(403)
      expect((await admin.write('POST', set, {}, staff)).status).toBe(403)
      expect((await app.send(`/odata/${set}`, { headers: admin.headers })).status).toBe(404)
    }
    expect((await admin.write('POST', 'WebhookDelivery', {})).status).toBe(405)
  })

  test('WHK-30 the view masks URLs as the commands do', async () => {
    const urls = ['https://acme.example/', 'https://acme.example/?a=b', 'https://acme.example:8443/x/', 'https://[2606:4700::1111]/h?x=/'] // biome-ignore format: one list
    for (const Url of urls) {
      const { answer } = await add({ Url, State: 'Paused' })
      expect(bodyOf(answer)['Url']).toBe(maskUrl(Url))
    }
  })
})
