/**
 * An exact decimal number: `digits` times ten to the power of `exponent`. Digits have no zero at either end;
 * zero has none at all.
 */
export interface Decimal {
  readonly negative: boolean
  readonly digits: string
  readonly exponent: number
}

const NUMBER = /^([+-]?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/**
 * Reads a number as JSON or OData writes it, whatever its length and exponent; undefined if the text is none.
 */
export function readDecimal(text: string): Decimal | undefined {
  const [, sign, whole, fraction = '', power = '0'] = NUMBER.exec(text) ?? []
  if (whole === undefined) return undefined
  const all = (whole + fraction).replace(/^0+/, '')
  // Not by a pattern: one that looks for zeros before the end takes quadratic time in a text of zeros.
  let end = all.length
  while (all[end - 1] === '0') end--
  const exponent = Number(power) - fraction.length + all.length - end
  return end === 0
    ? { negative: false, digits: '', exponent: 0 }
    : { negative: sign === '-', digits: all.slice(0, end), exponent }
}

/** Digits before the point. */
export const wholeDigits = ({ digits, exponent }: Decimal) => Math.max(0, digits.length + exponent)

/** Digits after the point. */
export const fractionDigits = ({ exponent }: Decimal) => Math.max(0, -exponent)

/**
 * The number without exponent and without needless zeros: equal numbers have equal texts. Only for numbers
 * that are known to be short.
 */
export function renderDecimal({ negative, digits, exponent }: Decimal): string {
  const padded = digits
    .padEnd(digits.length + Math.max(0, exponent), '0')
    .padStart(Math.max(0, -exponent) + 1, '0')
  const point = padded.length - Math.max(0, -exponent)
  const fraction = padded.slice(point)
  return `${negative ? '-' : ''}${padded.slice(0, point)}${fraction && '.'}${fraction}`
}
