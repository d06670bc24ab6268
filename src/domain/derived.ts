import type { ListingOwners } from './actor.js'
import type { ListingChanges } from './changes.js'
import { DRAFT, type ListingStatus, statusFields } from './lifecycle.js'
import { type Listing, NO_LISTING } from './listing.js'
import type { FieldValue, Values } from './values.js'

const toDate = (now: Date) => now.toISOString().slice(0, 10)

/** Returns the fields that the service sets in a new record, besides those derived from its values. */
export function draftFields(key: string, system: string, now: Date): Values {
  return {
    OriginatingSystemName: system,
    OriginatingSystemKey: key,
    OriginalEntryTimestamp: now.toISOString(),
    StatusChangeTimestamp: now.toISOString(),
    ContractStatusChangeDate: toDate(now),
    PhotosCount: 0,
    ...statusFields(DRAFT),
  }
}

/**
 * Returns the fields that the service sets because of a valid change (decisions 3). `stored` is the record
 * before the change. The database sets ModificationTimestamp.
 */
export function derivedFields(stored: Listing, changes: ListingChanges, now: Date): Values {
  const status =
    changes.status !== undefined && changes.status !== stored.StandardStatus ? changes.status : undefined
  return {
    ...priceFields(stored, changes, now),
    ...(status && statusChange(stored, status, now)),
    ...saleFields(stored, changes),
  }
}

/**
 * Derives the price fields. The first price becomes OriginalListPrice. A price that is created with its
 * record is not a price change. A draft has no major changes, since only its writers have seen it.
 */
function priceFields(stored: Listing, { values, status }: ListingChanges, now: Date): Values {
  const price = values['ListPrice']
  const before = stored.ListPrice
  if (price === undefined || price === before) return {}
  const at = now.toISOString()
  const isDraft = (status ?? stored.StandardStatus ?? DRAFT) === DRAFT
  return {
    ...(price !== null && stored.OriginalListPrice === null && { OriginalListPrice: before ?? price }),
    ...(before !== null && { PreviousListPrice: before }),
    ...(stored !== NO_LISTING && { PriceChangeTimestamp: at }),
    ...(!isDraft && { MajorChangeTimestamp: at, MajorChangeType: 'Price Change' }),
  }
}

function statusChange(stored: Listing, status: ListingStatus, now: Date): Values {
  const fields = statusFields(status)
  const at = now.toISOString()
  const published = status === 'Active' && stored.OnMarketTimestamp === null
  return {
    ...fields,
    StatusChangeTimestamp: at,
    MajorChangeTimestamp: at,
    MajorChangeType: majorChangeType(stored, status),
    ...(fields.ContractStatus !== stored.ContractStatus && { ContractStatusChangeDate: toDate(now) }),
    ...(published && { OnMarketDate: toDate(now), OnMarketTimestamp: at }),
    ...(status === 'Sold' && { CloseDate: toDate(now) }),
  }
}

/** Returns the value of the lookup ChangeType for a change to that status. */
function majorChangeType({ StandardStatus: from }: Listing, status: ListingStatus): string {
  if (status === 'Sold') return 'Closed'
  if (status !== 'Active') return status
  return from === null || from === DRAFT || from === 'Coming Soon' ? 'New Listing' : 'Back On Market'
}

/** Copies SoldPrice to ClosePrice when the listing is sold, and when SoldPrice is corrected later. */
function saleFields(stored: Listing, { values, status }: ListingChanges): Values {
  const price = values['SoldPrice'] ?? stored.SoldPrice
  const sold = (status ?? stored.StandardStatus) === 'Sold'
  return sold && (status !== undefined || 'SoldPrice' in values) ? { ClosePrice: price } : {}
}

/**
 * Returns the owners of the listing after the change. Both fields are strings, so a valid value is a string
 * or null.
 */
export const ownersAfter = (
  { ListAgentKey, ListOfficeKey }: ListingOwners,
  { values }: ListingChanges,
): ListingOwners => ({
  ListAgentKey: ownerAfter(ListAgentKey, values['ListAgentKey']),
  ListOfficeKey: ownerAfter(ListOfficeKey, values['ListOfficeKey']),
})

const ownerAfter = (stored: string | null, written: FieldValue | undefined): string | null =>
  written === undefined ? stored : typeof written === 'string' ? written : null
