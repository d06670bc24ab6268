import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maskUrl } from '../../src/domain/webhooks/address.js'
import { rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import type { PartnerApp } from '../support/partners.js'
import { type AdminClient, LONG, startAdmin } from './admin-client.js'

/** Nothing is sent to it: no sender runs in this test. */
const RECEIVER = 'http://127.0.0.1:9'

const CREATE =
  'mutation ($input: WebhookInput!) { createWebhook(input: $input) { WebhookId etag Url Token State From Secret Client { Name } } }'
const CHANGE =
  'mutation ($key: String!, $input: WebhookInput!, $if: String) { updateWebhook(WebhookId: $key, input: $input, ifMatch: $if) { etag State Url Source Token From Secret } }'
const REMOVE =
  'mutation ($key: String!, $if: String) { deleteWebhook(WebhookId: $key, ifMatch: $if) { WebhookId } }'
const ROTATE =
  'mutation ($input: WebhookSecretInput!) { createWebhookSecret(input: $input) { SecretId Secret OverlapHours } }'
const REMOVE_SECRET = 'mutation ($id: Long!) { deleteWebhookSecret(SecretId: $id) { id SecretId } }'

describe.each(DATABASE_KINDS)('webhooks at /admin/graphql on the %s database', LONG, kind => {
  let app: PartnerApp
  let admin: AdminClient
  let clientId: string
  beforeAll(async () => {
    admin = await startAdmin(kind, { WEBHOOK_PRIVATE_ADDRESSES: 'on' })
    app = admin.app
    clientId = (await app.addClient({ Name: 'Acme' })).id
  }, LONG.timeout)
  afterAll(() => app.close())

  test('WHK-30 a webhook is made, read, changed, rotated and removed; no query shows secret, token or path', async () => {
    const url = `${RECEIVER}/services/T0PATH?key=K0QUERY`
    const input = { ClientId: clientId, Url: url, ResourceName: 'Property', Filter: `City ne 'x'`, Token: 'B0TOKEN' }
    const created = await admin.run(CREATE, { input })
    const { WebhookId: key, Secret: secret, etag } = created
    expect(created).toMatchObject({ Url: maskUrl(url), Token: '…', State: 'Active', From: null, Client: { Name: 'Acme' } })
    expect(secret).toMatch(/^whsec_/)
    const paused = await admin.run(CHANGE, { key, input: { State: 'Paused', Source: 'mls' }, if: etag })
    expect(paused).toMatchObject({ State: 'Paused', Source: 'mls', Token: '…', Secret: null })
    expect(await admin.refusal(CHANGE, { key, input: { Source: 'y' }, if: etag })).toEqual(['PRECONDITION_FAILED 4012 If-Match'])
    expect(await admin.refusal(CHANGE, { key, input: { Filter: 'true' } })).toEqual(['1106 Filter'])
    const rotated = await admin.run(ROTATE, { input: { WebhookId: key, OverlapHours: 48 } })
    expect(rotated).toMatchObject({ SecretId: expect.any(Number), Secret: expect.stringMatching(/^whsec_/), OverlapHours: null })
    const everything = `query ($key: String!) {
      webhook(WebhookId: $key) { Url Token Secret Lag Secrets(orderBy: [{ SecretId: ASC }]) { SecretId Secret ExpirationTimestamp } Deliveries { DeliveryId } }
      webhooks(filter: { Client: { Name: { eq: "Acme" } } }) { totalCount nodes { Secret Token Url } }
      webhookSecrets { nodes { Secret } }
      webhookDeliveries { totalCount }
      clients(where: "Webhooks/any(w:w/State eq 'Paused')") { nodes { ClientId Webhooks { Url } } }
      auditEntries(filter: { ResourceName: { eq: "Webhook" } }) { nodes { Before After } }
    }`
    const { data, text } = await admin.query(everything, { key })
    const { webhook } = data as { webhook: { Secrets: readonly { SecretId: number }[] } }
    expect(data).toMatchObject({ webhooks: { totalCount: 1 }, webhookDeliveries: { totalCount: 0 }, clients: { nodes: [{ ClientId: clientId }] } })
    for (const hidden of ['T0PATH', 'K0QUERY', 'B0TOKEN', String(secret), String(rotated['Secret'])]) expect(text).not.toContain(hidden)
    const [older] = webhook.Secrets
    expect(older?.SecretId).toBeLessThan(Number(rotated['SecretId']))
    expect(await admin.run(REMOVE_SECRET, { id: older?.SecretId })).toMatchObject({ SecretId: older?.SecretId })
    expect(await admin.refusal(REMOVE_SECRET, { id: rotated['SecretId'] })).toEqual(['CONFLICT 4009'])
    expect(await admin.run(REMOVE, { key })).toEqual({ WebhookId: key })
    expect(await admin.refusal(REMOVE, { key })).toEqual(['NOT_FOUND 4004'])
    const path = `/admin/odata/AuditEntry?$filter=ResourceKey eq '${key}'&$orderby=AuditId`
    const entries = rowsOf(await app.send(path, { headers: admin.headers }))
    expect(entries.map(entry => entry['Action'])).toEqual(expect.arrayContaining(['webhook.add', 'webhook.remove']))
    for (const entry of entries) expect(entry).toMatchObject({ Actor: 'subject ops-7' })
  }) // biome-ignore format: one expectation a line

  test('all faults of an input are reported together, and a creation without Secret is refused', async () => {
    const count = async () => (await admin.run('{ webhooks { totalCount } }'))['totalCount']
    const before = await count()
    const input = { ClientId: 'nobody', Url: 'ftp://acme.example', State: 'Ended' }
    const faults = await admin.refusal(CREATE, { input })
    expect(faults.length).toBeGreaterThan(1)
    for (const fault of faults) expect(fault).toMatch(/^11\d\d (ClientId|Url|State)$/)
    expect(await admin.refusal(CREATE, { input: {} })).toEqual(expect.arrayContaining(['1101 ClientId', '1101 Url']))
    const lost = CREATE.replace(' Secret ', ' ')
    expect(await admin.refusal(lost, { input: { ClientId: clientId, Url: RECEIVER } })).toEqual(['BAD_USER_INPUT 2011 Secret'])
    expect(await count()).toBe(before)
  }) // biome-ignore format: one expectation a line
})
