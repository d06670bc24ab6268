/**
 * What the rules of a write must know of the record as it is stored. Decimals are exact texts, as in
 * `Values`.
 */
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

/** What a record is changed from when it is created. */
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
