import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { type PartnerApp, randomPartOf, startPartnerApp, type TestClient } from '../support/partners.js'

const ADMIN_SETS = ['AuditEntry', 'Client', 'ClientSecret', 'ClientUsage', 'Feed', 'Webhook', 'WebhookDelivery', 'WebhookSecret'] // biome-ignore format: one list

describe.each(DATABASE_KINDS)('administration at /admin on the %s database', kind => {
  let app: PartnerApp
  let client: TestClient
  let admin: Readonly<Record<string, string>>
  let staff: Readonly<Record<string, string>>
  beforeAll(async () => {
    app = await startPartnerApp({ kind, fixture: 'fixture.json' })
    client = await app.addClient({ Name: 'Acme IDX', Contact: 'it@acme.example' })
    admin = { Authorization: `Bearer ${app.tokenFor({ scopes: ['admin'] })}` }
    staff = { Authorization: `Bearer ${app.tokenFor()}` }
  }, 180_000)
  afterAll(() => app.close())

  const read = (path: string, headers = admin) => app.send(`/admin/odata/${path}`, { headers })

  test('CLI-09 the service document and $metadata have only the entities of administration', async () => {
    const sets = rowsOf(await read('')).map(({ name }) => name)
    expect(sets.toSorted()).toEqual(ADMIN_SETS)
    const metadata = (await read('$metadata')).text
    expect([...metadata.matchAll(/<EntityType Name="(\w+)"/g)].map(([, name]) => name).toSorted()).toEqual(
      ADMIN_SETS,
    )
    expect(metadata).not.toContain('Digest')
    const json = bodyOf(await read('$metadata?$format=json'))['org.reso.metadata']
    expect(json).toHaveProperty('Client')
    expect(json).not.toHaveProperty('Property')
    const openapi = bodyOf(await read('openapi.json'))
    expect(openapi).toMatchObject({ servers: [{ url: `${app.issuer}/admin/odata` }] })
    expect(Object.keys(openapi['paths'] as object)).toContain('/Client')
    const listings = rowsOf(await app.send('/odata/', { headers: staff })).map(({ name }) => name)
    expect(listings.filter(name => ADMIN_SETS.includes(String(name)))).toEqual([])
    for (const path of ['/odata/$metadata', '/odata/openapi.json', '/graphql/schema.graphql'])
      expect((await app.send(path, { headers: staff })).text).not.toMatch(/AuditEntry|ClientUsage/)
  })

  test('clients are read by the same query language: filter, order, expand, count, pages', async () => {
    const filter = `contains(Name,'Acme') and Scopes/any(s:s eq 'listings:read') and State eq 'Active'`
    const answer = await read(`Client?$filter=${filter}&$expand=Secrets&$count=true&$orderby=Name desc`)
    expect(bodyOf(answer)['@odata.count']).toBe(1)
    const [row] = rowsOf(answer)
    expect(row).toMatchObject({
      ClientId: client.id,
      Name: 'Acme IDX',
      Contact: 'it@acme.example',
      Scopes: ['listings:read'],
      AudienceClass: 'staff',
      DisabledYN: false,
      Secret: null,
      Secrets: [{ ClientId: client.id, SecretId: client.secret.split('_')[0], Secret: null }],
    })
    expect(bodyOf(await read(`Client('${client.id}')/Name`))['value']).toBe('Acme IDX')
    await app.addClient({ Name: 'Second' })
    const first = await read('Client?$top=1&$orderby=CreationTimestamp&$select=Name')
    const grouped = await read('Client?$apply=groupby((State),aggregate($count as N))')
    expect(rowsOf(first)).toMatchObject([{ Name: 'Acme IDX' }])
    expect(rowsOf(grouped)).toMatchObject([{ State: 'Active', N: 2 }])
    expect((await read('Client?$format=csv&$select=ClientId,Name')).text).toContain(`${client.id},Acme IDX`)
  })

  test('usage can be read at /admin, also through the navigation from a client', async () => {
    await app.database.withClient(connection =>
      connection.query(
        `insert into "admin"."ClientUsage" ("ClientId", "Day", "Requests", "LastUsedTimestamp") values ($1, '2026-01-02', 7, now())`,
        [client.id],
      ),
    )
    const path = `Client('${client.id}')/Usage?$filter=Day eq 2026-01-02&$select=ClientUsageKey,Requests`
    expect(rowsOf(await read(path))).toMatchObject([
      { ClientUsageKey: `${client.id}:2026-01-02`, Requests: 7 },
    ])
    const one = await read(`ClientUsage('${client.id}:2026-01-02')?$expand=Client($select=Name)`)
    expect(bodyOf(one)).toMatchObject({ Day: '2026-01-02', Client: { Name: 'Acme IDX' } })
  })

  test('CLI-09 the scope admin does not allow reading listings, and other scopes allow nothing at /admin', async () => {
    for (const path of ['Property', `Property('P01')`, 'Member', 'EntityEvent', 'Lookup'])
      expect((await app.send(`/odata/${path}`, { headers: admin })).status).toBe(403)
    for (const path of [
      '',
      '$metadata',
      'openapi.json',
      'Client',
      `Client('${client.id}')`,
      'AuditEntry',
      'Client/$count',
    ])
      expect((await read(path, staff)).status, path).toBe(403)
    expect((await app.send('/admin/odata/', { headers: { Authorization: null } as never })).status).toBe(401)
    for (const set of ADMIN_SETS)
      expect((await app.send(`/odata/${set}`, { headers: staff })).status, set).toBe(404)
  })

  test('CLI-09 a batch checks the scope of each request, and paths and $root stay within the service', async () => {
    const batch = (requests: readonly object[]) =>
      app.send('/admin/odata/$batch', { method: 'POST', body: { requests }, headers: admin })
    const answer = await batch([
      { id: '1', method: 'GET', url: 'Client?$select=Name' },
      { id: '2', method: 'GET', url: 'Client', headers: staff },
    ])
    const statuses = (bodyOf(answer)['responses'] as readonly { status: number }[]).map(r => r.status)
    expect(statuses).toEqual([200, 403])
    for (const path of [
      'Property',
      'Digest(ResourceName=@r)?@r=%27Property%27',
      `$entity?$id=Property('P01')`,
    ])
      expect((await read(path)).status, path).toBe(404)
    expect((await read(`Client?$filter=$root/Member('M1')/MemberLastName eq 'X'`)).status).toBe(404)
    expect(
      (await read(`Client?$apply=groupby((Name))/filter($root/Member('M1')/MemberLastName eq 'X')`)).status,
    ).toBeGreaterThanOrEqual(400)
  })

  test('CLI-01 no secret and no hash can be read, filtered, sorted or searched', async () => {
    const texts = await Promise.all(
      ['Client?$expand=Secrets,Usage', 'ClientSecret', 'AuditEntry', '$metadata', 'openapi.json'].map(
        async path => (await read(path)).text,
      ),
    )
    const secret = randomPartOf(client.secret)
    expect(secret.length).toBeGreaterThan(20)
    for (const text of texts) {
      expect(text).not.toContain(secret)
      expect(text).not.toMatch(/scrypt|Hash/)
    }
    for (const query of ['$filter=startswith(Hash,%27a%27)', '$orderby=Hash', '$select=Hash'])
      for (const set of ['Client', 'ClientSecret']) expect((await read(`${set}?${query}`)).status).toBe(400)
    expect((await read(`Client?$filter=Secret ne null`)).json).toMatchObject({ value: [] })
  })
})
