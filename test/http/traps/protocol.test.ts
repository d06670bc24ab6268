import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, keysOf, nextLinkOf, type Row, rowsOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { DRAFT } from '../../support/drafts.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const POWER_QUERY = {
  Accept:
    'application/json;odata.metadata=minimal;q=1.0,application/json;odata=minimalmetadata;q=0.9,application/atomsvc+xml;q=0.8,application/atom+xml;q=0.8,application/xml;q=0.7,text/plain;q=0.7',
  'OData-MaxVersion': '4.0',
  MaxDataServiceVersion: '3.0',
}
const namesOf = (row: Row | undefined) => Object.keys(row ?? {}).filter(name => !name.includes('@'))
const mediaOf = (row: Row | undefined) => (row?.['Media'] ?? []) as readonly Row[] // an expanded collection
const times = <T>(n: number, make: (i: number) => T): readonly T[] =>
  Array.from({ length: n }, (_, i) => make(i))

describe.each(DATABASE_KINDS)('traps of the protocol on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, list, pages, send, refused }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, list, pages, send, refused } = market)
  })
  afterAll(() => market.close())

  test('PRO-01 $metadata in two formats', async () => {
    const typeOf = async (query: string, Accept: string | null) =>
      (await send(`/odata/$metadata${query}`, { headers: { Accept } })).headers['content-type']
    for (const accept of ['application/xml', null, '*/*'])
      expect(await typeOf('', accept)).toMatch(/^application\/xml/)
    expect(await typeOf('', 'application/json')).toMatch(/^application\/json/)
    expect(await typeOf('?$format=json', 'application/xml')).toMatch(/^application\/json/)
    expect(await typeOf('?$format=xml', 'application/json')).toMatch(/^application\/xml/)
    const json = bodyOf(await send('/odata/$metadata?$format=json'))
    expect(json).toMatchObject({
      $Version: expect.stringMatching(/^4\.0/),
      $EntityContainer: expect.stringMatching(/^org\.reso\.metadata\./),
    })
    const { Property } = json['org.reso.metadata'] as { readonly Property: Row } // the schema of the model
    const xml = (await send('/odata/$metadata')).text
      .replace(/.*<EntityType Name="Property"/s, '')
      .replace(/<\/EntityType>.*/s, '')
    const listed = [...xml.matchAll(/<(?:Navigation)?Property Name="(\w+)"/g)].map(found => found[1])
    expect(listed).toEqual(Object.keys(Property).filter(name => /^[A-Z]/.test(name)))
    for (const name of ['Media', 'Rooms'])
      expect(Property[name]).toMatchObject({ $Kind: 'NavigationProperty', $Collection: true })
  })

  test('PRO-02 the headers that Power Query sends', async () => {
    await given([{}])
    const answer = await send('/odata/Property?$top=1', { headers: POWER_QUERY })
    expect([answer.status, answer.headers['content-type'], answer.headers['odata-version']]).toEqual([
      200,
      'application/json;odata.metadata=minimal',
      '4.0',
    ])
  })

  test('PRO-04 the syntax of 4.01 with 4.0 as the maximum', async () => {
    await given([{ City: 'Waco' }, { City: 'Austin' }, { City: 'Austin' }])
    const answer = await send("/odata/Property?filter=City in ('Austin')&top=1", {
      headers: { 'OData-MaxVersion': '4.0' },
    })
    expect([keysOf(rowsOf(answer)), answer.headers['odata-version']]).toEqual([['L002'], '4.0'])
  })

  test('PRO-05 names of control information', async () => {
    await given([{}, {}])
    for (const version of ['4.0', '4.01', null]) {
      const answer = await send('/odata/Property?$count=true&$top=1', {
        headers: { 'OData-MaxVersion': version },
      })
      expect(Object.keys(bodyOf(answer))).toEqual([
        '@odata.context',
        '@odata.count',
        'value',
        '@odata.nextLink',
      ])
    }
  })

  test('PRO-07 a relative context on create', async () => {
    await given([])
    const context = String((await market.draft())['@odata.context'])
    expect(context).toMatch(/^\$metadata/)
    expect(new URL(context, `${market.base}/odata/Property`).href).toBe(
      `${market.base}/odata/$metadata#Property/$entity`,
    )
    expect(bodyOf(await list('$top=1'))['@odata.context']).toBe(`${market.base}/odata/$metadata#Property`)
  })

  test('PRO-08 the service document', async () => {
    for (const path of ['/odata/', '/odata']) {
      const answer = await send(path)
      expect([answer.status, bodyOf(answer)['@odata.context']]).toEqual([
        200,
        `${market.base}/odata/$metadata`,
      ])
      for (const name of [
        'Property',
        'Member',
        'Office',
        'Media',
        'Rooms',
        'OpenHouse',
        'Lookup',
        'EntityEvent',
      ])
        expect(rowsOf(answer)).toContainEqual({ name, kind: 'EntitySet', url: name })
    }
  })

  test('PRO-10 parameters of the format', async () => {
    await given([{}, {}])
    const shown = async (query: string, Accept: string) => {
      const answer = await send(`/odata/Property?$top=1&$count=true${query}`, { headers: { Accept } })
      const control = answer.text
        .match(/"@?[\w.]*@[\w.]*"/g)
        ?.filter(name => name !== '"@odata.count"' && name !== '"@odata.nextLink"')
      expect(nextLinkOf(answer)).toBeDefined()
      return [
        answer.status,
        answer.headers['content-type'],
        control?.length === 0 ? 'bare' : 'with control information',
      ]
    }
    const none = [200, 'application/json;odata.metadata=none', 'bare']
    const minimal = [
      200,
      expect.stringMatching(/^application\/json;odata\.metadata=minimal/),
      'with control information',
    ]
    expect(await shown('', 'application/json;odata.metadata=none')).toEqual(none)
    expect(await shown('', 'application/json;odata.metadata=minimal;odata.streaming=true')).toEqual(minimal)
    expect(await shown('', 'application/json;odata.metadata=full')).toEqual([
      200,
      expect.stringMatching(/odata\.metadata=(?:full|minimal)/),
      minimal[2],
    ])
    expect(await shown('&$format=application/json;odata.metadata=none', 'application/xml')).toEqual(none)
    expect(await shown('&$format=json', 'application/xml')).toEqual(minimal)
    expect((await list('$format=atom')).status).toBe(406)
  })

  test('PRO-11 keys with special characters in the path', async () => {
    await given(["O'Brien", 'A/B', 'a b%', 'x'].map(ListingKey => ({ ListingKey })))
    const found = {
      "('O''Brien')": "O'Brien",
      "('A%2FB')": 'A/B',
      "('a%20b%25')": 'a b%',
      '%28%27x%27%29': 'x',
    }
    for (const [path, key] of Object.entries(found))
      expect(bodyOf(await send(`/odata/Property${path}`))['ListingKey']).toBe(key)
    for (const path of ['(x)', "('x", "('O'Brien')"])
      expect([400, 404]).toContain((await send(`/odata/Property${path}`)).status)
  })

  test('PRO-13 $metadata passes a strict parser', async () => {
    // The parsers and the XSD are in test/http/odata/metadata.test.ts. These are the rules that they enforce.
    const { text } = await send('/odata/$metadata')
    for (const [, precision] of text.matchAll(/Edm\.DateTimeOffset"[^>]*Precision="(\d+)"/g))
      expect(Number(precision)).toBeLessThanOrEqual(12)
    for (const [decimal] of text.matchAll(/<Property [^>]*Type="Edm\.Decimal"[^>]*>/g))
      expect(decimal).toMatch(/Scale="(?:\d+|variable)"/)
    const bound = new Set(
      [...text.matchAll(/<NavigationPropertyBinding Path="(?:[\w.]+\/)?(\w+)"/g)].map(found => found[1]),
    )
    for (const [, name] of text.matchAll(/<NavigationProperty Name="(\w+)"/g)) expect(bound).toContain(name)
    expect(text).toMatch(
      /Target="org\.reso\.metadata\.Property\/ChangedByMemberKey"|<Property Name="ChangedByMemberKey"[^/]*>\s*<Annotation/,
    )
  })

  test('EXP-01 $top counts listings, not joined rows', async () => {
    await given(times(4, i => ({ Media: times(3, j => ({ MediaKey: `${i}-${j}` })) })))
    const page = await list('$expand=Media&$top=2&$orderby=ListingKey&$count=true')
    expect([rowsOf(page).map(row => mediaOf(row).length), bodyOf(page)['@odata.count']]).toEqual([[3, 3], 4])
  })

  test('EXP-02 a nested filter does not filter the parents', async () => {
    await given([
      {
        Media: [
          { MediaKey: 'a', MediaType: 'image/jpeg' },
          { MediaKey: 'b', MediaType: 'video/mp4' },
        ],
      },
      {},
    ])
    const [a, b] = rowsOf(await list("$expand=Media($filter=MediaType eq 'video/mp4')&$orderby=ListingKey"))
    expect([mediaOf(a).map(medium => medium['MediaKey']), b?.['Media']]).toEqual([['b'], []])
  })

  test('EXP-04 $select without the navigation property', async () => {
    await given([{ City: 'Waco', Media: [{ MediaKey: 'a' }] }])
    const [row] = rowsOf(await list('$select=City&$expand=Media&$top=1'))
    expect([namesOf(row), mediaOf(row)[0]?.['MediaKey']]).toEqual([['City', 'Media'], 'a'])
  })

  test('EXP-05 a navigation property in $select', async () => {
    await given([{ Media: [{ MediaKey: 'a' }] }])
    const [both] = rowsOf(await list('$select=ListingKey,Media&$expand=Media($select=MediaKey)'))
    expect([namesOf(both), mediaOf(both).map(namesOf)]).toEqual([['ListingKey', 'Media'], [['MediaKey']]])
    const [alone] = rowsOf(await list('$select=ListingKey,Media'))
    expect(namesOf(alone)).toEqual(['ListingKey'])
    expect(rowsOf(await list('$select=Media')).map(namesOf)).toEqual([[]])
    expect(rowsOf(await list('$select=Media&$expand=Media($select=MediaKey)')).map(namesOf)).toEqual([
      ['Media'],
    ])
  })

  test('EXP-08 unknown parts of $expand', async () => {
    await given([{}])
    for (const part of ['Nope', 'City', 'Media($filtre=1 eq 1)', 'Media($filter=Nope eq 1)', 'Media(']) {
      const answer = await list(`$expand=${part}`)
      expect([part, answer.status]).toEqual([part, 400])
      expect(answer.text).toContain(/Nope|City|filtre|expand/.exec(part === 'Media(' ? '$expand' : part)?.[0])
    }
    await refused('$expand=Media,Media')
  })

  test('EXP-09 $expand=*', async () => {
    await given(times(150, i => ({ Media: i < 2 ? times(3, j => ({ MediaKey: `${i}-${j}` })) : [] })))
    const [first = [], second = []] = await pages('$expand=*&$orderby=ListingKey')
    expect([first.length, second.length]).toEqual([100, 50])
    for (const row of [...first, ...second])
      expect([Array.isArray(row['Media']), Array.isArray(row['Rooms'])]).toEqual([true, true])
    const [row] = rowsOf(await list('$expand=*,Media($top=1)&$orderby=ListingKey'))
    expect([mediaOf(row).length, row?.['Rooms']]).toEqual([1, []])
  })

  test('a create with expanded media is a listing like any other', async () => {
    const answer = await send('/odata/Property?$expand=Media', { method: 'POST', body: DRAFT })
    expect([answer.status, bodyOf(answer)['Media']]).toEqual([201, []])
  })
})
