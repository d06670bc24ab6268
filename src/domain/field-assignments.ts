import { getEntity, getScalar, type Scalar } from '../model/model.js'
import {
  allOf,
  anyOf,
  type Expr,
  FALSE,
  isFalse,
  nullLiteral,
  predicate,
  TRUE,
  textLiteral,
} from '../query/plan.js'
import { type EvaluationContext, evaluate, isMet } from './evaluate.js'
import { INITIAL_STATUS, type ListingStatus, statusFields } from './lifecycle.js'
import type { Values } from './values.js'
import { NOW, storedValue, TODAY, type WriteShape, writtenValue } from './write-shape.js'

const PROPERTY = getEntity('Property')

/**
 * A field that a write sets besides the values of its body, if `when` holds for the stored record. If several
 * assignments of a field have a condition that holds, the last one applies.
 */
export interface Assignment {
  readonly field: Scalar
  readonly when: Expr
  readonly value: Expr
}

const assign = (name: string, value: Expr, when: Expr): Assignment => ({
  field: getScalar(PROPERTY, name),
  when,
  value,
})

/** Returns the fields that the service sets in a new record, besides those derived from its values. */
export function draftFields(key: string, system: string, now: Date): Values {
  return {
    OriginatingSystemName: system,
    OriginatingSystemKey: key,
    OriginalEntryTimestamp: now.toISOString(),
    StatusChangeTimestamp: now.toISOString(),
    ContractStatusChangeDate: now.toISOString().slice(0, 10),
    PhotosCount: 0,
    ...statusFields(INITIAL_STATUS),
  }
}

/**
 * Returns the fields that the service sets because of a write. The database sets
 * ModificationTimestamp.
 */
export const assignmentsOf = (shape: WriteShape): readonly Assignment[] =>
  [
    ...clearAssignments(shape),
    ...priceAssignments(shape),
    ...(shape.status === undefined ? [] : statusAssignments(shape, shape.status)),
    ...saleAssignments(shape),
  ].filter(({ when }) => !isFalse(when))

/** Returns the values that the assignments give a record. */
export function assignedValues(assignments: readonly Assignment[], context: EvaluationContext): Values {
  const effective = assignments.filter(({ when }) => isMet(when, context))
  return Object.fromEntries(effective.map(({ field, value }) => [field.name, evaluate(value, context)]))
}

/** PUT clears a field only where the token can read it. */
const clearAssignments = ({ clears }: WriteShape): readonly Assignment[] =>
  [...clears].map(([name, when]) => assign(name, emptyValue(getScalar(PROPERTY, name)), when))

const emptyValue = ({ collection, type }: Scalar): Expr =>
  collection ? { kind: 'list', items: [], type: `Collection(${type})` } : nullLiteral(type)

/**
 * Derives the price fields. The first price becomes OriginalListPrice. A price that is created with its
 * record is not a price change. A draft has no major changes, since only its writers have seen it.
 */
function priceAssignments(shape: WriteShape): readonly Assignment[] {
  const price = writtenValue(shape, 'ListPrice')
  if (!price) return []
  const before = storedValue(shape, 'ListPrice')
  const isChanged = predicate('ne', price, before)
  const isFirst = allOf(isChanged, isNull(storedValue(shape, 'OriginalListPrice')))
  const isMajor = allOf(isChanged, isPublishedAfter(shape))
  const hadPrice = allOf(isChanged, isPresent(before))
  return [
    ...(shape.fields.get('ListPrice') === 'null'
      ? []
      : [
          assign('OriginalListPrice', price, isFirst),
          assign('OriginalListPrice', before, allOf(isFirst, isPresent(before))),
        ]),
    assign('PreviousListPrice', before, hadPrice),
    ...(shape.mode === 'create' ? [] : [assign('PriceChangeTimestamp', NOW, isChanged)]),
    assign('MajorChangeTimestamp', NOW, isMajor),
    assign('MajorChangeType', textLiteral('Price Change'), isMajor),
  ]
}

function isPublishedAfter(shape: WriteShape): Expr {
  if (shape.status !== undefined) return shape.status === INITIAL_STATUS ? FALSE : TRUE
  const status = storedValue(shape, 'StandardStatus')
  return allOf(isPresent(status), predicate('ne', status, textLiteral(INITIAL_STATUS)))
}

function statusAssignments(shape: WriteShape, status: ListingStatus): readonly Assignment[] {
  const isChanged = predicate('ne', storedValue(shape, 'StandardStatus'), textLiteral(status))
  const fields = statusFields(status)
  const isNewContract = predicate(
    'ne',
    storedValue(shape, 'ContractStatus'),
    textLiteral(fields.ContractStatus),
  )
  const isFirstTime = isNull(storedValue(shape, 'OnMarketTimestamp'))
  return [
    ...Object.entries(fields).map(([name, value]) => assign(name, textLiteral(value), isChanged)),
    assign('StatusChangeTimestamp', NOW, isChanged),
    assign('MajorChangeTimestamp', NOW, isChanged),
    ...majorChangeTypes(shape, status, isChanged),
    assign('ContractStatusChangeDate', TODAY, allOf(isChanged, isNewContract)),
    ...(status === 'Active'
      ? [
          assign('OnMarketDate', TODAY, allOf(isChanged, isFirstTime)),
          assign('OnMarketTimestamp', NOW, allOf(isChanged, isFirstTime)),
        ]
      : []),
    ...(status === 'Sold' ? [assign('CloseDate', TODAY, isChanged)] : []),
  ]
}

/** Sets MajorChangeType to a value of the lookup ChangeType. */
function majorChangeTypes(shape: WriteShape, status: ListingStatus, isChanged: Expr): readonly Assignment[] {
  const type = (value: string, when: Expr) => assign('MajorChangeType', textLiteral(value), when)
  if (status === 'Sold') return [type('Closed', isChanged)]
  if (status !== 'Active') return [type(status, isChanged)]
  const from = storedValue(shape, 'StandardStatus')
  const isNew = anyOf(
    isNull(from),
    ...[INITIAL_STATUS, 'Coming Soon'].map(other => predicate('eq', from, textLiteral(other))),
  )
  return [type('Back On Market', isChanged), type('New Listing', allOf(isChanged, isNew))]
}

/** Copies SoldPrice to ClosePrice when the listing is sold, and when SoldPrice is corrected later. */
function saleAssignments(shape: WriteShape): readonly Assignment[] {
  const { status } = shape
  const written = shape.fields.get('SoldPrice') === 'null' ? undefined : writtenValue(shape, 'SoldPrice')
  if (status === undefined ? !shape.fields.has('SoldPrice') : status !== 'Sold') return []
  const isSold =
    status === undefined ? predicate('eq', storedValue(shape, 'StandardStatus'), textLiteral('Sold')) : TRUE
  return [assign('ClosePrice', written ?? storedValue(shape, 'SoldPrice'), isSold)]
}

const isNull = (expr: Expr): Expr => predicate('eq', expr, nullLiteral(expr.type as 'String'))
const isPresent = (expr: Expr): Expr => predicate('ne', expr, nullLiteral(expr.type as 'String'))
