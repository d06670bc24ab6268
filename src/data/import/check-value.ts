import { deflateRawSync } from 'node:zlib'
import { isStatus } from '../../domain/lifecycle.js'
import { IMPORT_FAULTS, IMPORT_WARNINGS } from '../../errors/import-faults.js'
import type { Entity, Scalar } from '../../model/model.js'
import { INDEXES } from '../sql/indexes.js'
import { type MisreadText, REPLACEMENT_CHARACTER } from './decode-text.js'
import type { RecordIssue } from './issues.js'
import type { ColumnValue } from './record.js'

/** The context of a value check. */
export interface RecordContext {
  /** Time of the import, in ms since 1970. */
  readonly now: number
  readonly misread?: MisreadText | undefined
}

/** An issue of a value, before its record and field are added. */
type ValueIssue = Pick<RecordIssue, 'kind' | 'reason'>

/** Listings expire and open houses take place within a few years. */
const FAR_FUTURE_YEARS = 10
/** Maximum size of an entry of a B-tree, after compression. */
const MAX_INDEXED_BYTES = 2_704
const AMOUNT = /(?:Price|Fee|Amount)$/

/** Yields the issues of a value that has the right type. */
export function* checkValue(
  entityType: Entity,
  field: Scalar,
  value: ColumnValue,
  context: RecordContext,
): Generator<ValueIssue> {
  if (field.type === 'String') yield* checkTexts(entityType, field, [value].flat().map(String), context)
  else if (field.type === 'Decimal' && AMOUNT.test(field.name) && Number(value) < 0)
    yield { kind: 'negative', reason: IMPORT_WARNINGS.negative(String(value)) }
  else if (field.type === 'Date' || field.type === 'DateTimeOffset')
    yield* checkTime(field, String(value), context)
}

function* checkTexts(
  entityType: Entity,
  field: Scalar,
  texts: readonly string[],
  { misread }: RecordContext,
): Generator<ValueIssue> {
  if (misread && texts.some(text => misread.pattern.test(text)))
    yield { kind: 'fault', reason: misread.reason }
  else if (texts.some(text => text.includes(REPLACEMENT_CHARACTER)))
    yield { kind: 'lost letters', reason: IMPORT_WARNINGS.lostLetters }
  if (isIndexed(entityType, field) && texts.some(isTooLargeForIndex))
    yield {
      kind: 'fault',
      reason: IMPORT_FAULTS.tooLongForIndex(MAX_INDEXED_BYTES),
    }
  const [text = ''] = texts
  if (field.lookup?.name === 'StandardStatus' && !isStatus(text))
    yield { kind: 'status', reason: IMPORT_WARNINGS.status(text) }
}

const isIndexed = (entityType: Entity, { name, collection }: Scalar): boolean =>
  !collection &&
  (INDEXES[entityType.name] ?? []).some(
    ({ keyColumns, includedColumns }) => keyColumns.includes(name) || includedColumns.includes(name),
  )

/** Returns true if a text never fits in an index: Deflate compresses better than PostgreSQL. */
const isTooLargeForIndex = (text: string): boolean =>
  Buffer.byteLength(text) > MAX_INDEXED_BYTES && deflateRawSync(text).length > MAX_INDEXED_BYTES

function* checkTime(field: Scalar, text: string, { now }: RecordContext): Generator<ValueIssue> {
  if (isFutureModificationTimestamp(field, text, now))
    yield { kind: 'ahead of clock', reason: IMPORT_WARNINGS.aheadOfClock(text) }
  else if (Date.parse(text) > farFutureFrom(now))
    yield { kind: 'far future', reason: IMPORT_WARNINGS.farFuture(text, FAR_FUTURE_YEARS) }
}

/**
 * Returns true for a ModificationTimestamp at most ten years in the future, as from a clock that is ahead. It is
 * replaced by the time of the import. A later time was chosen by the source system and is stored unchanged.
 */
export function isFutureModificationTimestamp(field: Scalar, text: string, now: number): boolean {
  const time = Date.parse(text)
  return isModificationTimestamp(field) && time > now && time <= farFutureFrom(now)
}

const farFutureFrom = (now: number): number => {
  const limit = new Date(now)
  return limit.setUTCFullYear(limit.getUTCFullYear() + FAR_FUTURE_YEARS)
}

/** Returns true for ModificationTimestamp, which the service sets if a record does not contain it. */
export const isModificationTimestamp = ({ name }: Scalar): boolean => name === 'ModificationTimestamp'
