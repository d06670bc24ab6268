/** The stored fields that the rules of a write read. Decimals are exact strings, as in `Values`. */
export interface Listing {
  readonly StandardStatus: string | null
  readonly ContractStatus: string | null
  readonly ListPrice: string | null
  readonly OriginalListPrice: string | null
  readonly SoldPrice: string | null
  readonly OnMarketTimestamp: string | null
  readonly ListAgentKey: string | null
  readonly ListOfficeKey: string | null
  readonly InternetEntireListingDisplayYN: boolean | null
}

/** The stored fields of a record that does not exist yet. */
export const NO_LISTING: Listing = {
  StandardStatus: null,
  ContractStatus: null,
  ListPrice: null,
  OriginalListPrice: null,
  SoldPrice: null,
  OnMarketTimestamp: null,
  ListAgentKey: null,
  ListOfficeKey: null,
  InternetEntireListingDisplayYN: null,
}

/** A stored listing, with its version, for the rules of a write. */
export interface StoredListing extends Listing {
  /** The version in its ETag. */
  readonly RecordVersion: string
}

/** Records that a write refers to: the office of each existing member, and the existing offices. */
export interface ReferencedRecords {
  readonly members: ReadonlyMap<string, string | null>
  readonly offices: ReadonlySet<string>
}
