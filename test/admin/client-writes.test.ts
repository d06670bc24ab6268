import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, type PartnerApp, randomPartOf } from '../support/partners.js'
import { ADDRESS, type AdminClient, faultsOf, LONG, SOON, startAdmin } from './admin-client.js'

describe.each(DATABASE_KINDS)('writes of clients at /admin/odata on the %s database', LONG, kind => {
  let app: PartnerApp
  let admin: AdminClient
  beforeAll(async () => {
    admin = await startAdmin(kind)
    app = admin.app
  }, LONG.timeout)
  afterAll(() => app.close())

  const add = async (values: object = {}) => {
    const answer = await admin.write('POST', 'Client', { Name: 'Acme', ...values })
    expect(answer.status, answer.text).toBe(201)
    const { ClientId: id, Secret: secret } = bodyOf(answer)
    return { id: String(id), secret: String(secret), answer }
  }

  test('CLI-01 the secret of a new client is only in the response that creates it, and works', async () => {
    const values = {
      Name: 'Acme IDX',
      Contact: 'it@acme.example',
      AudienceClass: 'member',
      RequestsPerMinute: 600,
      RowsPerDay: 100000,
    }
    const { id, secret, answer } = await add(values)
    expect(bodyOf(answer)).toMatchObject({
      ...values,
      Scopes: ['listings:read'],
      State: 'Active',
      DisabledYN: false,
    })
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      etag: expect.stringMatching(/^W\/"\d+"$/),
    })
    expect(answer.headers['location']).toBe(`${app.issuer}/admin/odata/Client('${id}')`)
    const stored = await admin.read(`Client('${id}')?$expand=Secrets`)
    expect(bodyOf(stored)).toMatchObject({ ...values, Secret: null, Secrets: [{ Secret: null }] })
    expect(stored.headers['etag']).toBe(answer.headers['etag'])
    await expect
      .poll(
        async () =>
          (await app.send('/odata/Lookup?$top=1', { headers: { Authorization: basic({ id, secret }) } }))
            .status,
        SOON,
      )
      .toBe(200)
    const minimal = await admin.write(
      'POST',
      'Client?$select=Name,Secret',
      { Name: 'Second' },
      { Prefer: 'return=minimal' },
    )
    expect(minimal.status).toBe(201)
    expect(bodyOf(minimal)).toMatchObject({ Name: 'Second', Secret: expect.stringContaining('_') })
    const count = bodyOf(await admin.read('Client?$count=true&$top=0'))['@odata.count']
    const without = await admin.write('POST', 'Client?$select=Name', { Name: 'Third' })
    expect(bodyOf(without)).toMatchObject({ error: { code: '2011', target: '$select' } })
    expect(bodyOf(await admin.read('Client?$count=true&$top=0'))['@odata.count']).toBe(count)
    for (const line of admin.logLines) expect(line).not.toContain(randomPartOf(secret))
    expect(admin.logLines.join('\n')).not.toContain('it@acme.example')
  })

  test('CLI-09 each change is in the audit log: who, from where, before and after, no secrets', async () => {
    const { id, secret } = await add({ Contact: 'a@acme.example' })
    const created = (await admin.entriesOf(id))[0]
    expect(created).toMatchObject({
      Action: 'client.add',
      Actor: 'subject ops-7',
      Subject: 'ops-7',
      ClientId: null,
      Address: ADDRESS,
    })
    const changed = await admin.write('PATCH', `Client('${id}')`, {
      Contact: 'b@acme.example',
      Scopes: ['listings:read', 'listings:write'],
    })
    expect(changed.status, changed.text).toBe(200)
    expect(bodyOf(changed)).toMatchObject({ Contact: 'b@acme.example', Secret: null })
    const entry = (await admin.entriesOf(id))[0]
    expect(entry).toMatchObject({
      Action: 'client.change',
      ChangedFields: ['Contact', 'Scopes'],
      Address: ADDRESS,
    })
    expect(JSON.parse(String(entry?.['Before']))).toEqual({
      Contact: 'a@acme.example',
      Scopes: ['listings:read'],
    })
    expect((await admin.write('PATCH', `Client('${id}')`, { DisabledYN: true })).json).toMatchObject({
      State: 'Disabled',
    })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.disable' })
    await admin.write('PATCH', `Client('${id}')`, { DisabledYN: false })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.enable' })
    expect((await admin.write('DELETE', `Client('${id}')`)).status).toBe(204)
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.remove', Subject: 'ops-7' })
    expect((await admin.read(`Client('${id}')`)).status).toBe(404)
    expect((await admin.write('DELETE', `Client('${id}')`)).status).toBe(404)
    expect((await admin.write('PATCH', `Client('${id}')`, { Name: 'X' })).status).toBe(404)
    const entries = (await admin.read(`AuditEntry?$filter=ResourceKey eq '${id}'`)).text
    expect(entries).not.toContain(randomPartOf(secret))
    expect(entries).not.toMatch(/scrypt/)
  })

  test('CLI-05 a rotation: a second secret, then the older one is deleted', async () => {
    const { id, secret } = await add()
    const [oldId] = secret.split('_')
    const rotated = await admin.write('POST', 'ClientSecret', { ClientId: id })
    expect(rotated.status, rotated.text).toBe(201)
    const { SecretId: newId, Secret: newSecret } = bodyOf(rotated)
    expect(newSecret).toContain(`${newId}_`)
    const third = await admin.write('POST', 'ClientSecret', { ClientId: id })
    expect(bodyOf(third)).toMatchObject({
      error: { code: '4009', message: expect.stringContaining('2 secrets') },
    })
    expect(third.status).toBe(409)
    expect((await admin.write('PATCH', `ClientSecret('${newId}')`, { Secret: 'x' })).status).toBe(405)
    expect((await admin.write('DELETE', `ClientSecret('${oldId}')`)).status).toBe(204)
    const rest = rowsOf(await admin.read(`Client('${id}')/Secrets`)).map(row => row['SecretId'])
    expect(rest).toEqual([newId])
    const last = await admin.write('DELETE', `ClientSecret('${newId}')`)
    expect(last.status, last.text).toBe(409)
    expect((await admin.write('DELETE', `ClientSecret('${oldId}')`)).status).toBe(404)
    const unknown = await admin.write('POST', 'ClientSecret', { ClientId: 'nobody' })
    expect(unknown.status, unknown.text).toBe(404)
    const statusOf = async (text: string) => {
      const headers = { Authorization: basic({ id, secret: text }) }
      return (await app.send('/odata/Lookup?$top=1', { headers })).status
    }
    await expect.poll(() => statusOf(String(newSecret)), SOON).toBe(200)
    // The service may have read the secrets between the two changes.
    await expect.poll(() => statusOf(secret), SOON).toBe(401)
  })

  test('CLI-09 If-Match: a stale version is 412, and of two admins one wins', async () => {
    const { id, answer } = await add()
    const stale = answer.headers['etag'] ?? ''
    const both = await Promise.all(
      ['first', 'second'].map(Contact =>
        admin.write('PATCH', `Client('${id}')`, { Contact }, { 'If-Match': stale }),
      ),
    )
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 412])
    for (const [method, body] of [
      ['PATCH', { Contact: 'x' }],
      ['PATCH', { Unknown: 1 }],
      ['DELETE', undefined],
    ] as const) {
      const refused = await admin.write(method, `Client('${id}')`, body, { 'If-Match': stale })
      expect(refused.status, refused.text).toBe(412)
    }
    const current = (await admin.read(`Client('${id}')`)).headers['etag'] ?? ''
    expect(
      (await admin.write('PATCH', `Client('${id}')`, { Contact: null }, { 'If-Match': current })).status,
    ).toBe(200)
    expect((await admin.write('PATCH', `Client('${id}')`, { Contact: 'no condition' })).status).toBe(200)
  })

  test('CLI-09 all faults of a body are reported together, and nothing is changed', async () => {
    const { id } = await add()
    const before = (await admin.read(`Client('${id}')`)).text
    const refusals: readonly (readonly [body: object, faults: readonly string[]])[] = [
      [{ Nmae: 'x' }, ['1102 Nmae']],
      [{ Name: 7, Contact: ['x'], Scopes: 'listings:read' }, ['1103 Name', '1103 Contact', '1103 Scopes']],
      [{ Name: ' ' }, ['1101 Name']],
      [{ Name: 'n'.repeat(201) }, ['1104 Name']],
      [{ Secret: 'chosen' }, ['1106 Secret']],
      [{ Usage: [] }, ['1106 Usage']],
      [{ Scopes: ['listings:read', 'root'], AudienceClass: 'guest' }, ['1103 Scopes', '1103 AudienceClass']],
      [{ FeedName: 'no-such-feed' }, ['1107 FeedName']],
      [{ RequestsPerDay: 0, RowsPerDay: -1 }, ['1104 RowsPerDay', '1104 RequestsPerDay']],
      [{ RequestsPerDay: 0, RunningStatements: 0 }, ['1104 RequestsPerDay', '1104 RunningStatements']],
      [{ ExpirationTimestamp: '2020-01-01T00:00:00Z' }, ['1103 ExpirationTimestamp']],
      [{ PublicKeys: '{"keys":[{"kty":"RSA","d":"secret"}]}' }, ['1103 PublicKeys']],
    ]
    for (const [body, faults] of refusals) {
      const patched = await admin.write('PATCH', `Client('${id}')`, body)
      expect(patched.status, patched.text).toBe(400)
      expect(faultsOf(patched.text)).toEqual(faults)
      expect((await admin.write('POST', 'Client', { Name: 'New', ...body })).status).toBe(400)
    }
    expect((await admin.write('POST', 'Client', {})).text).toContain('1101')
    expect(
      (
        await app.send('/admin/odata/Client', {
          method: 'POST',
          rawBody: '{',
          headers: { ...admin.headers, 'Content-Type': 'application/json' },
        })
      ).status,
    ).toBe(400)
    expect((await admin.read(`Client('${id}')`)).text).toBe(before)
    // Fields that the service sets are ignored, so that a record can be sent back as it was read.
    const record = bodyOf(await admin.read(`Client('${id}')`))
    const returned = await admin.write('PUT', `Client('${id}')`, { ...record, Contact: 'put' })
    expect(returned.status, returned.text).toBe(200)
    expect(bodyOf(returned)).toMatchObject({
      Contact: 'put',
      Scopes: ['listings:read'],
      AudienceClass: 'public',
    })
  })

  test('CLI-09 other scopes cannot write at /admin, and a group of a batch cannot contain its changes', async () => {
    const { id } = await add()
    const staff = {
      Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read', 'listings:write:any'] })}`,
    }
    for (const [method, path] of [
      ['POST', 'Client'],
      ['PATCH', `Client('${id}')`],
      ['DELETE', `Client('${id}')`],
      ['POST', 'ClientSecret'],
    ] as const)
      expect(
        (await admin.write(method, path, { Name: 'x', ClientId: id }, staff)).status,
        `${method} ${path}`,
      ).toBe(403)
    for (const path of ['Client', `Client('${id}')`, 'ClientSecret'])
      expect((await app.send(`/odata/${path}`, { method: 'DELETE', headers: admin.headers })).status).toBe(
        404,
      )
    for (const set of ['ClientUsage', 'AuditEntry'])
      expect((await admin.write('POST', set, {})).status).toBe(405)
    const request = {
      id: '1',
      method: 'PATCH',
      url: `Client('${id}')`,
      body: { Contact: 'batch' },
      headers: { 'Content-Type': 'application/json' },
    }
    const single = await admin.write('POST', '$batch', { requests: [request] })
    expect(bodyOf(single)).toMatchObject({ responses: [{ status: 200 }] })
    const group = await admin.write('POST', '$batch', { requests: [{ ...request, atomicityGroup: 'g' }] })
    expect(bodyOf(group)).toMatchObject({ responses: [{ status: 501 }] })
  })

  test('CLI-06 narrowing at /admin acts on the next requests of the client', async () => {
    const { id, secret } = await add({ Scopes: ['listings:read'] })
    const statusOf = async () =>
      (await app.send('/odata/Lookup?$top=1', { headers: { Authorization: basic({ id, secret }) } })).status
    await expect.poll(statusOf, SOON).toBe(200)
    await admin.write('PATCH', `Client('${id}')`, { Scopes: [] })
    await expect.poll(statusOf, SOON).toBe(403)
    await admin.write('PATCH', `Client('${id}')`, { Scopes: ['listings:read'], DisabledYN: true })
    await expect.poll(statusOf, SOON).toBe(401)
  })

  test('$metadata and OpenAPI declare which sets can be written', async () => {
    const paths = bodyOf(await admin.read('openapi.json'))['paths'] as Readonly<Record<string, object>>
    expect(Object.keys(paths["/Client('{ClientId}')"] ?? {})).toEqual(
      expect.arrayContaining(['get', 'patch', 'put', 'delete']),
    )
    expect(Object.keys(paths["/ClientSecret('{SecretId}')"] ?? {})).not.toContain('patch')
    expect(Object.keys(paths['/AuditEntry'] ?? {})).toEqual(['get'])
    const options = await admin.write('OPTIONS', "ClientSecret('x')")
    expect(options.headers['allow']).toBe('GET, HEAD, DELETE, OPTIONS')
  })
})
