/** Limits of a query. The values are settings (config.ts). */
export interface QueryLimits {
  /** Default and maximum number of records per page. */
  readonly pageSize: number
  readonly pageSizeMax: number
  /** Maximum number of records per page with expanded records. */
  readonly expandPageMax: number
  /** `$top` limits the records of all pages together, as in OData, instead of those of each page. */
  readonly topIsTotal: boolean
  /** Maximum nesting of `$expand`. */
  readonly expandDepth: number
}

/** Maximum `$skip` (interface 4.6, 8). */
export const MAX_SKIP = 100_000

/** Maximum number of records per page that have nothing but their key and `LastEventSequence`. */
export const MAX_KEY_PAGE = 10_000

/** Maximum length of the name of a computed value in bytes: the limit of column names in PostgreSQL. */
export const MAX_NAME_BYTES = 63

/**
 * Maximum number of parts of a computed value, including the computed values it uses. A value can use another
 * one twice, so a short text could otherwise grow exponentially.
 */
export const MAX_COMPUTED_PARTS = 1000

/**
 * Maximum number of functions and operators that a query evaluates for each record. Four nested lambdas,
 * about 50,000 of them, took 2 s on 500 listings with 7 media each. Five nested lambdas took 15 s.
 */
export const MAX_EVALUATIONS = 20_000

/**
 * Maximum number of patterns in one query. A session of PostgreSQL caches 32 compiled patterns. With more it
 * compiles each pattern again for every record, which made a query with 120 patterns twenty times slower.
 */
export const MAX_PATTERNS = 24

/** Entities whose text is indexed for `$search`. */
export const SEARCHABLE_ENTITIES: ReadonlySet<string> = new Set(['Property'])

/**
 * Maximum number of nested collections in an expansion. Each level multiplies the size of the response:
 * alternating rooms and their listings gave 88 MB for a page of 100.
 */
export const MAX_NESTED_COLLECTIONS = 2
