import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { FieldRecord } from '../../src/model/field-record.js'
import { ENTITIES } from '../../src/model/model.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'

type CsdlElement = Readonly<Record<string, unknown>>
type CsdlSchema = Readonly<Record<string, Readonly<Record<string, CsdlElement>>>>
interface Page<T> {
  readonly value: readonly T[]
  readonly '@odata.nextLink'?: string
}

describe.each(DATABASE_KINDS)('Field on the %s database', kind => {
  let app: TestApp
  let fields: readonly FieldRecord[]
  let schema: CsdlSchema
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json', env: { MAX_LIST: '5000' } })
    fields = await readAll<FieldRecord>('Field')
    const { json } = await app.send('/odata/$metadata?$format=json')
    schema = (json as Readonly<Record<string, CsdlSchema>>)['org.reso.metadata'] ?? {}
  })
  afterAll(() => app?.close())

  const headersOf = (audience: 'public' | 'member' | 'staff') => ({
    Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read'], audience })}`,
  })

  async function readAll<T>(
    path: string,
    audience: 'public' | 'member' | 'staff' = 'staff',
  ): Promise<readonly T[]> {
    const rows: T[] = []
    for (let next: string | undefined = `/odata/${path}`; next !== undefined; ) {
      const { status, json } = await app.send(next.replace(/^https?:\/\/[^/]+/, ''), {
        headers: headersOf(audience),
      })
      expect(status).toBe(200)
      const page = json as Page<T>
      rows.push(...page.value)
      next = page['@odata.nextLink']
    }
    return rows
  }

  /** The properties of the entity type of a set in $metadata. */
  const declaredFields = (set: string): readonly (readonly [string, CsdlElement])[] => {
    const type = String(schema['Default']?.[set]?.['$Type']).replace('org.reso.metadata.', '')
    return Object.entries(schema[type] ?? {}).filter(([name]) => /^[A-Za-z]/.test(name))
  }
  const entitySets = () =>
    Object.entries(schema['Default'] ?? {})
      .filter(([, e]) => e['$Type'] !== undefined)
      .map(([name]) => name)

  test('FLD-01: a field for each property of $metadata, with its facets', () => {
    const declared = entitySets().flatMap(set =>
      declaredFields(set).map(([name, p]) => ({
        FieldKey: `${set}.${name}`,
        ResourceName: set,
        FieldName: name,
        Type: p['$Type'] ?? 'Edm.String',
        LookupName: p['@RESO.OData.Metadata.LookupName'] ?? null,
        CollectionYN: p['$Collection'] ?? false,
        ExpandableYN: p['$Kind'] === 'NavigationProperty',
        NullableYN: p['$Nullable'] ?? false,
        Length: p['$MaxLength'] ?? null,
        Precision: p['$Precision'] ?? null,
        Scale: p['$Scale'] ?? null,
      })),
    )
    const byKey = (a: { FieldKey: string }, b: { FieldKey: string }) => (a.FieldKey < b.FieldKey ? -1 : 1)
    expect(fields.map(({ FieldKey: key }) => key)).toEqual(
      [...fields].sort(byKey).map(({ FieldKey: key }) => key),
    )
    expect(fields).toMatchObject(declared.sort(byKey))
    expect(fields.length).toBe(declared.length)
  })

  /** A condition on a field that is valid for its type. */
  function conditionOn({ FieldName: name, CollectionYN, Type }: FieldRecord): string {
    if (CollectionYN) return `${name}/any()`
    return Type === 'Edm.GeographyPoint' ? `${name} ne null` : `${name} eq null`
  }

  test('FLD-01: a request succeeds if Field allows it', async () => {
    for (const field of fields.filter(f => !f.ExpandableYN)) {
      const { FieldKey: key, FieldName: name, ResourceName: set } = field
      const queries = [`$filter=${conditionOn(field)}`, `$orderby=${name}`, `$select=${name}`]
      const answers = await Promise.all(
        queries.map(query => app.send(`/odata/${set}?$top=0&${query}`, { headers: headersOf('staff') })),
      )
      const allowed = [field.SearchableYN, field.OrderableYN, field.ReadableYN]
      expect([key, ...answers.map(({ status }) => status)]).toEqual([
        key,
        ...allowed.map(is => (is ? 200 : 400)),
      ])
    }
    const updatable = fields.filter(f => f.UpdatableYN)
    expect([...new Set(updatable.map(f => f.ResourceName))]).toEqual(['Property'])
    const computed = declaredFields('Property')
      .filter(([, p]) => p['@Core.Computed'] === true || p['$Kind'])
      .map(([name]) => name)
    expect(updatable.map(f => f.FieldName)).toEqual(expect.not.arrayContaining(computed))
  }, 120_000)

  test('FLD-01: it reads as any entity set and is never written', async () => {
    const headers = headersOf('public')
    const one = await app.send("/odata/Field('Property.ListPrice')", { headers })
    expect(one.json).toMatchObject({
      DisplayName: 'List Price',
      Type: 'Edm.Decimal',
      Precision: 14,
      Scale: 2,
    })
    const some = await app.send(
      "/odata/Field?$filter=ResourceName eq 'Rooms'&$count=true&$top=1&$select=FieldName",
      { headers },
    )
    expect(some.json).toMatchObject({ '@odata.count': declaredFields('Rooms').length })
    const asText = await app.send('/odata/Field/$count', { headers: headersOf('staff') })
    expect(asText.text).toBe(String(fields.length))
    const query =
      '{ field(FieldKey: "Rooms.RoomKey") { FieldName Definition } fields(filter: { ResourceName: { eq: "Office" } }, first: 500) { totalCount } }'
    const { json } = await app.send('/graphql', { method: 'POST', headers, body: { query } })
    expect(json).toMatchObject({
      data: { field: { FieldName: 'RoomKey' }, fields: { totalCount: declaredFields('Office').length } },
    })
    for (const [method, path] of [
      ['POST', 'Field'],
      ['PATCH', "Field('Rooms.RoomKey')"],
      ['DELETE', "Field('Rooms.RoomKey')"],
    ] as const)
      expect((await app.send(`/odata/${path}`, { method, body: {} })).status).toBe(405)
  })

  test('FLD-01: keys and times are the same after a second start', async () => {
    const before = await readAll<FieldRecord>('Field')
    await app.database.withClient(async client => {
      await client.query(
        `update "Field" set "Definition" = 'outdated' where "FieldKey" = 'Office.OfficeName'`,
      )
      await client.query(`delete from "Field" where "FieldKey" = 'Office.OfficeKey'`)
      await client.query(
        `update "Field" set "FieldKey" = 'Office.Gone' where "FieldKey" = 'Office.OfficeMlsId'`,
      )
    })
    const { migrate } = await import('../../src/data/migrate.js')
    await migrate(app.database)
    const after = await readAll<FieldRecord & { readonly ModificationTimestamp: string }>('Field')
    const withoutTime = (rows: readonly object[]) =>
      rows.map(row => ({ ...row, ModificationTimestamp: undefined }))
    expect(withoutTime(after)).toEqual(withoutTime(before))
    const changed = after
      .filter((row, i) => JSON.stringify(row) !== JSON.stringify(before[i]))
      .map(row => row.FieldKey)
    expect(changed).toEqual(['Office.OfficeKey', 'Office.OfficeMlsId', 'Office.OfficeName'])
  })

  test('a public token does not find the fields that only members read', async () => {
    const hiddenFrom = async (audience: 'public' | 'member') => {
      const seen = new Set((await readAll<FieldRecord>('Field', audience)).map(f => f.FieldKey))
      return fields.map(f => f.FieldKey).filter(key => !seen.has(key))
    }
    const ofReaders = (...access: readonly string[]) =>
      [...ENTITIES.values()]
        .flatMap(e => e.scalars.filter(s => access.includes(s.readableBy)).map(s => `${e.name}.${s.name}`))
        .sort()
    expect(await hiddenFrom('public')).toEqual(ofReaders('member', 'own'))
    // These tokens name no member and no office, so that no listing is their own.
    expect(await hiddenFrom('member')).toEqual(['Property.PrivateRemarks'])
    const agent = { scopes: ['listings:read'], audience: 'member', memberKey: 'M1' } as const
    const own = await app.send("/odata/Field('Property.PrivateRemarks')", {
      headers: { Authorization: `Bearer ${app.tokenFor(agent)}` },
    })
    expect(own.status).toBe(200)
    const found = await app.send("/odata/Field('Property.PrivateRemarks')", { headers: headersOf('public') })
    expect(found.status).toBe(404)
  })

  test('FLD-03: each lookup of a field has values, and each lookup with values has a field', async () => {
    const values = await readAll<{ readonly LookupName: string; readonly LookupValue: string }>(
      'Lookup?$select=LookupName,LookupValue',
    )
    const ofFields = new Set(fields.map(f => f.LookupName).filter(name => name !== null))
    const ofValues = new Set(values.map(v => v.LookupName))
    // Lookups whose values the Data Dictionary leaves to each market have some when the market imports them.
    const ofMarket = [
      'AOR',
      'City',
      'CountyOrParish',
      'ElementarySchool',
      'HighSchool',
      'HighSchoolDistrict',
      'MLSAreaMajor',
      'MiddleOrJuniorSchool',
    ]
    expect([...ofFields].filter(name => !ofValues.has(name)).sort()).toEqual(ofMarket)
    expect([...ofValues].filter(name => !ofFields.has(name))).toEqual([])
    const materials = fields.find(f => f.FieldKey === 'Property.ConstructionMaterials')
    expect(materials).toMatchObject({ CollectionYN: true, LookupName: expect.any(String) })
    expect(fields.find(f => f.FieldKey === 'Property.StandardStatus')).toMatchObject({ CollectionYN: false })
  })

  test('FLD-04: rooms have one name, that of their entity set', async () => {
    const names = new Set(fields.map(f => f.ResourceName))
    expect(names.has('Rooms') && !names.has('PropertyRooms')).toBe(true)
    expect([...names]).toEqual(entitySets().sort())
    const events = await readAll<{ readonly ResourceName: string; readonly ResourceRecordUrl: string }>(
      "EntityEvent?$filter=endswith(ResourceName,'Rooms')&$top=1",
    )
    const [event] = events
    expect(event?.ResourceName).toBe('Rooms')
    const followed = await app.send(String(event?.ResourceRecordUrl).replace(/^https?:\/\/[^/]+/, ''))
    expect(followed.status).toBe(200)
    const readPage = async (set: string) =>
      (await app.send(`/odata/${set}?$top=2&$filter=RoomKey ne null`)).json as Page<object>
    const [own, alias] = [await readPage('Rooms'), await readPage('PropertyRooms')]
    expect(alias.value).toEqual(own.value)
    expect(alias['@odata.nextLink']).toContain('/odata/PropertyRooms?')
  })
})

test('with NON_DISCLOSURE a public token does not find the fields that it withholds', async () => {
  const app = await startTestApp({ env: { NON_DISCLOSURE: 'true' } })
  try {
    const statusOf = async (audience: 'public' | 'member') =>
      (
        await app.send("/odata/Field('Property.ClosePrice')", {
          headers: { Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read'], audience })}` },
        })
      ).status
    expect([await statusOf('public'), await statusOf('member')]).toEqual([404, 200])
  } finally {
    await app.close()
  }
})
