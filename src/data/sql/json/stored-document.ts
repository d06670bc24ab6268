import { raw, type Sql } from 'sql-template-tag'
import { getEntity, type Scalar } from '../../../model/model.js'
import { memoize } from '../../../query/memoize.js'
import type { Plan, SelectItem } from '../../../query/plan.js'
import type { Representation } from '../../../query/representation.js'

const PROPERTY = getEntity('Property')

/**
 * What changes of price and status write. A document that held it would be made anew each time, which cost
 * more than all else of such a change.
 */
const VOLATILE_FIELDS: ReadonlySet<string> = new Set([
  'StandardStatus', 'MlsStatus', 'ContractStatus', 'ListPrice', 'OriginalListPrice', 'PreviousListPrice', 'ModificationTimestamp', 'StatusChangeTimestamp',
  'PriceChangeTimestamp', 'MajorChangeTimestamp', 'MajorChangeType', 'OnMarketDate', 'OnMarketTimestamp', 'ContractStatusChangeDate', 'CloseDate',
]) // biome-ignore format: words

/**
 * The fields that stand as finished JSON in the column Document, in the order of the model: what every reader
 * may see in every listing, and what seldom changes.
 */
export const STORED_FIELDS: readonly Scalar[] = PROPERTY.scalars.filter(
  s => s.readableBy === 'everyone' && !s.address && !VOLATILE_FIELDS.has(s.name),
)

/**
 * What is left to select beside the stored fields; undefined: not all of these are selected, or under other
 * names.
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
    ? select.filter(s => s.kind !== 'field' || !STORED_FIELD_SET.has(s.scalar))
    : undefined
})
const STORED_FIELD_SET: ReadonlySet<Scalar> = new Set(STORED_FIELDS)

/**
 * A plan that reads the stored JSON: what is still to be built of each record, and the column with the rest.
 */
export interface StoredDocumentPlan {
  readonly plan: Plan
  readonly document: Sql
}

/**
 * Full records are read rather than built, which was the larger part of their cost (docs/performance.md).
 * Undefined for plans that the text does not serve: those that leave a field out, rename or arrange fields,
 * or want numbers as text.
 */
export function toStoredDocumentPlan(
  plan: Plan,
  { numbersAsText }: Representation,
): StoredDocumentPlan | undefined {
  if (plan.entity !== PROPERTY || plan.from || plan.metaFields || plan.memberOrder || numbersAsText)
    return undefined
  const select = selectBesideDocument(plan.select)
  // Only a writer that switches triggers off leaves the column empty.
  return (
    select && {
      plan: { ...plan, select },
      document: raw(`coalesce(${plan.row}."Document", listing_document(${plan.row}))`),
    }
  )
}

/** The JSON of a record out of its two parts. Control information stands in the first. */
export const mergeStoredDocument = (recordJson: string, document: string): string =>
  recordJson === '{}' ? document : `${recordJson.slice(0, -1)},${document.slice(1)}`
