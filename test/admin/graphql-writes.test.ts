import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, type PartnerApp, randomPartOf } from '../support/partners.js'
import { ADDRESS, type AdminClient, LONG, SOON, startAdmin } from './admin-client.js'

type Row = Readonly<Record<string, unknown>>

const CREATE = 'mutation ($input: ClientInput!) { createClient(input: $input) { id etag ClientId Secret } }'
const CHANGE =
  'mutation ($key: String!, $input: ClientInput!, $if: String) { updateClient(ClientId: $key, input: $input, ifMatch: $if) { etag Name Contact Scopes State Secret } }'
const REMOVE =
  'mutation ($key: String!, $if: String) { deleteClient(ClientId: $key, ifMatch: $if) { ClientId } }'
const ROTATE =
  'mutation ($input: ClientSecretInput!) { createClientSecret(input: $input) { SecretId Secret Client { Name } } }'

describe.each(DATABASE_KINDS)('writes at /admin/graphql on the %s database', LONG, kind => {
  let app: PartnerApp
  let admin: AdminClient
  beforeAll(async () => {
    admin = await startAdmin(kind)
    app = admin.app
  }, LONG.timeout)
  afterAll(() => app.close())

  const add = async (values: object = {}) => {
    const { ClientId, Secret, etag } = await admin.run(CREATE, { input: { Name: 'Acme', ...values } })
    return { id: String(ClientId), secret: String(Secret), etag }
  }
  const count = async () => bodyOf(await admin.read('Client?$count=true&$top=0'))['@odata.count']

  test('CLI-01 the secret of a new client is in the response to its creation alone, and works', async () => {
    const values = { Name: 'Acme IDX', Contact: 'it@acme.example', RowsPerDay: 100000, AudienceClass: 'member' }
    const { data, headers } = await admin.query(
      `mutation ($input: ClientInput!) { created: createClient(input: $input) { __typename ClientId s: Secret t: Secret Scopes RowsPerDay ...Rest } }
       fragment Rest on Client { Contact State Secrets { SecretId Secret } }`,
      { input: values },
    )
    const created = data?.['created'] as Row
    const { ClientId: id, s: secret } = created
    expect(created).toMatchObject({ __typename: 'Client', Contact: 'it@acme.example', RowsPerDay: 100000, State: 'Active', Scopes: ['listings:read'], Secrets: [{ Secret: null }] })
    expect(Object.keys(created)).toEqual(['__typename', 'ClientId', 's', 't', 'Scopes', 'RowsPerDay', 'Contact', 'State', 'Secrets'])
    expect(created['t']).toBe(secret)
    expect(headers['cache-control']).toBe('no-store')
    const stored = await admin.run('query ($id: String!) { client(ClientId: $id) { Secret Name Secrets { Secret } } }', { id })
    expect(stored).toEqual({ Secret: null, Name: 'Acme IDX', Secrets: [{ Secret: null }] })
    const Authorization = basic({ id: String(id), secret: String(secret) })
    await expect.poll(async () => (await app.send('/odata/Lookup?$top=1', { headers: { Authorization } })).status, SOON).toBe(200)
    for (const line of admin.logLines) expect(line).not.toContain(randomPartOf(String(secret)))
    expect(admin.logLines.join('\n')).not.toContain('it@acme.example')
    expect((await admin.entriesOf(String(id)))[0]).toMatchObject({ Action: 'client.add', Actor: 'subject ops-7', Address: ADDRESS })
  }) // biome-ignore format: one expectation a line

  test('CLI-01 a creation whose response would lack the secret is refused before anything is written', async () => {
    const before = await count()
    for (const selection of ['id', '__typename', 'Name Secrets { Secret }', 'Name Secret @skip(if: true)'])
      expect(
        await admin.refusal(`mutation { createClient(input: { Name: "Lost" }) { ${selection} } }`, {}),
      ).toEqual(['BAD_USER_INPUT 2011 Secret'])
    expect(await count()).toBe(before)
  })

  test('CLI-05 a client is changed, rotated and removed, with an entry of the audit log for each change', async () => {
    const { id, secret, etag } = await add({ Contact: 'a@acme.example' })
    const changed = await admin.run(CHANGE, { key: id, input: { Contact: null, Scopes: ['listings:read', 'listings:write'] }, if: etag })
    expect(changed).toMatchObject({ Name: 'Acme', Contact: null, Secret: null, Scopes: ['listings:read', 'listings:write'] })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.change', ChangedFields: ['Contact', 'Scopes'], Subject: 'ops-7', Address: ADDRESS })
    expect(await admin.run(CHANGE, { key: id, input: { DisabledYN: true } })).toMatchObject({ State: 'Disabled' })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.disable' })
    await admin.run(CHANGE, { key: id, input: { DisabledYN: false } })
    const rotated = await admin.run(ROTATE, { input: { ClientId: id } })
    expect(rotated).toMatchObject({ Secret: expect.stringContaining(`${rotated['SecretId']}_`), Client: { Name: 'Acme' } })
    expect(await admin.refusal(ROTATE, { input: { ClientId: id } })).toEqual(['CONFLICT 4009'])
    const removal = 'mutation ($id: String!) { deleteClientSecret(SecretId: $id) { __typename id SecretId } }'
    const removed = await admin.run(removal, { id: secret.split('_')[0] })
    expect(removed).toMatchObject({ __typename: 'DeletedClientSecret', SecretId: secret.split('_')[0] })
    expect(await admin.refusal(removal, { id: rotated['SecretId'] })).toEqual(['CONFLICT 4009'])
    expect(await admin.refusal(removal, { id: secret.split('_')[0] })).toEqual(['NOT_FOUND 4004'])
    expect(await admin.refusal(ROTATE, { input: { ClientId: 'nobody' } })).toEqual(['NOT_FOUND 4004'])
    expect(await admin.run(REMOVE, { key: id })).toEqual({ ClientId: id })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Action: 'client.remove', Actor: 'subject ops-7' })
    expect(await admin.refusal(REMOVE, { key: id })).toEqual(['NOT_FOUND 4004'])
    expect(await admin.refusal(CHANGE, { key: id, input: { Name: 'X' } })).toEqual(['NOT_FOUND 4004'])
    const { text } = await admin.read(`AuditEntry?$filter=ResourceKey eq '${id}'`)
    for (const value of [secret, String(rotated['Secret'])]) expect(text).not.toContain(randomPartOf(value))
  }) // biome-ignore format: one expectation a line

  test('CLI-09 ifMatch: of two that change the same version one is refused, and a stale one changes nothing', async () => {
    const { id, etag } = await add()
    const both = await Promise.all(
      ['first', 'second'].map(Contact => admin.query(CHANGE, { key: id, input: { Contact }, if: etag })),
    )
    const codes = both.map(({ errors: [error] }) => error?.extensions.code ?? 'none')
    expect(codes.toSorted()).toEqual(['PRECONDITION_FAILED', 'none'])
    const before = (await admin.read(`Client('${id}')`)).text
    for (const input of [{ Contact: 'x' }, { Name: ' ' }])
      expect(await admin.refusal(CHANGE, { key: id, input, if: etag })).toEqual([
        'PRECONDITION_FAILED 4012 If-Match',
      ])
    expect(await admin.refusal(REMOVE, { key: id, if: etag })).toEqual(['PRECONDITION_FAILED 4012 If-Match'])
    expect(await admin.refusal(CHANGE, { key: id, input: {}, if: 'x' })).toEqual([
      'BAD_USER_INPUT 2011 ifMatch',
    ])
    expect((await admin.read(`Client('${id}')`)).text).toBe(before)
  })

  test('CLI-09 all faults of an input are reported together, as in OData, and nothing is changed', async () => {
    const { id } = await add()
    const before = [(await admin.read(`Client('${id}')`)).text, await count()]
    const refusals: readonly (readonly [input: object, faults: readonly string[]])[] = [
      [{ Name: ' ' }, ['1101 Name']],
      [{ Name: 'n'.repeat(201) }, ['1104 Name']],
      [{ Scopes: ['listings:read', 'root'], AudienceClass: 'guest' }, ['1103 Scopes', '1103 AudienceClass']],
      [{ FeedName: 'no-such-feed' }, ['1107 FeedName']],
      [{ RequestsPerDay: 0, RunningStatements: 0 }, ['1104 RequestsPerDay', '1104 RunningStatements']],
      [{ RowsPerDay: '9007199254740993' }, ['1104 RowsPerDay']],
      [{ ExpirationTimestamp: '2020-01-01T00:00:00Z' }, ['1103 ExpirationTimestamp']],
      [{ PublicKeys: '{"keys":[{"kty":"RSA","d":"secret"}]}' }, ['1103 PublicKeys']],
    ]
    for (const [input, faults] of refusals) {
      expect(await admin.refusal(CHANGE, { key: id, input })).toEqual(faults)
      expect(await admin.refusal(CREATE, { input: { Name: 'New', ...input } })).toEqual(faults)
    }
    expect(await admin.refusal(CREATE, { input: {} })).toEqual(['1101 Name'])
    for (const input of [{ Secret: 'chosen' }, { State: 'Active' }, { Nmae: 'x' }, { ClientId: id }, { Name: 7 }]) {
      const { status, errors } = await admin.query(CREATE, { input: { Name: 'New', ...input } })
      expect([status, errors[0]?.extensions], JSON.stringify(input)).toMatchObject([400, { code: 'BAD_USER_INPUT', target: '$input' }])
    }
    expect([(await admin.read(`Client('${id}')`)).text, await count()]).toEqual(before)
  }) // biome-ignore format: one row a refusal

  test('FED-16 a feed: created, changed, in use, removed; a fault of its filter has a target and a position', async () => {
    const create = 'mutation ($input: FeedInput!) { createFeed(input: $input) { etag FeedName Filter ListingCount ShowsMedia ComputedTimestamp PageSize } }'
    const change = 'mutation ($key: String!, $input: FeedInput!, $if: String) { updateFeed(FeedName: $key, input: $input, ifMatch: $if) { etag Filter ListingCount HiddenFields } }'
    const remove = 'mutation ($if: String) { deleteFeed(FeedName: "idx", ifMatch: $if) { id FeedName } }'
    const created = await admin.run(create, { input: { FeedName: 'idx', Filter: `City eq 'Vail'`, HiddenFields: ['ListPrice'] } })
    const total = bodyOf(await app.send(`/odata/Property?$filter=City eq 'Vail'&$count=true&$top=0`))['@odata.count']
    expect(created).toMatchObject({ FeedName: 'idx', ListingCount: total, ShowsMedia: true, PageSize: null })
    expect(created['ComputedTimestamp']).not.toBeNull()
    expect(await admin.refusal(create, { input: { FeedName: 'idx', Filter: 'true' } })).toEqual(['CONFLICT 4009'])
    const { errors } = await admin.query(change, { key: 'idx', input: { Filter: `City eq 'Vail` } })
    expect(errors[0]).toMatchObject({ path: ['updateFeed'], extensions: { details: [{ code: '1103', target: 'Filter', message: expect.stringContaining('position 9 of the filter') }] } })
    expect(await admin.refusal(change, { key: 'idx', input: { FeedName: 'other' } })).toEqual(['1106 FeedName'])
    expect(await admin.refusal(change, { key: 'idx', input: { ShowsMedia: null } })).toEqual(['1101 ShowsMedia'])
    const changed = await admin.run(change, { key: 'idx', input: { FeedName: 'idx', Filter: 'false' }, if: created['etag'] })
    expect(changed).toMatchObject({ Filter: 'false', ListingCount: 0, HiddenFields: ['ListPrice'] })
    const { id } = await add({ FeedName: 'idx' })
    const { data, errors: conflicts } = await admin.query(remove)
    expect([data, conflicts[0]?.extensions.code, conflicts[0]?.message]).toEqual([{ deleteFeed: null }, 'CONFLICT', expect.stringContaining(id)])
    await admin.run(REMOVE, { key: id })
    expect(await admin.refusal(remove, { if: created['etag'] })).toEqual(['PRECONDITION_FAILED 4012 If-Match'])
    expect(await admin.run(remove, { if: changed['etag'] })).toEqual({ id: Buffer.from('Feed:idx').toString('base64url'), FeedName: 'idx' })
    const entries = rowsOf(await admin.read(`AuditEntry?$filter=ResourceName eq 'Feed'&$orderby=AuditId`))
    expect(entries.map(entry => entry['Action'])).toEqual(['feed.add', 'feed.change', 'feed.remove'])
  }) // biome-ignore format: one expectation a line

  test('several mutations run in order, each in its own transaction; a refused one does not affect the others', async () => {
    const { id } = await add()
    const { data, errors } = await admin.query(`mutation {
      a: updateClient(ClientId: "${id}", input: { Contact: "a" }) { Contact }
      b: updateClient(ClientId: "${id}", input: { Contact: "b", Name: "" }) { Contact }
      c: updateClient(ClientId: "nobody", input: { Contact: "c" }) { Contact }
      d: updateClient(ClientId: "${id}", input: { Contact: "d" }) { Contact }
    }`)
    expect(data).toEqual({ a: { Contact: 'a' }, b: null, c: null, d: { Contact: 'd' } })
    expect(errors.map(({ path, extensions }) => [path, extensions.code])).toEqual([
      [['b'], 'BAD_USER_INPUT'],
      [['c'], 'NOT_FOUND'],
    ])
  })

  test('CLI-09 other scopes write nothing, and /graphql has none of these mutations', async () => {
    const { id } = await add()
    const before = (await admin.read(`Client('${id}')`)).text
    const staff = { Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read', 'listings:write:any'] })}` }
    for (const [query, variables] of [[CHANGE, { key: id, input: { Name: 'X' } }], [REMOVE, { key: id }], [ROTATE, { input: { ClientId: id } }]] as const) {
      expect((await admin.query(query, variables, staff)).status).toBe(403)
      const answer = await app.send('/graphql', { method: 'POST', body: { query, variables }, headers: admin.headers })
      expect(answer.text).toContain('GRAPHQL_VALIDATION_FAILED')
    }
    expect((await admin.read(`Client('${id}')`)).text).toBe(before)
    const operator = await add({ Scopes: ['admin'], Name: 'Operator' })
    const Authorization = basic(operator)
    await expect.poll(async () => (await admin.query('{ __typename }', {}, { Authorization })).status, SOON).toBe(200)
    await admin.query(CHANGE, { key: id, input: { Contact: 'by a client' } }, { Authorization })
    expect((await admin.entriesOf(id))[0]).toMatchObject({ Actor: `client ${operator.id}`, ClientId: operator.id })
  }) // biome-ignore format: one table
})
