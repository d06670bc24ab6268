import { raw, type Sql } from 'sql-template-tag'
import { entity, type Scalar } from '../../../model/model.js'
import { remember } from '../../../query/memoize.js'
import type { Plan, Selected } from '../../../query/plan.js'
import type { Notation } from '../../../query/representation.js'

const PROPERTY = entity('Property')

/**
 * What changes of price and status write. A document that held it would be made anew each time, which cost
 * more than all else of such a change.
 */
const MOVING: ReadonlySet<string> = new Set([
  'StandardStatus', 'MlsStatus', 'ContractStatus', 'ListPrice', 'OriginalListPrice', 'PreviousListPrice', 'ModificationTimestamp', 'StatusChangeTimestamp',
  'PriceChangeTimestamp', 'MajorChangeTimestamp', 'MajorChangeType', 'OnMarketDate', 'OnMarketTimestamp', 'ContractStatusChangeDate', 'CloseDate',
]) // biome-ignore format: words

/**
 * The fields that stand as finished JSON in the column Document, in the order of the model: what every reader
 * may see in every listing, and what seldom changes.
 */
export const STORED: readonly Scalar[] = PROPERTY.scalars.filter(
  s => s.readableBy === 'everyone' && !s.address && !MOVING.has(s.name),
)

/**
 * What is left to select beside the stored fields; undefined: not all of these are selected, or under other
 * names.
 */
const besideStored = remember((select: Plan['select']): readonly Selected[] | undefined => {
  const plain = new Set(
    select
      .filter(s => s.kind === 'field' && s.as === undefined && !s.readableIf)
      .map(s => s.kind === 'field' && s.scalar),
  )
  return STORED.every(scalar => plain.has(scalar))
    ? select.filter(s => s.kind !== 'field' || !IS_STORED.has(s.scalar))
    : undefined
})
const IS_STORED: ReadonlySet<Scalar> = new Set(STORED)

/**
 * A plan that reads the stored JSON: what is still to be built of each record, and the column with the rest.
 */
export interface StoredPlan {
  readonly plan: Plan
  readonly document: Sql
}

/**
 * Full records are read rather than built, which was the larger part of their cost (docs/performance.md).
 * Undefined for plans that the text does not serve: those that leave a field out, rename or arrange fields,
 * or want numbers as text.
 */
export function toStoredPlan(plan: Plan, { numbersAsText }: Notation): StoredPlan | undefined {
  if (plan.entity !== PROPERTY || plan.from || plan.marks || plan.layout || numbersAsText) return undefined
  const select = besideStored(plan.select)
  // Only a writer that switches triggers off leaves the column empty.
  return (
    select && {
      plan: { ...plan, select },
      document: raw(`coalesce(${plan.row}."Document", listing_document(${plan.row}))`),
    }
  )
}

/** The JSON of a record out of its two parts. Control information stands in the first. */
export const joinStored = (built: string, document: string): string =>
  built === '{}' ? document : `${built.slice(0, -1)},${document.slice(1)}`
