/**
 * How an adapter writes records beside their fields. The JSON of a record is finished where it is read, so
 * what an adapter adds to it (an ETag, how many related records there are) is part of the reading and has its
 * name here.
 */
export interface Representation {
  /** Member that holds the ETag of a record; absent: none. */
  readonly etag?: string
  /** Member that holds the address of a record that is only referred to, relative to the service root. */
  readonly reference: string
  /** Behind the name of a navigation: how many related records there are. */
  readonly countSuffix: string
  /**
   * Behind the name of a field that the reader may not see, with what is said about it; absent: nothing is
   * said.
   */
  readonly restricted?: { readonly suffix: string; readonly value: string }
  /** Decimals and 64-bit integers as JSON strings, for readers whose numbers are binary. */
  readonly numbersAsText: boolean
}

/** Nothing beside the fields: for records that the service reads for itself. */
export const BARE_REPRESENTATION: Representation = { reference: '', countSuffix: '', numbersAsText: false }
