import type { Scalar } from '../../model/model.js'
import type { LiteralExpr } from '../../query/plan.js'
import { type ComparisonOperator, isOrderingOperator } from '../sql/comparison.js'
import { Prisma } from './client/client.js'
import { notExpressible } from './not-expressible.js'

/**
 * A literal among the values of a column: the value itself, the next lower value of the column, or a position
 * beyond all of them.
 */
export type LiteralPosition =
  | { readonly kind: 'exact' | 'between'; readonly value: string | number | bigint | boolean }
  | { readonly kind: 'above' | 'below' }

const INTEGER_RANGES = {
  Int32: { min: -(2n ** 31n), max: 2n ** 31n - 1n },
  Int64: { min: -(2n ** 63n), max: 2n ** 63n - 1n },
} as const

/** Two decimals with no more digits than these differ as doubles too. */
const EXACT_DOUBLE_DIGITS = 15
const NUMERIC_TYPES: ReadonlySet<string> = new Set(['Int32', 'Int64', 'Decimal', 'Double'])

/**
 * Returns a literal other than null as a value of a column. A literal can have a wider type than the column.
 *   `DaysOnMarket lt 7.5` → between 7 and 8; `DaysOnMarket lt 9999999999` → above
 * @throws NotExpressibleError for a value that the comparison would round
 */
export function toColumnValue(scalar: Scalar, literal: LiteralExpr): LiteralPosition {
  const { type } = scalar
  const text = String(literal.value)
  if (NUMERIC_TYPES.has(type) && NUMERIC_TYPES.has(literal.type)) return toNumber(scalar, literal, text)
  if (literal.type !== type) return notExpressible(`a comparison of ${type} with ${literal.type}`)
  switch (type) {
    case 'String':
    case 'Boolean':
      return { kind: 'exact', value: literal.value ?? '' }
    case 'Date':
      return { kind: 'exact', value: `${checkYear(text)}T00:00:00.000Z` }
    case 'DateTimeOffset': {
      const [start, fraction = ''] = checkYear(text).replace(/Z$/, '').split('.')
      const kind = /[1-9]/.test(fraction.slice(3)) ? 'between' : 'exact'
      return { kind, value: `${start}.${fraction.slice(0, 3).padEnd(3, '0')}Z` }
    }
    default:
      return notExpressible(`a comparison of values of type ${type}`)
  }
}

/** A JavaScript date has years with four digits in its text. */
const checkYear = (text: string): string =>
  /^\d{4}-/.test(text) ? text : notExpressible('a year that does not have four digits')

function toNumber({ type, precision }: Scalar, literal: LiteralExpr, text: string): LiteralPosition {
  const isDouble = literal.type === 'Double'
  if (isDouble && !Number.isFinite(Number(text))) return notExpressible(`the number ${text}`)
  const number = new Prisma.Decimal(text)
  if (type === 'Decimal') {
    if (isDouble && !(precision && precision <= EXACT_DOUBLE_DIGITS && number.sd() <= EXACT_DOUBLE_DIGITS))
      return notExpressible('a comparison of a Decimal with a Double')
    return { kind: 'exact', value: number.toFixed() }
  }
  if (isDouble && type === 'Int64') return notExpressible('a comparison of an Int64 with a Double')
  return toInteger(number, type === 'Int32' ? 'Int32' : 'Int64')
}

function toInteger(number: Prisma.Decimal, type: 'Int32' | 'Int64'): LiteralPosition {
  const floor = BigInt(number.floor().toFixed())
  const { min, max } = INTEGER_RANGES[type]
  if (floor > max) return { kind: 'above' }
  if (floor < min) return { kind: 'below' }
  return { kind: number.isInteger() ? 'exact' : 'between', value: type === 'Int32' ? Number(floor) : floor }
}

/**
 * Compares two literals of one type. Returns a number below, equal to or above zero.
 * @throws NotExpressibleError for other types than exact numbers, texts and dates
 */
function compareLiterals(left: LiteralExpr, right: LiteralExpr): number {
  const [a, b] = [String(left.value), String(right.value)]
  const types = [left.type, right.type]
  if (types.every(type => NUMERIC_TYPES.has(type) && type !== 'Double'))
    return new Prisma.Decimal(a).comparedTo(new Prisma.Decimal(b))
  // The bytes of UTF-8 are in the order of code points, which is that of the "C" collation.
  if (types.every(type => type === 'String')) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  if (types.every(type => type === 'Date'))
    return Buffer.compare(Buffer.from(checkYear(a)), Buffer.from(checkYear(b)))
  return notExpressible(`a comparison of literals of type ${left.type}`)
}

/** Returns true if a comparison of two literals holds. Null equals only null. */
export function literalsCompare(fn: ComparisonOperator, left: LiteralExpr, right: LiteralExpr): boolean {
  if (left.value === null || right.value === null)
    return comparisonHolds(fn, undefined, left.value === right.value)
  const order = compareLiterals(left, right)
  return comparisonHolds(fn, order, order === 0)
}

/**
 * Returns true if a comparison holds for values in an order.
 * @param order below, equal to or above zero; undefined if one of the values is null
 */
export function comparisonHolds(
  fn: ComparisonOperator,
  order: number | undefined,
  isEqual: boolean,
): boolean {
  if (!isOrderingOperator(fn)) return (fn === 'eq') === isEqual
  if (order === undefined) return false
  if (order === 0) return fn === 'ge' || fn === 'le'
  return order > 0 ? fn === 'gt' || fn === 'ge' : fn === 'lt' || fn === 'le'
}
