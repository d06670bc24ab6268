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
  /** Types and links of every record and field. Undefined: clients derive them from the model. */
  readonly full?: FullMetadata
  /** Writes decimals and 64-bit integers as JSON strings, for readers with binary numbers. */
  readonly numbersAsText: boolean
}

/** The names of the members for types and links, and what their values begin with. */
export interface FullMetadata {
  /** Member for the type of a record, and suffix of a field's name in the member for its type. */
  readonly type: string
  /** Member for the URL of a record. */
  readonly id: string
  /** Member for the URL by which a record is changed. */
  readonly editLink: string
  /** Suffixes of a navigation name in the members for the URLs of the related records and of references. */
  readonly navigationLink: string
  readonly associationLink: string
  /** Prefix of the URLs: the service root. */
  readonly root: string
  /** Prefix of the names of entity types, and of those of primitive types. */
  readonly entityTypePrefix: string
  readonly primitiveTypePrefix: string
}

/** No additional members, for records that the service itself reads. */
export const BARE_REPRESENTATION: Representation = { reference: '', countSuffix: '', numbersAsText: false }
