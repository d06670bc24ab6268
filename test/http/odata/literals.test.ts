import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

// Literals at the limits of their types, as filters select by them.

describe.each(DATABASE_KINDS)('literals on the %s database', kind => {
  let service: Awaited<ReturnType<typeof startTestService>>
  let { given, keys }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    service = await startTestService({ kind })
    ;({ given, keys } = service)
  })
  afterAll(() => service?.close())

  /** Each filter must select the records with these numbers. */
  const select = async (expected: Readonly<Record<string, readonly number[]>>) => {
    for (const [filter, numbers] of Object.entries(expected))
      expect([filter, await keys(`$orderby=ListingKey&$filter=${encodeURIComponent(filter)}`)]).toEqual([
        filter,
        numbers.map(n => `L00${n}`),
      ])
  }

  test('more than six digits of a second are compared and never rounded', async () => {
    await given(
      ['2024-06-15T10:00:00.000Z', '2024-06-15T10:00:00.001Z', '1969-12-31T23:59:59.999Z'].map(time => ({
        ModificationTimestamp: time,
      })),
    )
    await select({
      'ModificationTimestamp gt 2024-06-15T10:00:00.0009999999Z': [2],
      'ModificationTimestamp ge 2024-06-15T10:00:00.0009999999Z': [2],
      'ModificationTimestamp lt 2024-06-15T10:00:00.0009999999Z': [1, 3],
      'ModificationTimestamp le 2024-06-15T10:00:00.0009999999Z': [1, 3],
      'ModificationTimestamp lt 2024-06-15T10:00:00.0010000001Z': [1, 2, 3],
      'ModificationTimestamp le 2024-06-15T10:00:00.0010000001Z': [1, 2, 3],
      'ModificationTimestamp gt 2024-06-15T10:00:00.0010000001Z': [],
      'ModificationTimestamp eq 2024-06-15T10:00:00.0009999999Z': [],
      'ModificationTimestamp ne 2024-06-15T10:00:00.0009999999Z': [1, 2, 3],
      'ModificationTimestamp in (2024-06-15T10:00:00.0009999999Z,2024-06-15T10:00:00.0010000Z)': [2],
      '2024-06-15T10:00:00.0009999999Z lt ModificationTimestamp': [2],
      'not (ModificationTimestamp eq 2024-06-15T12:00:00.0009999999+02:00)': [1, 2, 3],
      'ModificationTimestamp gt 1969-12-31T23:59:59.9989999Z and ModificationTimestamp lt 1969-12-31T23:59:59.9990001Z':
        [3],
      // As .NET, Go and Java write a time that the service has shown.
      'ModificationTimestamp eq 2024-06-15T10:00:00.0010000Z': [2],
      'ModificationTimestamp eq 2024-06-15T10:00:00.001000000Z': [2],
      'ModificationTimestamp gt 2024-06-15T10:00:00.000000001Z': [2],
    })
  })

  test('the same for functions of literals, times of day, durations and casts', async () => {
    await given([
      { ModificationTimestamp: '2024-06-15T10:00:00.001Z' },
      { ModificationTimestamp: '2024-06-15T23:59:59.999Z' },
    ])
    await select({
      'second(2024-06-15T10:00:59.9999999Z) eq 59': [1, 2],
      'year(2023-12-31T23:59:59.9999999Z) eq 2023': [1, 2],
      'date(2023-12-31T23:59:59.9999999Z) eq 2023-12-31': [1, 2],
      'fractionalseconds(2024-06-15T10:00:59.9999999Z) eq 0.9999999': [1, 2],
      'hour(23:59:59.9999999) eq 23': [1, 2],
      '2024-06-15T10:00:00.0000001Z lt 2024-06-15T10:00:00.0000002Z': [1, 2],
      '2024-06-15T10:00:00.0000001Z eq 2024-06-15T10:00:00.0000002Z': [],
      'time(ModificationTimestamp) gt 10:00:00.0009999999': [1, 2],
      'time(ModificationTimestamp) lt 10:00:00.0010000001': [1],
      'time(ModificationTimestamp) eq 10:00:00.0009999999': [],
      'time(ModificationTimestamp) le 23:59:59.9989999999': [1],
      "ModificationTimestamp add duration'PT0.0000001S' gt 2024-06-15T23:59:59.999Z": [2],
      "ModificationTimestamp sub duration'PT0.0000009S' lt 2024-06-15T10:00:00.001Z": [1],
      "ModificationTimestamp add duration'PT0.0000009S' lt 2024-06-15T10:00:00.001001Z": [1],
      "second(ModificationTimestamp add duration'PT0.0009999S') eq 59": [2],
      "ModificationTimestamp sub 2024-06-15T10:00:00.0000001Z eq duration'PT0.0009999S'": [1],
      "ModificationTimestamp sub 2024-06-15T10:00:00Z lt duration'PT0.0010000001S'": [1],
      "totalseconds(duration'PT0.0000001S') eq 0.0000001": [1, 2],
      "ModificationTimestamp gt cast('2024-06-15T23:59:59.9989999999Z',Edm.DateTimeOffset)": [2],
      "ModificationTimestamp lt cast('2024-06-15T10:00:00.0010000001Z',Edm.DateTimeOffset)": [1],
      "second(cast('2024-06-15T10:00:59.9999999Z',Edm.DateTimeOffset)) eq 59": [1, 2],
      "cast(2024-06-15T10:00:59.9999999Z,Edm.String) eq '2024-06-15T10:00:59.999Z'": [1, 2],
      'case(ModificationTimestamp gt 2024-06-15T10:00:00.0010000001Z:2024-06-15T10:00:00.0000001Z,true:now()) eq 2024-06-15T10:00:00.0000001Z':
        [2],
    })
  })

  test('a duration of centuries is added to the microsecond', async () => {
    await given([{ ModificationTimestamp: '2024-06-15T10:00:00.001Z' }])
    await select({
      'mindatetime() add (ModificationTimestamp sub mindatetime()) eq ModificationTimestamp': [1],
      "0001-01-01T00:00:00Z add duration'P739051DT10H0.001S' eq ModificationTimestamp": [1],
    })
  })

  test('the colon after a number in a condition of case', async () => {
    await given(
      [5, 10, 11].map(DaysOnMarket => ({ DaysOnMarket, ModificationTimestamp: '2024-06-15T10:00:00Z' })),
    )
    await select({
      'case(DaysOnMarket gt 10:20,true:30) eq 20': [3],
      'case(DaysOnMarket gt 10:20,DaysOnMarket gt 05:15,true:30) eq 15': [2],
      'case(DaysOnMarket gt 10:1969-12-31T10:20:00Z,true:ModificationTimestamp) lt 1970-01-01T00:00:00Z': [3],
      'case(DaysOnMarket gt 10:2024-06-15,true:2024-06-16) eq 2024-06-15': [3],
      "case(time(ModificationTimestamp) ge 10:00:'late',true:'early') eq 'late'": [1, 2, 3],
      'case(DaysOnMarket gt 10:10:20,true:11:30) eq 10:20': [3],
    })
  })

  test('the border of a hole belongs to the polygon', async () => {
    const points = [
      [0.5, 0.5],
      [2, 2],
      [1.5, 2],
      [1, 1],
      [4, 4],
    ]
    await given(points.map(([Longitude, Latitude]) => ({ Longitude, Latitude })))
    const polygon = 'POLYGON((0 0,3 0,3 3,0 3,0 0),(1 1,2.5 1,2.5 2.5,1 2.5,1 1))'
    await select({ [`geo.intersects(GeoLocation,geography'SRID=4326;${polygon}')`]: [1, 4] })
  })

  test('NEW-26 a polygon across the antimeridian takes the short side', async () => {
    const points = [
      [179, 0],
      [-179, 0],
      [180, 2],
      [-180, -2],
      [0, 0],
      [169, 0],
      [-169, 0],
      [-170.1234567, 1],
    ]
    await given([...points.map(([Longitude, Latitude]) => ({ Longitude, Latitude })), {}])
    const box = (west: number, east: number) =>
      `POLYGON((${west} -5,${east} -5,${east} 5,${west} 5,${west} -5))`
    const inside = (polygon: string) => `geo.intersects(GeoLocation,geography'SRID=4326;${polygon}')`
    await select({
      [inside(box(170, -170))]: [1, 2, 3, 4, 8],
      [inside(box(-170, 170))]: [1, 2, 3, 4, 8],
      [inside(box(170, -170.1234567))]: [1, 2, 3, 4, 8],
      [`not ${inside(box(170, -170))}`]: [5, 6, 7],
      [inside(box(-180, 180))]: [1, 2, 3, 4, 5, 6, 7, 8],
      [inside('POLYGON((170 -5,-170 -5,-170 5,170 5,170 -5),(-179.5 -1,-178 -1,-178 1,-179.5 1,-179.5 -1))')]:
        [1, 3, 4, 8],
    })
    await service.refused(`$filter=${encodeURIComponent(inside('POLYGON((0 80,120 80,-120 80,0 80))'))}`)
  })

  test('numbers beyond the digits of a decimal are doubles, and texts are cast to all doubles', async () => {
    await given([5, 250000].map(ListPrice => ({ ListPrice })))
    await select({
      'ListPrice lt 1.7976931348623157e308': [1, 2],
      'ListPrice gt -1.7976931348623157e308': [1, 2],
      'ListPrice gt 5e-324': [1, 2],
      'ListPrice in (5,1e308)': [1],
      '1.7976931348623157e308 eq 1.7976931348623157e308': [1, 2],
      "ListPrice lt cast('INF',Edm.Double)": [1, 2],
      "cast('INF',Edm.Double) eq INF": [1, 2],
      "cast('-INF',Edm.Double) eq -INF": [1, 2],
      "cast('NaN',Edm.Double) ne NaN": [1, 2],
      "cast(cast('-INF',Edm.Double),Edm.String) eq '-INF'": [1, 2],
      "cast('1e400',Edm.Double) eq null": [1, 2],
      "cast('1e-400',Edm.Double) eq null": [1, 2],
      "cast('Infinity',Edm.Double) eq null": [1, 2],
      'round(1.7976931348623157e308) eq 1.7976931348623157e308': [1, 2],
      "round(cast('123456789012345.5',Edm.Double)) eq 123456789012346": [1, 2],
    })
    await service.refused('$filter=ListPrice lt 1e400', '$filter=ListPrice gt 1e-400')
  })

  test('times are in the years 0001 to 9999 of UTC, literals, results and texts', async () => {
    const last = '9999-12-31T23:59:59.999Z'
    await given([{ OnMarketTimestamp: last, OnMarketDate: '9999-12-31', City: `${last.slice(0, 19)}-05:00` }])
    await select({
      [`OnMarketTimestamp eq ${last}`]: [1],
      'OnMarketTimestamp gt 0001-01-01T00:00:00-05:00': [1],
      'cast(City,Edm.DateTimeOffset) eq null': [1],
      "cast(concat('0001-01-01T00:00:00+05:',substring(City,14,2)),Edm.DateTimeOffset) eq null": [1],
      "cast(concat('0000-01-01T00:00:',substring(City,17,2)),Edm.DateTimeOffset) eq null": [1],
      "cast(concat('0000-01-0',substring(City,6,1)),Edm.Date) eq null": [1],
      "cast(concat(substring(City,0,11),'23:59:59Z'),Edm.DateTimeOffset) eq 9999-12-31T23:59:59Z": [1],
    })
    for (const literal of ['9999-12-31T23:59:59-05:00', '0001-01-01T00:00:00%2B05:00']) {
      const { status, text } = await service.list(`$filter=OnMarketTimestamp lt ${literal}`)
      expect([literal, status, text]).toEqual([literal, 501, expect.stringMatching('years 0001 to 9999')])
    }
  })
})
