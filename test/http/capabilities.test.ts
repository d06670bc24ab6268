import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'

type Annotations = Readonly<Record<string, Readonly<Record<string, unknown>> & readonly string[]>>

/** Responses to unsupported requests. */
const REFUSED = [400, 404, 405, 501]

describe.each(DATABASE_KINDS)('the capabilities of $metadata on the %s database', kind => {
  let app: TestApp
  let container: Readonly<Record<string, Annotations>> & Annotations
  let schema: Readonly<Record<string, Readonly<Record<string, { readonly $Kind?: string }>>>>
  let sets: readonly string[]
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
    const { json } = await app.send('/odata/$metadata?$format=json')
    schema = (json as { readonly 'org.reso.metadata': typeof schema })['org.reso.metadata']
    container = schema['Default'] as unknown as typeof container
    sets = Object.keys(container).filter(name => /^[A-Z]/.test(name) && container[name]?.['$Collection'])
  })
  afterAll(() => app?.close())

  const claim = (set: string, term: string, member: string) =>
    container[set]?.[`@Capabilities.${term}`]?.[member]
  const listClaim = (set: string, term: string, member: string) =>
    (claim(set, term, member) ?? []) as readonly string[]
  const statusOf = async (path: string, method = 'GET') =>
    (await app.send(`/odata/${path}`, { method, ...(method !== 'GET' && { body: {} }) })).status
  const fieldsOf = (set: string) =>
    Object.entries(schema[String(container[set]?.['$Type']).replace('org.reso.metadata.', '')] ?? {})

  test('each set has capabilities', () => {
    expect(sets).toEqual([
      'Property',
      'Member',
      'Office',
      'Media',
      'Rooms',
      'OpenHouse',
      'Lookup',
      'Field',
      'EntityEvent',
    ])
  })

  test('FLD-05: paging, counting and searching', async () => {
    for (const set of sets) {
      expect(container[set]).toMatchObject({
        '@Capabilities.TopSupported': true,
        '@Capabilities.SkipSupported': true,
      })
      const page = await app.send(`/odata/${set}?$top=1&$skip=1&$count=true`)
      expect([set, page.status, page.json]).toMatchObject([set, 200, { '@odata.count': expect.any(Number) }])
      expect(claim(set, 'CountRestrictions', 'Countable')).toBe(true)
      const searched = await statusOf(`${set}?$search=home`)
      expect([set, searched === 200]).toEqual([set, claim(set, 'SearchRestrictions', 'Searchable')])
    }
  })

  test('filtering and sorting', async () => {
    for (const set of sets) {
      const unsortable = listClaim(set, 'SortRestrictions', 'NonSortableProperties')
      const unfilterable = listClaim(set, 'FilterRestrictions', 'NonFilterableProperties')
      expect(claim(set, 'FilterRestrictions', 'Filterable')).toBe(true)
      expect(claim(set, 'SortRestrictions', 'Sortable')).toBe(true)
      for (const name of unsortable)
        expect([name, await statusOf(`${set}?$orderby=${name}`)]).toEqual([name, 400])
      for (const name of unfilterable)
        expect([name, await statusOf(`${set}?$filter=${name} ne null`)]).toEqual([name, 400])
      const [first] = fieldsOf(set).filter(([name]) => /^[A-Z]/.test(name) && !unsortable.includes(name))
      expect(await statusOf(`${set}?$orderby=${first?.[0]}&$filter=${first?.[0]} ne null`)).toBe(200)
    }
  })

  test('expanding', async () => {
    for (const set of sets) {
      const navigations = fieldsOf(set).filter(
        ([, { $Kind: fieldKind }]) => fieldKind === 'NavigationProperty',
      )
      expect(claim(set, 'ExpandRestrictions', 'Expandable')).toBe(navigations.length > 0)
      for (const [name] of navigations) expect(await statusOf(`${set}?$top=1&$expand=${name}`)).toBe(200)
    }
  })

  test('writing', async () => {
    for (const set of sets) {
      const isWritable = set === 'Property'
      const inserted = await statusOf(set, 'POST')
      const updated = await statusOf(`${set}('0')`, 'PATCH')
      const deleted = await statusOf(`${set}('0')`, 'DELETE')
      expect([inserted, updated, deleted]).toEqual(isWritable ? [400, 404, 404] : [405, 405, 405])
      expect(claim(set, 'InsertRestrictions', 'Insertable')).toBe(isWritable)
      expect(claim(set, 'UpdateRestrictions', 'Updatable')).toBe(isWritable)
      expect(claim(set, 'UpdateRestrictions', 'Upsertable')).toBe(false)
      expect(claim(set, 'DeleteRestrictions', 'Deletable')).toBe(isWritable)
    }
  })

  test('formats', async () => {
    const formats = container['@Capabilities.SupportedFormats'] ?? []
    expect(formats).toEqual(['application/json', 'application/x-ndjson', 'text/csv'])
    for (const format of formats) {
      const { status, headers } = await app.send('/odata/Office?$top=1', { headers: { Accept: format } })
      expect([status, headers['content-type']]).toEqual([200, expect.stringContaining(format)])
    }
    const other = await app.send('/odata/Office?$top=1', { headers: { Accept: 'application/atom+xml' } })
    expect(other.status).toBe(406)
  })

  test('requests that the container declares as unsupported are refused', async () => {
    const refused = ['Property/$all', '$crossjoin(Property,Media)', "Property('P01')/$each"]
    for (const path of refused) expect([path, REFUSED.includes(await statusOf(path))]).toEqual([path, true])
    expect(container['@Capabilities.CrossJoinSupported']).toBe(false)
  })
})
