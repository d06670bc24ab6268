/**
 * An exact decimal number: `digits` × 10 ^ `exponent`. `digits` has no zero at either end and is empty for
 * zero.
 */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: number
}

const NUMBER = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Parses a number in the syntax of JSON or OData, with any length and exponent. Returns undefined for other
 * text.
 */
export function readDecimal(text: string): Decimal | undefined {
  const [, sign, whole, fraction = '', power = '0'] = NUMBER.exec(text) ?? []
  if (whole === undefined) return undefined
  const all = (whole + fraction).replace(/^0+/, '')
  // A pattern for trailing zeros would take quadratic time in a text of zeros.
  let end = all.length
  while (all[end - 1] === '0') end--
  const exponent = Number(power) - fraction.length + all.length - end
  return end === 0
    ? { negative: false, digits: '', exponent: 0 }
    : { negative: sign === '-', digits: all.slice(0, end), exponent }
}

/** Returns the number of digits before the decimal point. */
export const wholeDigits = ({ digits, exponent }: Decimal) => Math.max(0, digits.length + exponent)

/** Returns the number of digits after the decimal point. */
export const fractionDigits = ({ exponent }: Decimal) => Math.max(0, -exponent)

/**
 * Renders the number without exponent and without redundant zeros, so that equal numbers have equal text. Use
 * it only for numbers of bounded length: the exponent determines the length of the result.
 */
export function renderDecimal({ negative, digits, exponent }: Decimal): string {
  const padded = digits
    .padEnd(digits.length + Math.max(0, exponent), '0')
    .padStart(Math.max(0, -exponent) + 1, '0')
  const point = padded.length - Math.max(0, -exponent)
  const fraction = padded.slice(point)
  return `${negative ? '-' : ''}${padded.slice(0, point)}${fraction && '.'}${fraction}`
}
