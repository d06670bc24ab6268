import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENTITIES, getEntity, type Scalar } from '../../../src/model/model.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf, type Row, rowsOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'

// odata.metadata=full (OData JSON 4.01, 3.1.2 and 4.6): every record with its type, id and links, every value
// with its type unless JSON implies it.

const FULL = 'application/json;odata.metadata=full'
const PROPERTY = getEntity('Property')

const typeOf = ({ type, collection }: Scalar) => (collection ? `Collection(${type})` : type)
const typesOf = (name: string) =>
  Object.fromEntries(
    getEntity(name)
      .scalars.filter(s => s.readableBy !== 'nobody' && !['String', 'Boolean'].includes(typeOf(s)))
      .map(s => [`${s.name}@odata.type`, typeOf(s)]),
  )

describe.each(DATABASE_KINDS)('odata.metadata=full on the %s database', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json' })
    // The fixture has none.
    await app.database.prisma.office.create({ data: { OfficeKey: 'O 1' } })
    await app.database.prisma.openHouse.create({ data: { OpenHouseKey: 'H+1', ListingKey: 'P01' } })
  })
  afterAll(() => app?.close())

  const get = async (target: string, headers: Readonly<Record<string, string>> = {}) => {
    const answer = await app.send(target.startsWith('http') ? target : `/odata/${target}`, {
      headers: { Accept: FULL, ...headers },
    })
    expect([target, answer.status], answer.text.slice(0, 300)).toEqual([target, 200])
    return answer
  }
  const record = async (target: string, headers?: Readonly<Record<string, string>>): Promise<Row> =>
    bodyOf(await get(target, headers))
  const withoutContext = ({ '@odata.context': _, ...rest }: Row) => rest
  const annotationsOf = (row: Row, suffix: string) =>
    Object.fromEntries(Object.entries(row).filter(([name]) => name.endsWith(suffix) && name !== suffix))

  test('the Content-Type has the metadata level', async () => {
    expect((await get('Property?$top=1')).headers['content-type']).toBe(FULL)
    expect(
      (await get('Property?$top=1&$format=application/json;odata.metadata=full')).headers['content-type'],
    ).toBe(FULL)
  })

  test.each([...ENTITIES.keys()])(
    'each record of %s has its type, its id and the types of its values',
    async name => {
      const { typeName, writable } = getEntity(name)
      const rows = rowsOf(await get(`${name}?$top=5`))
      expect(rows.length).toBeGreaterThan(0)
      for (const row of rows) {
        expect(row['@odata.type']).toBe(`#org.reso.metadata.${typeName}`)
        expect(row['@odata.editLink']).toBe(writable ? row['@odata.id'] : undefined)
        expect(annotationsOf(row, '@odata.type')).toEqual(typesOf(name))
        expect(withoutContext(await record(String(row['@odata.id'])))).toEqual(row)
      }
    },
  )

  test('each navigation has links, which lead to its records and their references', async () => {
    const row = await record("Property('P01')")
    const id = `${app.base}/odata/Property(%27P01%27)`
    expect(decodeURIComponent(String(row['@odata.id']))).toBe(decodeURIComponent(id))
    for (const { name } of PROPERTY.navigations) {
      expect(row[`${name}@odata.navigationLink`]).toBe(`${row['@odata.id']}/${name}`)
      expect(row[`${name}@odata.associationLink`]).toBe(`${row['@odata.id']}/${name}/$ref`)
      for (const link of ['navigationLink', 'associationLink']) {
        const { status } = await app.send(String(row[`${name}@odata.${link}`]))
        expect([name, link, [200, 204].includes(status)]).toEqual([name, link, true])
      }
    }
  })

  test('with $select only the links that are selected or expanded', async () => {
    const linksOf = async (options: string) =>
      Object.keys(annotationsOf(await record(`Property('P01')?${options}`), '@odata.navigationLink'))
    expect(await linksOf('$select=City')).toEqual([])
    expect(await linksOf('$select=City,Media')).toEqual(['Media@odata.navigationLink'])
    expect(await linksOf('$select=City&$expand=Rooms')).toEqual(['Rooms@odata.navigationLink'])
    expect(await linksOf('$select=City&$expand=*')).toHaveLength(PROPERTY.navigations.length)
    expect(await linksOf('$expand=Rooms')).toHaveLength(PROPERTY.navigations.length)
  })

  test('expanded records have their own links', async () => {
    const [row] = rowsOf(
      await get('Property?$filter=Media/any()&$top=1&$expand=Media,ListAgent($select=MemberKey)'),
    )
    const media = row?.['Media'] as readonly Row[] // expanded
    expect(media.length).toBeGreaterThan(0)
    for (const photo of media) {
      expect(photo).toMatchObject({ '@odata.type': '#org.reso.metadata.Media', ...typesOf('Media') })
      expect(withoutContext(await record(String(photo['@odata.id'])))).toEqual(photo)
    }
    const agent = row?.['ListAgent'] as Row // expanded
    expect(withoutContext(await record(`${agent['@odata.id']}?$select=MemberKey`))).toEqual(agent)
  })

  test('keys of any text are in links that lead to the record', async () => {
    const rows = rowsOf(await get('Property?$select=ListingKey&$top=3'))
    expect(rows.map(r => r['ListingKey'])).toEqual(["P'00", 'P/00', 'P01'])
    for (const row of rows)
      expect((await record(String(row['@odata.id'])))['ListingKey']).toBe(row['ListingKey'])
  })

  test('computed values have types; records of groups have no address', async () => {
    const compute = await record(
      'Property?$compute=ListPrice div 2 as Half,year(ModificationTimestamp) as Year,tolower(City) as Low&$select=Half,Year,Low&$top=1'.replaceAll(
        ' ',
        '%20',
      ),
    )
    expect((compute['value'] as readonly Row[])[0]).toMatchObject({
      'Half@odata.type': 'Decimal',
      'Year@odata.type': 'Int32',
    })
    const [group] = rowsOf(
      await get('Property?$apply=groupby((ListAgent/MemberKey,TaxYear),aggregate($count%20as%20N))'),
    )
    expect(group).toMatchObject({
      '@odata.id': null,
      'TaxYear@odata.type': 'Int32',
      'N@odata.type': 'Int64',
      ListAgent: {},
    })
    const [window] = rowsOf(await get('Property?$apply=top(1)'))
    expect(window?.['@odata.id']).toEqual(expect.stringContaining('/odata/Property('))
  })

  test('a single value has its type', async () => {
    expect(await record("Property('P01')/ListPrice")).toMatchObject({ '@odata.type': 'Decimal' })
    expect(await record("Property('P01')/ConstructionMaterials")).toMatchObject({
      '@odata.type': 'Collection(String)',
    })
    expect(await record("Property('P01')/City")).not.toHaveProperty('@odata.type')
  })

  test('types of the standard have a hash in 4.0', async () => {
    const row = await record("Property('P01')", { 'OData-MaxVersion': '4.0' })
    expect(row).toMatchObject({
      '@odata.type': '#org.reso.metadata.Property',
      'ListPrice@odata.type': '#Decimal',
      'ConstructionMaterials@odata.type': '#Collection(String)',
    })
  })

  test('numbers as text, and fields that the token may not read', async () => {
    const answer = await app.send("/odata/Property('P01')", {
      headers: {
        Accept: `${FULL};IEEE754Compatible=true`,
        Authorization: `Bearer ${app.tokenFor({ audience: 'public' })}`,
      },
    })
    const row = bodyOf(answer)
    expect(row['ListPrice']).toEqual(expect.any(String))
    expect(row).toMatchObject({ 'PrivateRemarks@Core.Permissions': 'None', PrivateRemarks: null })
  })

  test.each([undefined, 'return=representation'])(
    'answers of writes have each member once: Prefer %s',
    async prefer => {
      const headers = { Accept: FULL, ...(prefer && { Prefer: prefer }) }
      const created = await app.send('/odata/Property', { method: 'POST', body: DRAFT, headers })
      const row = bodyOf(created)
      expect([created.status, row['@odata.id']]).toEqual([201, created.headers['location']])
      for (const name of ['@odata.id', '@odata.editLink', '@odata.type', '@odata.etag', '@odata.context'])
        expect([name, created.text.split(`"${name}":`).length]).toEqual([name, 2])
      const patched = await app.send(String(row['@odata.editLink']), {
        method: 'PATCH',
        body: { ChangedByMemberKey: DRAFT.ListAgentKey, ListPrice: 5 },
        headers,
      })
      expect(bodyOf(patched)).toMatchObject({
        '@odata.id': row['@odata.id'],
        'ListPrice@odata.type': 'Decimal',
        ListPrice: 5,
      })
    },
  )

  test('minimal and none have no annotations', async () => {
    for (const metadata of ['minimal', 'none']) {
      const { text } = await app.send("/odata/Property('P01')?$expand=Media", {
        headers: { Accept: `application/json;odata.metadata=${metadata}` },
      })
      expect(text).not.toMatch(/@odata\.(?:type|id|editLink|navigationLink|associationLink)/)
    }
  })
})
