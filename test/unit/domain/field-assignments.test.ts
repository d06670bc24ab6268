import { describe, expect, it } from 'vitest'
import { assignedValues, assignmentsOf, draftFields } from '../../../src/domain/field-assignments.js'
import { ListingKeyGenerator } from '../../../src/domain/keys.js'
import { type Listing, NO_LISTING } from '../../../src/domain/listing.js'
import { type ListingChanges, NO_CHANGES } from '../../../src/domain/listing-changes.js'
import { EMPTY_RULE_INPUTS, toEvaluationContext } from '../../../src/domain/write-plan.js'
import { shapeOf, toParameters } from '../../../src/domain/write-shape.js'

const NOW = new Date('2026-05-01T23:30:00.123Z')
const AT = NOW.toISOString()
const DAY = '2026-05-01'

const ACTIVE: Listing = {
  ...NO_LISTING, StandardStatus: 'Active', ContractStatus: 'Available', ListPrice: '350000.5', OriginalListPrice: '360000', OnMarketTimestamp: '2026-01-01T00:00:00.000Z', ListAgentKey: 'M1',
} // biome-ignore format: one record
const DRAFT: Listing = {
  ...NO_LISTING,
  StandardStatus: 'Incomplete',
  ContractStatus: 'Draft',
  ListAgentKey: 'M1',
}
const ANYONE = { scopes: new Set(['listings:write:any']), audience: 'staff' } as const
function derive(stored: Listing, changes: Partial<ListingChanges>) {
  const request = {
    mode: stored === NO_LISTING ? ('create' as const) : ('change' as const),
    actor: ANYONE,
    changes: { ...NO_CHANGES, ...changes },
    precondition: {},
  }
  const facts = { ...EMPTY_RULE_INPUTS, stored: { ...stored, RecordVersion: '1' } }
  const context = toEvaluationContext(facts, toParameters(request, 'K', NOW))
  return assignedValues(assignmentsOf(shapeOf(request)), context)
}

describe('fields that the service sets', () => {
  it('in a draft', () =>
    expect(draftFields('K', 'Here', NOW)).toEqual({
      OriginatingSystemName: 'Here',
      OriginatingSystemKey: 'K',
      OriginalEntryTimestamp: AT,
      StatusChangeTimestamp: AT,
      ContractStatusChangeDate: DAY,
      PhotosCount: 0,
      StandardStatus: 'Incomplete',
      MlsStatus: 'Draft',
      ContractStatus: 'Draft',
    }))

  it('nothing for other fields, the same price or the same status', () => {
    expect(derive(ACTIVE, { values: { City: 'X', ListPrice: '350000.5' }, status: 'Active' })).toEqual({})
    expect(derive(ACTIVE, { values: { SoldPrice: '5' } })).toEqual({})
  })

  it('when the price changes', () => {
    expect(derive(ACTIVE, { values: { ListPrice: '340000' } })).toEqual({
      PreviousListPrice: '350000.5',
      PriceChangeTimestamp: AT,
      MajorChangeTimestamp: AT,
      MajorChangeType: 'Price Change',
    })
    expect(derive(ACTIVE, { values: { ListPrice: null } })).toMatchObject({
      PreviousListPrice: '350000.5',
      PriceChangeTimestamp: AT,
    })
    expect(derive(DRAFT, { values: { ListPrice: '5' } })).toEqual({
      OriginalListPrice: '5',
      PriceChangeTimestamp: AT,
    })
    expect(
      derive({ ...DRAFT, ListPrice: '5', OriginalListPrice: '5' }, { values: { ListPrice: '6' } }),
    ).toEqual({
      PreviousListPrice: '5',
      PriceChangeTimestamp: AT,
    })
    expect(derive(NO_LISTING, { values: { ListPrice: '5' } })).toEqual({ OriginalListPrice: '5' })
    expect(derive({ ...ACTIVE, OriginalListPrice: null }, { values: { ListPrice: '6' } })).toMatchObject({
      OriginalListPrice: '350000.5',
    })
  })

  it('when it is published', () => {
    expect(derive(DRAFT, { status: 'Active' })).toEqual({
      StandardStatus: 'Active',
      MlsStatus: 'Active',
      ContractStatus: 'Available',
      StatusChangeTimestamp: AT,
      MajorChangeTimestamp: AT,
      MajorChangeType: 'New Listing',
      ContractStatusChangeDate: DAY,
      OnMarketDate: DAY,
      OnMarketTimestamp: AT,
    })
    const announced = derive(DRAFT, { status: 'Coming Soon' })
    expect(announced).toMatchObject({ ContractStatus: 'Available', MajorChangeType: 'Coming Soon' })
    expect(announced).not.toHaveProperty('OnMarketDate')
    expect(
      derive({ ...DRAFT, StandardStatus: 'Coming Soon', ContractStatus: 'Available' }, { status: 'Active' }),
    ).not.toHaveProperty('ContractStatusChangeDate')
  })

  it('when it is published again', () => {
    const back = derive(
      { ...ACTIVE, StandardStatus: 'Withdrawn', ContractStatus: 'Unavailable' },
      { status: 'Active' },
    )
    expect(back).toMatchObject({ MajorChangeType: 'Back On Market', ContractStatusChangeDate: DAY })
    expect(back).not.toHaveProperty('OnMarketTimestamp')
  })

  it('when it is sold, and when the price of the sale is corrected', () => {
    expect(
      derive({ ...ACTIVE, SoldPrice: '1' }, { status: 'Sold', values: { SoldPrice: '339000' } }),
    ).toMatchObject({
      MlsStatus: 'Sold',
      ContractStatus: 'Sold',
      MajorChangeType: 'Closed',
      CloseDate: DAY,
      ClosePrice: '339000',
    })
    expect(derive({ ...ACTIVE, SoldPrice: '5' }, { status: 'Sold' })).toMatchObject({ ClosePrice: '5' })
    const sold: Listing = { ...ACTIVE, StandardStatus: 'Sold', ContractStatus: 'Sold', SoldPrice: '5' }
    expect(derive(sold, { values: { SoldPrice: '6' } })).toEqual({ ClosePrice: '6' })
    expect(derive(sold, { values: { SoldPrice: '6' }, status: 'Sold' })).toEqual({ ClosePrice: '6' })
  })

  it('when price and status change together, the status is the major change', () =>
    expect(derive(ACTIVE, { status: 'Pending', values: { ListPrice: '1' } })).toMatchObject({
      PreviousListPrice: '350000.5',
      PriceChangeTimestamp: AT,
      MajorChangeType: 'Pending',
    }))
})

describe('keys of listings', () => {
  it('begin with Draft, need no encoding in a URL, and do not look like a GUID', () =>
    expect(new ListingKeyGenerator().next(NOW)).toMatch(/^Draft[0-9A-HJKMNP-TV-Z]{26}$/))

  it('sort by time, also within a millisecond and after the clock is set back', () => {
    const keys = new ListingKeyGenerator()
    const times = [0, 0, 0, 1, 1, -1000, 2, 2000].map(ms => new Date(NOW.getTime() + ms))
    const made = times.map(time => keys.next(time))
    expect(made.toSorted()).toEqual(made)
    expect(new Set(made).size).toBe(made.length)
  })

  it('of several processes differ', () => {
    const made = Array.from({ length: 1000 }, () => new ListingKeyGenerator().next(NOW))
    expect(new Set(made).size).toBe(1000)
  })
})
