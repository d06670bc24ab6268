import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pruneAudit } from '../../src/data/changes/prune.js'
import { bodyOf, type Row, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createDrafts, DRAFT } from '../support/drafts.js'
import { basic, type PartnerApp, startPartnerApp } from '../support/partners.js'

const ADDRESS = '203.0.113.7'
const WRITER = { Scopes: ['listings:read', 'listings:write:any'], AudienceClass: 'staff' } as const

/** Columns that the audit log leaves out. */
const UNAUDITED = [
  'RecordVersion', 'LastEventSequence', 'ModificationTimestamp', 'Document', 'GeoLocation', 'ChangedByMemberKey',
] // biome-ignore format: one list
/** A value that no draft has, as SQL, by the type of the column. Other types: x. */
const VALUE_OF: Readonly<Record<string, string>> = {
  numeric: '7', integer: '7', bigint: '7', boolean: 'true', date: `'2026-02-03'`, 'text[]': `'{x}'`, 'timestamp with time zone': `'2026-02-03T04:05:06Z'`,
} // biome-ignore format: one list

/** Number of entries in the test of retention, more than one batch. */
const OLD_ENTRIES = 2500

describe.each(DATABASE_KINDS)('the audit log of the market on the %s database', kind => {
  let app: PartnerApp
  let admin: Readonly<Record<string, string>>
  beforeAll(async () => {
    app = await startPartnerApp({ kind, fixture: 'fixture.json' })
    admin = { Authorization: `Bearer ${app.tokenFor({ scopes: ['admin'] })}` }
  })
  afterAll(() => app.close())

  /** The entries of a record, oldest first. */
  async function entriesOf(key: string, resource = 'Property'): Promise<readonly Row[]> {
    const filter = `ResourceName eq '${resource}' and ResourceKey eq '${key}'`
    return rowsOf(
      await app.send(`/admin/odata/AuditEntry?$filter=${filter}&$orderby=AuditId`, { headers: admin }),
    )
  }
  const valuesOf = (entry: Row | undefined, side: 'Before' | 'After'): unknown =>
    JSON.parse(String(entry?.[side]))
  const patch = (key: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
    app.send(`/odata/Property('${key}')`, { method: 'PATCH', body, headers })
  const newDraft = async () => {
    const [key = ''] = await createDrafts(app, 'Audit', [{ ListPrice: 100000 }])
    return key
  }

  test('OBS-08 an OData write has author, address, and changed fields before and after', async () => {
    const client = await app.addClient({ Name: 'Writer', ...WRITER })
    const key = await newDraft()
    const headers = { Authorization: basic(client), 'X-Forwarded-For': `198.51.100.1, ${ADDRESS}` }
    const answer = await patch(key, { ListPrice: 120000, ChangedByMemberKey: 'M1', Roof: ['Metal'] }, headers)
    expect(answer.status, answer.text).toBe(200)
    const [created, changed, ...others] = await entriesOf(key)
    expect(others).toEqual([])
    expect(created).toMatchObject({ Action: 'property.create', Actor: 'token', Before: null })
    expect(valuesOf(created, 'After')).toMatchObject({ ListingKey: key, City: 'Audit', ListPrice: 100000 })
    expect(changed).toMatchObject({
      Action: 'property.update',
      Actor: `client ${client.id}`,
      ClientId: client.id,
      Subject: client.id,
      ChangedByMemberKey: 'M1',
      Address: ADDRESS,
    })
    expect(changed?.['ChangedFields']).toEqual(expect.arrayContaining(['ListPrice', 'Roof']))
    expect(valuesOf(changed, 'Before')).toMatchObject({ ListPrice: 100000, Roof: [] })
    expect(valuesOf(changed, 'After')).toMatchObject({ ListPrice: 120000, Roof: ['Metal'] })
    expect(Object.keys(valuesOf(changed, 'After') as object)).not.toContain('City')
  })

  test('OBS-08 GraphQL, a deletion and the records that it deletes', async () => {
    const key = await newDraft()
    const token = app.tokenFor({ subject: 'u-17' })
    const query = `mutation { updateProperty(ListingKey: "${key}", input: { City: "Vail", ChangedByMemberKey: "M1" }) { City } }`
    const answer = await app.send('/graphql', {
      method: 'POST',
      body: { query },
      headers: { Authorization: `Bearer ${token}` },
    })
    expect(bodyOf(answer)['errors']).toBeUndefined()
    await app.send(`/odata/Property('${key}')`, { method: 'DELETE' })
    const [, changed, removed] = await entriesOf(key)
    expect(changed).toMatchObject({ Actor: 'subject u-17', Subject: 'u-17', ClientId: null })
    expect(valuesOf(changed, 'Before')).toEqual({ City: 'Audit' })
    expect(valuesOf(changed, 'After')).toEqual({ City: 'Vail' })
    expect(removed).toMatchObject({ Action: 'property.delete', After: null })
    expect(valuesOf(removed, 'Before')).toMatchObject({ ListingKey: key, City: 'Vail' })
  })

  test('OBS-08 refused and rolled back writes leave no entry', async () => {
    const key = await newDraft()
    expect((await patch(key, { ListPrice: -1, ChangedByMemberKey: 'M1' })).status).toBe(400)
    expect((await patch(key, { City: 'X', ChangedByMemberKey: 'M1' }, { 'If-Match': 'W/"0"' })).status).toBe(
      412,
    )
    const group = (id: string, body: unknown) => ({
      id, atomicityGroup: 'g', method: 'PATCH', url: `Property('${key}')`, body, headers: { 'Content-Type': 'application/json' },
    }) // biome-ignore format: one request
    const requests = [
      group('1', { City: 'Y', ChangedByMemberKey: 'M1' }),
      group('2', { ListPrice: -1, ChangedByMemberKey: 'M1' }),
    ]
    await app.send('/odata/$batch', { method: 'POST', body: { requests } })
    expect(await entriesOf(key)).toHaveLength(1)
    await app.send('/odata/$batch', { method: 'POST', body: { requests: requests.slice(0, 1) } })
    expect((await entriesOf(key)).map(entry => entry['Action'])).toEqual([
      'property.create',
      'property.update',
    ])
  })

  test('OBS-08 SQL of other programs is logged with the database user and its application', async () => {
    const keys = await createDrafts(app, 'Bulk', [{}, {}])
    const sql = (text: string) => app.database.withClient(client => client.query(text))
    await sql(
      `begin; set local application_name = 'psql'; update "Property" set "City" = 'Bulk 2' where "City" = 'Bulk'; commit`,
    )
    await sql(`begin; update "Property" set "City" = 'Bulk 3' where "City" = 'Bulk 2'; rollback`)
    for (const key of keys) {
      const [, changed, ...others] = await entriesOf(key)
      expect(others).toEqual([])
      expect(changed?.['Actor']).toMatch(/^database user \S+, application psql$/)
      expect(changed).toMatchObject({ ChangedByMemberKey: null, ClientId: null, Before: '{"City": "Bulk"}' })
    }
    await sql(`update "Member" set "MemberLastName" = 'Renamed' where "MemberKey" = 'M1'`)
    expect((await entriesOf('M1', 'Member')).map(entry => entry['Action'])).toEqual(['member.update'])
  })

  test('OBS-08 each column of a listing that changes, and no other', async () => {
    const key = await newDraft()
    const run = (text: string, values: readonly unknown[] = []) =>
      app.database.withClient(client => client.query<Row>(text, values.length > 0 ? [...values] : undefined))
    const { rows: columns } = await run(
      `select attname::text as name, format_type(atttypid, null) as type from pg_attribute where attrelid = '"Property"'::regclass and attnum > 0 and not attisdropped
         and attname <> all ($1) order by attnum`,
      [[...UNAUDITED, 'ListingKey']],
    )
    const changesOf = (set: string) => `update "Property" set ${set} where "ListingKey" = '${key}'`
    const updates = columns.map(({ name, type }) =>
      changesOf(`"${String(name)}" = ${VALUE_OF[String(type)] ?? "'x'"}`),
    )
    await run(updates.join(';'))
    const entries = async () =>
      (
        await run('select * from "admin"."AuditEntryResource" where "ResourceKey" = $1 order by "AuditId"', [
          key,
        ])
      ).rows
    const [, ...changes] = await entries()
    expect(changes.map(entry => entry['ChangedFields'])).toEqual(columns.map(({ name }) => [name]))
    await run(changesOf(`"Roof" = '{}', "View" = '{y}'`))
    await run(changesOf(`"Roof" = '{}'`))
    const [changed, unchanged] = (await entries()).slice(-2)
    expect([valuesOf(changed, 'Before'), valuesOf(changed, 'After')]).toEqual([
      { Roof: ['x'], View: ['x'] },
      { Roof: [], View: ['y'] },
    ])
    expect([valuesOf(unchanged, 'Before'), valuesOf(unchanged, 'After')]).toEqual([{}, {}])
  })

  test('OBS-08 an import has one entry for each entity and transaction', async () => {
    const filter = `endswith(Action,'.import') and ResourceName eq 'Property'`
    const entries = rowsOf(await app.send(`/admin/odata/AuditEntry?$filter=${filter}`, { headers: admin }))
    const created = entries.flatMap(
      entry => (valuesOf(entry, 'After') as { Created: readonly string[] }).Created,
    )
    const { rows } = await app.database.withClient(client =>
      client.query<{ readonly key: string }>(
        `select "ListingKey" as key from "Property" where "ListingKey" not in (select "ResourceKey" from "admin"."AuditEntry" where "Action" = 'property.create')`,
      ),
    )
    expect(created.toSorted()).toEqual(rows.map(({ key }) => key).toSorted())
    expect(created).toContain('P01')
  })

  test('OBS-08 a write whose entry fails is rolled back', async () => {
    const key = await newDraft()
    await app.database.withClient(client =>
      client.query(
        `alter table "admin"."AuditEntry" add constraint refused check ("Before" is null) not valid`,
      ),
    )
    const answer = await patch(key, { City: 'Unaudited', ChangedByMemberKey: 'M1' })
    await app.database.withClient(client =>
      client.query(`alter table "admin"."AuditEntry" drop constraint refused`),
    )
    expect(answer.status).toBeGreaterThanOrEqual(400)
    expect(bodyOf(await app.send(`/odata/Property('${key}')`))['City']).toBe('Audit')
  })

  test('OBS-10 retention drops old entries in batches, but no recent ones', async () => {
    const key = await newDraft()
    await app.database.withClient(client =>
      client.query(
        `insert into "admin"."AuditEntry" ("AuditId", "EntryTimestamp", "Actor", "Action", "ResourceName", "ResourceKey") overriding system value
         select -n, clock_timestamp() - interval '31 days', 'old', 'property.update', 'Property', 'old' from generate_series(1, ${OLD_ENTRIES}) n`,
      ),
    )
    expect(await pruneAudit(app.database, 32)).toBe(0)
    expect(await pruneAudit(app.database, 30)).toBe(OLD_ENTRIES)
    expect(await pruneAudit(app.database, 30)).toBe(0)
    expect(await entriesOf(key)).toHaveLength(1)
  })

  test('OBS-10 entries cannot be written by clients, and remain after their record is deleted', async () => {
    const key = await newDraft()
    const [entry] = await entriesOf(key)
    await app.send(`/odata/Property('${key}')`, { method: 'DELETE' })
    const path = `/admin/odata/AuditEntry(${String(entry?.['AuditId'])})`
    for (const grant of [['admin'], ['admin', 'listings:write:any', 'listings:write', 'listings:read']]) {
      const headers = { Authorization: `Bearer ${app.tokenFor({ scopes: grant })}` }
      for (const method of ['PATCH', 'PUT', 'DELETE'])
        expect((await app.send(path, { method, body: { Actor: 'x' }, headers })).status).toBe(405)
      expect(
        (await app.send('/admin/odata/AuditEntry', { method: 'POST', body: DRAFT, headers })).status,
      ).toBe(405)
    }
    expect((await app.send(path, { headers: admin })).json).toMatchObject(entry ?? {})
  })
})
