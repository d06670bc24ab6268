import { raw, type Sql } from 'sql-template-tag'
import { getEntity, type Scalar } from '../../../model/model.js'
import { memoize } from '../../../query/memoize.js'
import type { Plan, SelectItem } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'

const PROPERTY = getEntity('Property')

/**
 * Fields that changes of price and status write. They are not in the stored document, since rebuilding it
 * would cost more than the rest of such a change.
 */
const VOLATILE_FIELDS: ReadonlySet<string> = new Set([
  'StandardStatus', 'MlsStatus', 'ContractStatus', 'ListPrice', 'OriginalListPrice', 'PreviousListPrice', 'ModificationTimestamp', 'LastEventSequence',
  'StatusChangeTimestamp', 'PriceChangeTimestamp', 'MajorChangeTimestamp', 'MajorChangeType', 'OnMarketDate', 'OnMarketTimestamp', 'ContractStatusChangeDate', 'CloseDate',
]) // biome-ignore format: words

/**
 * Fields in the column Document, which stores their JSON in the order of the model: fields that every reader
 * can read in every listing and that seldom change.
 */
export const STORED_FIELDS: readonly Scalar[] = PROPERTY.scalars.filter(
  s => s.readableBy === 'everyone' && !s.address && !VOLATILE_FIELDS.has(s.name),
)

/**
 * Returns the items to select besides the stored fields, or undefined if some stored fields are not selected
 * or are renamed. The key is among them, although it is stored: records begin with it.
 */
const selectBesideDocument = memoize(function selectBesideDocument(
  select: Plan['select'],
): readonly SelectItem[] | undefined {
  const plain = new Set(
    select
      .filter(s => s.kind === 'field' && s.as === undefined && !s.readableIf)
      .map(s => s.kind === 'field' && s.scalar),
  )
  return STORED_FIELDS.every(scalar => plain.has(scalar))
    ? select.filter(s => s.kind !== 'field' || s.scalar === PROPERTY.key || !STORED_FIELD_SET.has(s.scalar))
    : undefined
})
const STORED_FIELD_SET: ReadonlySet<Scalar> = new Set(STORED_FIELDS)

/** A plan for the part of the JSON that is not stored, and the column with the stored part. */
export interface StoredDocumentPlan {
  readonly plan: Plan
  readonly document: Sql
}

/**
 * Returns the plan that reads whole records from their stored document, since building the JSON was the
 * larger part of their cost (docs/techniques.md). Returns undefined for plans that omit, rename or reorder
 * fields, or write numbers as text.
 *   → `coalesce(r0."Document", listing_document(r0))`
 */
export function toStoredDocumentPlan(
  plan: Plan,
  { numbersAsText, full }: Representation,
): StoredDocumentPlan | undefined {
  if (
    plan.entity !== PROPERTY ||
    plan.from ||
    plan.controlInformation ||
    plan.memberOrder ||
    numbersAsText ||
    full
  )
    return undefined
  const select = selectBesideDocument(plan.select)
  // The column is empty only after a write without triggers.
  return (
    select && {
      plan: { ...plan, select },
      document: raw(`coalesce(${plan.row}."Document", listing_document(${plan.row}))`),
    }
  )
}

/** The stored member after the key. Within a string the first quote would be escaped. */
const SECOND_MEMBER = `,${JSON.stringify(STORED_FIELDS[1]?.name)}:`

/**
 * Merges the two parts of a record's JSON. The first has the control information and the key. The key is
 * removed from the second.
 *   `{"ListingKey":"K","ListPrice":1}`, `{"ListingKey":"K","ListingId":"5"}` →
 *   `{"ListingKey":"K","ListPrice":1,"ListingId":"5"}`
 */
export const mergeStoredDocument = (recordJson: string, document: string): string =>
  recordJson.slice(0, -1) + document.slice(document.indexOf(SECOND_MEMBER))
