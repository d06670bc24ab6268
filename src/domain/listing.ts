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
}
