/** How much one query may ask for. The values are settings (config.ts). */
export interface QueryLimits {
  /** Records of a page when the client names no number, and at most. */
  readonly pageSize: number
  readonly pageSizeMax: number
  /** At most this many records of a page when related records are expanded. */
  readonly expandPageMax: number
  /** `$top` is the number of records over all pages, as OData has it, and not the size of each. */
  readonly topIsTotal: boolean
  /** Levels of $expand in $expand. */
  readonly expandDepth: number
}

/** Largest `$skip` (interface 4.6, 8). */
export const SKIP_MAX = 100_000

/** Entities whose text is indexed for `$search`. */
export const SEARCHABLE: ReadonlySet<string> = new Set(['Property'])
