import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { withNestedRecords } from '../../../src/data/import/find-changes.js'
import { readLookups } from '../../../src/data/import/lookup-seed.js'
import type { TableRow } from '../../../src/data/import/record.js'
import { ENTITIES, getEntity, type Scalar } from '../../../src/model/model.js'
import { generateSampleBatches } from '../../../src/sample/market.js'

type Records = Readonly<Record<string, readonly TableRow[]>>

function collect(listings: number, offset = 0): Records {
  const all: Record<string, TableRow[]> = {}
  for (const batch of generateSampleBatches({ listings, offset }))
    for (const { entity, row } of withNestedRecords(batch)) {
      const rows = all[entity] ?? []
      rows.push(row)
      all[entity] = rows
    }
  return all
}

const digest = (records: Records) => createHash('sha256').update(JSON.stringify(records)).digest('hex')

const market = collect(1000)
const rowsOf = (name: string) => market[name] ?? []
const listings = rowsOf('Property')
const visible = listings.filter(row => row.StandardStatus !== 'Incomplete')
const scalarsOf = (name: string): readonly Scalar[] =>
  getEntity(name).scalars.filter(field => !field.generated)

/** Columns that the sample cannot have. */
const NEVER_FILLED = new Set(['ChangedByMemberKey', 'MemberAddress2', 'MediaHTML'])

describe('the sample market', () => {
  test('is the same at every call', () => {
    expect(digest(collect(300))).toBe(digest(collect(300)))
  })

  test('grows by later calls as by one', () => {
    const [first, second] = [collect(330), collect(670, 330)]
    const both = Object.fromEntries(
      Object.keys(market).map(name => [name, [...(first[name] ?? []), ...(second[name] ?? [])]]),
    )
    expect(digest(both)).toBe(digest(Object.fromEntries(Object.keys(both).map(name => [name, rowsOf(name)]))))
  })

  test('has offices and members in proportion, at least five offices', () => {
    expect(rowsOf('Office')).toHaveLength(25)
    expect(rowsOf('Member')).toHaveLength(125)
    expect(collect(1).Office).toHaveLength(5)
  })

  test.each(Object.keys(market))(
    '%s: columns are those of the model, and nearly all hold something',
    name => {
      const known = new Set(scalarsOf(name).map(field => field.name))
      const used = new Set(rowsOf(name).flatMap(row => Object.keys(row)))
      expect([...used].filter(column => !known.has(column))).toEqual([])
      const filled = (column: string) =>
        rowsOf(name).some(row =>
          Array.isArray(row[column])
            ? row[column].length > 0
            : row[column] !== null && row[column] !== undefined,
        )
      expect([...known].filter(column => !filled(column) && !NEVER_FILLED.has(column))).toEqual([])
    },
  )

  test.each(Object.keys(market))('%s: keys are unique, in order, and fit for a URL', name => {
    const keys = rowsOf(name).map(row => String(row[getEntity(name).key.name]))
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys).toEqual([...keys].sort())
    expect(keys.filter(key => !/^[A-Z][\w-]*$/.test(key))).toEqual([])
  })

  test.each(Object.keys(market))(
    '%s: lookup fields hold values of the Lookup resource, texts fit their length',
    async name => {
      const values = new Map<string, Set<string>>()
      for (const { LookupName, LookupValue } of await readLookups())
        values.set(LookupName, (values.get(LookupName) ?? new Set()).add(LookupValue))
      const faults = scalarsOf(name).flatMap(field => {
        const allowed = field.lookup && values.get(field.lookup.name)
        return rowsOf(name)
          .flatMap(row => [row[field.name] ?? []].flat())
          .filter(
            value =>
              (allowed && !allowed.has(String(value))) ||
              String(value).length > (field.maxLength ?? Number.POSITIVE_INFINITY),
          )
          .map(value => `${field.name} ${value}`)
      })
      expect(faults).toEqual([])
    },
  )
})

describe('a listing of the sample', () => {
  test('has a status of every kind, and the other two statuses follow from it', () => {
    expect(new Set(listings.slice(0, 50).map(row => row.StandardStatus)).size).toBe(10)
    for (const row of visible) expect(row.MlsStatus).toBe(row.StandardStatus)
    const drafts = listings.filter(row => row.StandardStatus === 'Incomplete')
    expect(new Set(drafts.map(row => `${row.MlsStatus} ${row.ContractStatus}`))).toEqual(
      new Set(['Draft Draft']),
    )
    expect(
      listings.filter(row => (row.StandardStatus === 'Sold') !== (row.ContractStatus === 'Sold')),
    ).toEqual([])
  })

  test('has a price, a contract date and a number of bedrooms unless it is a draft', () => {
    for (const field of ['ListPrice', 'ListingContractDate', 'BedroomsTotal'])
      expect(visible.filter(row => row[field] === null || row[field] === undefined)).toEqual([])
  })

  test('when sold has prices and dates of the sale, otherwise none', () => {
    for (const row of listings) {
      expect(row.ClosePrice).toBe(row.SoldPrice)
      expect([row.SoldPrice !== null, row.CloseDate !== null]).toEqual(
        row.StandardStatus === 'Sold' ? [true, true] : [false, false],
      )
    }
  })

  test('has its times in order and in the past, and a distinct millisecond', () => {
    for (const row of listings) {
      const times = [
        row.OriginalEntryTimestamp,
        row.OnMarketTimestamp ?? row.OriginalEntryTimestamp,
        row.StatusChangeTimestamp,
        row.ModificationTimestamp,
      ].map(String)
      expect(times).toEqual([...times].sort())
      for (const field of ['PriceChangeTimestamp', 'PhotosChangeTimestamp', 'MajorChangeTimestamp'])
        expect(String(row[field] ?? '') <= String(row.ModificationTimestamp)).toBe(true)
      expect(String(row.ModificationTimestamp) < '2026-11-01').toBe(true)
    }
    expect(new Set(listings.map(row => row.ModificationTimestamp)).size).toBe(listings.length)
  })

  test('has a plausible price, and only lower prices after changes', () => {
    for (const row of listings.filter(candidate => candidate.PreviousListPrice !== null)) {
      expect(Number(row.PreviousListPrice)).toBeGreaterThan(Number(row.ListPrice))
      expect(Number(row.OriginalListPrice)).toBeGreaterThanOrEqual(Number(row.PreviousListPrice))
    }
    const prices = visible
      .filter(row => row.PropertyType === 'Residential')
      .map(row => Number(row.ListPrice))
      .sort((a, b) => a - b)
    const middle = prices[prices.length >> 1] ?? 0
    expect(middle).toBeGreaterThan(200_000)
    expect(middle).toBeLessThan(1_500_000)
  })

  test('has ties, nulls, quotes, other scripts and both kinds of restricted display', () => {
    expect(new Set(listings.map(row => row.ListPrice)).size).toBeLessThan(listings.length * 0.9)
    expect(new Set(listings.map(row => row.ListingContractDate)).size).toBeLessThan(listings.length * 0.9)
    expect(listings.some(row => row.PublicRemarks === null)).toBe(true)
    expect(listings.some(row => String(row.City) === "Coeur d'Alene")).toBe(true)
    const remarks = listings.map(row => row.PublicRemarks).join()
    for (const text of ['"', "'", 'São', '🌲', 'ようこそ', '%', '&']) expect(remarks).toContain(text)
    for (const field of ['InternetEntireListingDisplayYN', 'InternetAddressDisplayYN'])
      expect(listings.filter(row => row[field] === false).length).toBeGreaterThan(10)
    for (const length of [0, 1, 2, 5])
      expect(listings.some(row => Array.isArray(row.Appliances) && row.Appliances.length === length)).toBe(
        true,
      )
  })

  test('refers to existing people, and is in the Northwest', () => {
    const members = new Set(rowsOf('Member').map(row => row.MemberKey))
    const offices = new Set(rowsOf('Office').map(row => row.OfficeKey))
    for (const row of listings) {
      for (const field of ['ListAgentKey', 'CoListAgentKey', 'BuyerAgentKey'])
        expect(row[field] === null || members.has(row[field])).toBe(true)
      for (const field of ['ListOfficeKey', 'BuyerOfficeKey'])
        expect(row[field] === null || offices.has(row[field])).toBe(true)
      expect(Number(row.Latitude)).toBeGreaterThan(42)
      expect(Number(row.Latitude)).toBeLessThan(49)
      expect(Number(row.Longitude)).toBeGreaterThan(-123)
      expect(Number(row.Longitude)).toBeLessThan(-111)
    }
  })

  test.each([
    ['Media', 'ResourceRecordKey', 3, 12],
    ['Rooms', 'ListingKey', 3, 10],
  ] as const)('has %s, a few have none', (name, column, least, most) => {
    const counts = new Map<unknown, number>()
    for (const row of rowsOf(name)) counts.set(row[column], (counts.get(row[column]) ?? 0) + 1)
    expect(Math.min(...counts.values())).toBe(least)
    expect(Math.max(...counts.values())).toBe(most)
    expect(counts.size).toBeLessThan(listings.length)
    expect(counts.size).toBeGreaterThan(listings.length * 0.85)
  })

  test('counts its photos', () => {
    for (const row of listings.slice(0, 100)) {
      expect(row.PhotosCount).toBe(
        rowsOf('Media').filter(
          item => item.ResourceRecordKey === row.ListingKey && item.MediaCategory === 'Photo',
        ).length,
      )
    }
  })
})

describe('the lookups', () => {
  test('declare that Sold is Closed in the standard', async () => {
    const sold = (await readLookups()).find(row => row.LookupKey === 'StandardStatus-Sold')
    expect(sold).toMatchObject({ LookupValue: 'Sold', StandardLookupValue: 'Closed' })
  })

  test('read quoted cells', async () => {
    expect((await readLookups()).map(row => row.LookupValue)).toContain('Graduate, REALTOR Institute / GRI')
  })

  test('have their own key and a field that accepts them', async () => {
    const rows = await readLookups()
    expect(new Set(rows.map(row => row.LookupKey)).size).toBe(rows.length)
    const used = new Set([...ENTITIES.values()].flatMap(e => e.scalars).map(field => field.lookup?.name))
    expect([...new Set(rows.map(row => row.LookupName))].filter(name => !used.has(name))).toEqual([])
  })
})
