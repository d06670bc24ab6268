import type { Decimal } from 'decimal.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../../support/app.js'
import { bodyOf, keysOf, rowsOf } from '../../support/assertions.js'
import { readPages } from '../../support/cases.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { readDataset } from '../../support/oracle/dataset.js'
import type { Dataset, OracleRecord } from '../../support/oracle/oracle.js'
import { compareValues, ExactDecimal } from '../../support/oracle/reference-semantics.js'

const numbers = (rows: readonly OracleRecord[], name: string): readonly Decimal[] =>
  rows.flatMap(row => (row[name] === null ? [] : [new ExactDecimal(String(row[name]))]))
const texts = (rows: readonly OracleRecord[], name: string): readonly string[] =>
  rows.flatMap(row => (typeof row[name] === 'string' ? [row[name]] : []))
const sorted = <T extends string | Decimal>(values: readonly T[]): readonly T[] =>
  [...values].sort(compareValues)
const sum = (values: readonly Decimal[]) => values.reduce((a, b) => a.plus(b), new ExactDecimal(0))
const toNumber = (value: Decimal | undefined) => value?.toNumber() ?? null

/** The aggregates of `ALL` for some records. */
const ALL =
  'aggregate(ListPrice with sum as Sum,ListPrice with min as Min,ListPrice with max as Max,ListPrice with average as Mean,TaxYear with countdistinct as Years,City with min as First,City with max as Last,$count as N)'
function aggregatesOf(rows: readonly OracleRecord[]) {
  const prices = numbers(rows, 'ListPrice')
  const cities = sorted(texts(rows, 'City'))
  return {
    Sum: prices.length > 0 ? sum(prices).toNumber() : null,
    Min: toNumber(sorted(prices)[0]),
    Max: toNumber(sorted(prices).at(-1)),
    Mean: prices.length > 0 ? expect.closeTo(sum(prices).div(prices.length).toNumber(), 6) : null,
    Years: new Set(numbers(rows, 'TaxYear').map(String)).size,
    First: cities[0] ?? null,
    Last: cities.at(-1) ?? null,
    N: rows.length,
  }
}

/** Groups in the order of their values, null first; values are texts or whole numbers. */
function groupsOf(
  rows: readonly OracleRecord[],
  valuesOf: (row: OracleRecord) => readonly unknown[],
): readonly (readonly [readonly unknown[], readonly OracleRecord[]])[] {
  const keys = [...new Set(rows.map(row => JSON.stringify(valuesOf(row))))].map(
    key => JSON.parse(key) as readonly (string | number | null)[],
  ) // just written
  const compare = (a: string | number | null, b: string | number | null) =>
    a === null || b === null ? Number(a !== null) - Number(b !== null) : compareValues(a, b)
  keys.sort((a, b) => a.map((value, i) => compare(value, b[i] ?? null)).find(c => c !== 0) ?? 0)
  return keys.map(key => [key, rows.filter(row => JSON.stringify(valuesOf(row)) === JSON.stringify(key))])
}

describe.each(DATABASE_KINDS)('on the database %s', kind => {
  let app: TestApp
  let world: Dataset
  const properties = () => world.get('Property') ?? []
  const member = (row: OracleRecord) =>
    (world.get('Member') ?? []).find(m => m.MemberKey === row.ListAgentKey)
  const ask = async (options: string, grant?: Parameters<TestApp['tokenFor']>[0], path = 'Property') => {
    const headers = grant && { Authorization: `Bearer ${await app.tokenFor(grant)}` }
    const answer = await app.send(`/odata/${path}?${options}`, { headers })
    expect(answer.status, answer.text).toBe(200)
    return answer
  }
  const rows = async (options: string, grant?: Parameters<TestApp['tokenFor']>[0], path?: string) =>
    rowsOf(await ask(options, grant, path))

  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json', env: { NON_DISCLOSURE: 'true' } })
    const { prisma } = app.database
    await prisma.property.updateMany({
      where: { City: 'Salida' },
      data: { PrivateRemarks: 'the key is under the mat' },
    })
    await prisma.property.updateMany({ where: { StandardStatus: 'Sold' }, data: { BuyerAgentKey: 'M3' } })
    await prisma.member.update({
      where: { MemberKey: 'M1' },
      data: { MemberFullName: 'Ann', MemberEmail: 'ann@example.org' },
    })
    await prisma.member.update({
      where: { MemberKey: 'M2' },
      data: { MemberFullName: 'Bob', MemberEmail: 'bob@example.org' },
    })
    world = await readDataset(app.database)
  })
  afterAll(() => app.close())

  describe('groups and aggregates equal those computed in JavaScript', () => {
    test.each(['City', 'TaxYear', 'StandardStatus', 'OriginatingSystemName'])('by %s', async name => {
      const expected = groupsOf(properties(), row => [row[name]]).map(([[value], members]) => ({
        [name]: value,
        ...aggregatesOf(members),
      }))
      expect(await rows(`$apply=groupby((${name}),${ALL})&$top=1000`)).toEqual(expected)
    })

    test('by several fields, one of them through a navigation', async () => {
      const expected = groupsOf(properties(), row => [
        row.StandardStatus,
        member(row)?.MemberFullName ?? null,
        row.ListAgentKey,
      ]).map(([[StandardStatus, MemberFullName, MemberKey], members]) => ({
        StandardStatus,
        ListAgent: { MemberFullName, MemberKey },
        ...aggregatesOf(members),
      }))
      expect(
        await rows(`$apply=groupby((StandardStatus,ListAgent/MemberFullName,ListAgent/MemberKey),${ALL})`),
      ).toEqual(expected)
    })

    test('of all records, and of none', async () => {
      expect(await rows(`$apply=${ALL}`)).toEqual([aggregatesOf(properties())])
      expect(await rows(`$apply=filter(City eq 'Nowhere')/${ALL}`)).toEqual([aggregatesOf([])])
      expect(await rows(`$apply=filter(false)/groupby((City),${ALL})`)).toEqual([])
    })

    test('after a filter, by a computed value, of an expression', async () => {
      const known = properties().filter(row => row.TaxYear !== null)
      const expected = groupsOf(known, row => [Math.trunc(Number(row.TaxYear) / 10)]).map(
        ([[Decade], members]) => ({
          Decade,
          Double:
            numbers(members, 'ListPrice').length > 0
              ? sum(numbers(members, 'ListPrice')).times(2).toNumber()
              : null,
        }),
      )
      expect(
        await rows(
          '$apply=filter(TaxYear ne null)/compute(TaxYear div 10 as Decade)/groupby((Decade),aggregate(ListPrice mul 2 with sum as Double))',
        ),
      ).toEqual(expected)
    })

    test('groups of groups', async () => {
      const sizes = groupsOf(properties(), row => [row.City]).map(([, members]) => ({ N: members.length }))
      const expected = groupsOf(sizes, row => [row.N]).map(([[N], members]) => ({
        N,
        Cities: members.length,
      }))
      expect(
        await rows('$apply=groupby((City),aggregate($count as N))/groupby((N),aggregate($count as Cities))'),
      ).toEqual(expected)
      const [most] = await rows(
        '$apply=groupby((City),aggregate($count as N))/aggregate(N with max as Most,N with average as Mean,City with countdistinct as Cities)',
      )
      const mean = sizes.reduce((total, { N }) => total + N, 0) / sizes.length
      expect(most).toEqual({
        Most: Math.max(...sizes.map(s => s.N)),
        Mean: expect.closeTo(mean, 10),
        Cities: new Set(texts(properties(), 'City')).size,
      })
    })

    test('distinct groups without aggregates', async () => {
      const expected = groupsOf(properties(), row => [row.ListAgentKey, row.ListOfficeKey]).map(
        ([[ListAgentKey, ListOfficeKey]]) => ({
          ListAgentKey,
          ListOfficeKey,
        }),
      )
      expect(await rows('$apply=groupby((ListAgentKey,ListOfficeKey))')).toEqual(expected)
    })

    test('dates, truth and counts of related records', async () => {
      const rooms = world.get('Rooms') ?? []
      const [all] = await rows(
        '$apply=compute(City eq null as Nowhere)/aggregate(ModificationTimestamp with max as Last,Nowhere with min as All,Nowhere with max as Any,Rooms/$count with sum as Places,date(ModificationTimestamp) with min as First)',
      )
      const times = properties()
        .map(row => (row.ModificationTimestamp as Date).toISOString())
        .sort() // a timestamp column
      expect(all).toEqual({
        Last: times.at(-1),
        All: false,
        Any: properties().some(row => row.City === null),
        Places: rooms.length,
        First: times[0]?.slice(0, 10),
      })
    })

    test('a value that its integer type does not hold', async () => {
      const years = numbers(properties(), 'TaxYear')
      const [found] = await rows(
        '$apply=aggregate(TaxYear mul 10000000 with max as Most,TaxYear mul 10000000 with min as Least)',
      )
      expect(found).toEqual({
        Most: sorted(years).at(-1)?.times(1e7).toNumber(),
        Least: sorted(years)[0]?.times(1e7).toNumber(),
      })
      const equal = await rows('$filter=(TaxYear mul 10000000) in (1,TaxYear mul 10000000)&$top=1000')
      expect(equal).toHaveLength(properties().length)
    })

    test('related records of one record', async () => {
      const media = (world.get('Media') ?? []).filter(row => row.PropertyKey === 'P01')
      const expected = groupsOf(media, row => [row.MediaType]).map(([[MediaType], members]) => ({
        MediaType,
        N: members.length,
      }))
      expect(expected.length).toBeGreaterThan(0)
      expect(
        await rows('$apply=groupby((MediaType),aggregate($count as N))', undefined, "Property('P01')/Media"),
      ).toEqual(expected)
      expect(
        await rows('$apply=aggregate($count as N)', undefined, "Property/$filter(City eq 'Vail')"),
      ).toEqual([{ N: properties().filter(p => p.City === 'Vail').length }])
    })

    test('the records that a search finds', async () => {
      const found = keysOf(await rows('$search=Vail'))
      expect(found.length).toBeGreaterThan(0)
      expect(await rows('$apply=search(Vail)/aggregate($count as N)')).toEqual([{ N: found.length }])
    })
  })

  describe('the other options work on the result', () => {
    const cities = 'groupby((City),aggregate($count as N,ListPrice with sum as Sum))'
    const expected = () =>
      groupsOf(properties(), row => [row.City]).map(([[City], members]) => ({
        City,
        N: members.length,
        Sum: aggregatesOf(members).Sum,
      }))

    test('$filter, $count and /$count', async () => {
      const several = expected().filter(row => row.N > 1)
      const answer = await ask(`$apply=${cities}&$filter=N gt 1&$count=true&$top=1`)
      expect([rowsOf(answer), bodyOf(answer)['@odata.count']]).toEqual([several.slice(0, 1), several.length])
      expect(await rows(`$apply=${cities}/filter(N gt 1)`)).toEqual(several)
      expect((await ask(`$apply=${cities}&$filter=N gt 1`, undefined, 'Property/$count')).text).toBe(
        String(several.length),
      )
    })

    test('$compute, $select and $orderby', async () => {
      const wanted = expected()
        .map(row => ({ City: row.City, Twice: row.N * 2 }))
        .sort((a, b) => b.Twice - a.Twice)
      const found = await rows(
        `$apply=${cities}&$compute=N mul 2 as Twice&$select=City,Twice&$orderby=Twice desc,City`,
      )
      expect(found.map(row => row.Twice)).toEqual(wanted.map(row => row.Twice))
      expect(Object.keys(found[0] ?? {})).toEqual(['City', 'Twice'])
      expect(new Set(found.map(row => row.City))).toEqual(new Set(wanted.map(row => row.City)))
    })

    test.each([
      '',
      '&$orderby=N',
      '&$orderby=N desc',
      '&$orderby=Sum',
      '&$orderby=Sum desc,N',
      '&$orderby=City desc',
    ])('page by page: %s', async orderby => {
      const all = await rows(`$apply=${cities}${orderby}`)
      const pages = await readPages(app, `/odata/Property?$apply=${cities}${orderby}&$top=2`)
      expect(pages.flatMap(rowsOf)).toEqual(all)
      expect(pages.length).toBe(Math.ceil(all.length / 2))
      expect(all).toHaveLength(expected().length)
    })

    test('pages of groups by paths', async () => {
      const apply =
        '$apply=groupby((ListAgent/MemberFullName,TaxYear),aggregate(ListPrice with average as Mean))&$orderby=ListAgent/MemberFullName desc,Mean'
      const pages = await readPages(app, `/odata/Property?${apply}&$top=3`)
      expect(pages.flatMap(rowsOf)).toEqual(await rows(apply))
      const filtered = await rows(
        "$apply=groupby((ListAgent/MemberFullName,TaxYear))&$filter=ListAgent/MemberFullName eq 'Ann' and TaxYear ne null&$select=ListAgent/MemberFullName",
      )
      expect(filtered.length).toBeGreaterThan(0)
      expect(filtered.every(row => JSON.stringify(row) === '{"ListAgent":{"MemberFullName":"Ann"}}')).toBe(
        true,
      )
    })

    test('ungrouped records are unchanged', async () => {
      const top = await rows('$apply=orderby(ListPrice desc)/top(5)')
      expect(top).toEqual(await rows('$orderby=ListPrice desc&$top=5'))
      expect(await rows('$apply=orderby(ListPrice desc)/skip(2)/top(3)')).toEqual(top.slice(2))
      expect(await rows('$apply=orderby(ListPrice desc)/top(5)/orderby(ListingKey)&$count=true')).toEqual(
        [...top].sort((a, b) => compareValues(String(a.ListingKey), String(b.ListingKey))),
      )
      expect(
        keysOf(
          await rows(
            '$apply=orderby(ListPrice desc)/top(5)/filter(City ne null)&$expand=Rooms&$select=ListingKey',
          ),
        ),
      ).toEqual(keysOf(top.filter(row => row.City !== null)))
      const pages = await readPages(app, '/odata/Property?$apply=orderby(ListPrice desc)/top(5)&$top=2')
      expect(pages.map(page => rowsOf(page).length)).toEqual([2, 2, 1])
      expect(await rows('$apply=top(0)')).toEqual([])
      expect(await rows('$apply=orderby(ListPrice desc)/top(5)/aggregate(ListPrice with sum as S)')).toEqual([
        { S: top.reduce((total, row) => total + Number(row.ListPrice), 0) },
      ])
      expect((await rows('$apply=skip(9007199254740993)/top(9007199254740993)')).length).toBe(0)
    })
  })

  describe('the answer', () => {
    test('names exactly the members of the records', async () => {
      const answer = await ask(
        '$apply=groupby((StandardStatus,ListAgent/MemberKey,ListAgent/MemberFullName),aggregate($count as N))&$compute=N add 1 as M',
      )
      expect(bodyOf(answer)['@odata.context']).toMatch(
        /\/odata\/\$metadata#Property\(StandardStatus,ListAgent\(MemberKey,MemberFullName\),N,M\)$/,
      )
      expect(Object.keys(rowsOf(answer)[0] ?? {})).toEqual(['StandardStatus', 'ListAgent', 'N', 'M'])
    })

    test('is exact, and has numbers as texts for clients that request them', async () => {
      const large =
        'aggregate(9007199254740993 with max as Large,ListPrice mul 0 add 0.1 with sum as Tenths,$count as N)'
      const priced = numbers(properties(), 'ListPrice').length
      const tenths = new ExactDecimal('0.1').times(priced).toString()
      expect((await ask(`$apply=${large}`)).text).toContain(
        `{"Large":9007199254740993,"Tenths":${tenths},"N":${properties().length}}`,
      )
      const quoted = await app.send(`/odata/Property?$apply=${large}`, {
        headers: { Accept: 'application/json;IEEE754Compatible=true' },
      })
      expect(rowsOf(quoted)).toEqual([
        { Large: '9007199254740993', Tenths: tenths, N: String(properties().length) },
      ])
    })

    test('a long sequence is answered', async () => {
      const steps = Array.from({ length: 40 }, (_, i) => `groupby((City),aggregate($count as N${i}))`).join(
        '/',
      )
      expect((await rows(`$apply=${steps}&$count=true`)).length).toBe(
        groupsOf(properties(), row => [row.City]).length,
      )
    })

    test.each<[string, number]>([
      ['$apply=groupby((City)', 400],
      ['$apply=concat(identity,identity)', 501],
      ['$apply=groupby((City))&$expand=Media', 400],
      ["$apply=aggregate($count as N)&$filter=City eq 'Vail'", 400],
    ])('%s is %i', async (options, status) =>
      expect((await app.send(`/odata/Property?${options}`)).status).toBe(status),
    )
  })

  describe('permissions', () => {
    const READER = { scopes: ['listings:read'], audience: 'public' } as const
    const PUBLISHED = () => properties().filter(row => row.StandardStatus !== 'Incomplete')

    test('hidden records and fields are in no group and no aggregate', async () => {
      const expected = groupsOf(PUBLISHED(), row => [row.StandardStatus]).map(
        ([[StandardStatus], members]) => ({ StandardStatus, N: members.length }),
      )
      expect(await rows('$apply=groupby((StandardStatus),aggregate($count as N))', READER)).toEqual(expected)
      expect(await rows('$apply=top(1000)/aggregate($count as N)', READER)).toEqual([
        { N: PUBLISHED().length },
      ])
      expect((await ask('$apply=groupby((StandardStatus))', READER, 'Property/$count')).text).toBe(
        String(expected.length),
      )
    })

    test('private remarks are counted only for their own agent', async () => {
      const asked = '$apply=groupby((PrivateRemarks),aggregate($count as N))'
      expect(await rows(asked, READER)).toEqual([])
      const own = PUBLISHED().filter(row => row.ListAgentKey === 'M1' || row.ListOfficeKey === 'M1')
      const expected = groupsOf(own, row => [row.PrivateRemarks]).map(([[PrivateRemarks], members]) => ({
        PrivateRemarks,
        N: members.length,
      }))
      expect(expected.some(row => row.PrivateRemarks !== null)).toBe(true)
      expect(await rows(asked, { ...READER, memberKey: 'M1' })).toEqual(expected)
      expect(await rows(asked, { ...READER, audience: 'member' })).toEqual([])
    })

    test.each([
      'aggregate(PrivateRemarks with max as X)',
      'aggregate(length(PrivateRemarks) with sum as X)',
      'compute(PrivateRemarks as R)/aggregate(R with max as X)',
      'aggregate(ListAgent/MemberEmail with max as X)',
      'aggregate(SoldPrice with max as X)',
      'compute(SoldPrice mul 1 as P)/top(1000)/aggregate(P with max as X)',
      'aggregate(BuyerAgent/MemberKey with max as X)',
      'aggregate(case(BuyerAgent ne null:1) with max as X)',
      'groupby((SoldPrice))/aggregate(SoldPrice with max as X)',
    ])('%s reveals nothing to a reader', async apply => {
      expect(await rows(`$apply=${apply}`, READER)).toEqual([{ X: null }])
      expect(await rows(`$apply=${apply}`)).not.toEqual([{ X: null }])
    })

    test('an order by a hidden field does not reveal it', async () => {
      expect(await rows('$apply=orderby(SoldPrice desc)/top(1)/groupby((ListingKey))', READER)).toEqual([])
      expect(await rows('$apply=filter(not (SoldPrice gt 1))/aggregate($count as N)', READER)).toEqual([
        { N: 0 },
      ])
      expect(await rows('$apply=compute(SoldPrice as P)/top(1)&$select=P', READER)).toEqual([
        { '@odata.etag': expect.any(String), P: null },
      ])
      expect(
        await rows("$expand=BuyerAgent&$filter=StandardStatus eq 'Sold'&$select=ListingKey", READER),
      ).toSatisfy(
        (found: readonly OracleRecord[]) => found.length > 0 && found.every(row => row.BuyerAgent === null),
      )
    })
  })
})
