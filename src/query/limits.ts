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
export const MAX_SKIP = 100_000

/** Longest name of a computed value, in bytes: columns of PostgreSQL are named no longer. */
export const MAX_NAME_BYTES = 63

/**
 * Parts of one computed value, with all the computed values in it: each of these may stand there twice, so
 * that a short text could grow without end.
 */
export const MAX_COMPUTED_PARTS = 1000

/** Entities whose text is indexed for `$search`. */
export const SEARCHABLE_ENTITIES: ReadonlySet<string> = new Set(['Property'])

/**
 * Collections that one expansion may hold within each other. Each multiplies the answer: rooms of the
 * listings of rooms and so on made 88 MB of one page of 100.
 */
export const MAX_NESTED_COLLECTIONS = 2
