/**
 * The JSON members that an adapter adds to each record. The database builds the JSON of a record, so these
 * members are part of the statement and an adapter chooses their names here.
 */
export interface Representation {
  /** Member for the ETag of a record. Undefined: no ETag. */
  readonly etag?: string
  /** Member for the URL of a reference, relative to the service root. */
  readonly reference: string
  /** Suffix of a navigation name in the member that counts the related records. */
  readonly countSuffix: string
  /**
   * Suffix and value of the member that marks a field as unreadable. Undefined: unreadable fields are not
   * marked.
   */
  readonly restricted?: { readonly suffix: string; readonly value: string }
  /** Writes decimals and 64-bit integers as JSON strings, for readers with binary numbers. */
  readonly numbersAsText: boolean
}

/** No additional members, for records that the service itself reads. */
export const BARE_REPRESENTATION: Representation = { reference: '', countSuffix: '', numbersAsText: false }
