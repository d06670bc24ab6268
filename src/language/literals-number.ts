import type { LiteralType, Value } from '../query/ast.js'

/**
 * Maximum number of digits on each side of the decimal point: the range of Edm.Double, the widest numeric
 * type.
 */
const MAX_DIGITS = 308

const NUMBER = /^([+-]?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i

/** Returns true for a number in any range, such as `1e-400`. */
export const isNumber = (text: string): boolean => NUMBER.test(text)

const INT32 = 2n ** 31n
const INT64 = 2n ** 63n

/**
 * Reads a number. Its type depends on its size and form. Int32 is returned as a number, other types as text.
 * Exponents are expanded, so that `2.5e5` stays exact. An exponent beyond the digits of a Decimal gives a
 * Double, like `1.7976931348623157e308`. Returns undefined if no type can represent the number.
 */
export function readNumberLiteral(
  text: string,
): { readonly type: LiteralType; readonly value: Value } | undefined {
  if (text === '-INF') return { type: 'Double', value: text }
  if (!/^[+-]?\d+$/.test(text)) {
    const value = toPlainDecimal(text)
    return value === undefined ? readDoubleLiteral(text) : { type: 'Decimal', value }
  }
  if (text.length > MAX_DIGITS) return undefined
  const whole = BigInt(text.replace(/^\+/, ''))
  const fits = (limit: bigint) => whole >= -limit && whole < limit
  if (fits(INT32)) return { type: 'Int32', value: Number(whole) }
  return { type: fits(INT64) ? 'Int64' : 'Decimal', value: whole.toString() }
}

/** Reads a number with an exponent as a Double that is neither infinite nor rounded to zero. */
function readDoubleLiteral(text: string): { readonly type: LiteralType; readonly value: Value } | undefined {
  const number = /e/i.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) && number !== 0 ? { type: 'Double', value: String(number) } : undefined
}

/**
 * Returns a decimal text without exponent, plus sign and leading zeros, or undefined for other text or a
 * number out of range.
 */
export function toPlainDecimal(text: string): string | undefined {
  const parts = NUMBER.exec(text)
  if (!parts) return undefined
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts
  const point = whole.length + Number(exponent)
  const digits = whole + fraction
  if (Math.abs(point) > MAX_DIGITS || digits.length > 2 * MAX_DIGITS) return undefined
  const front =
    digits
      .slice(0, Math.max(point, 0))
      .padEnd(point, '0')
      .replace(/^0+(?=\d)/, '') || '0'
  const back = point < 0 ? '0'.repeat(-point) + digits : digits.slice(point)
  return `${sign === '-' ? '-' : ''}${front}${back && `.${back}`}`
}
