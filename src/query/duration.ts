const DURATION =
  /^([+-]?)P(?=\d|T\d)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,12}))?S)?)?$/i
const MAX_LENGTH = 64
/** Durations above this move every timestamp out of the years 1 to 9999. */
const MAX_SECONDS = 10n ** 12n

/**
 * Converts a duration like `P1DT2H3M4.5S` to seconds as exact decimal text (93784.5). Returns undefined for
 * other text. Years and months are not allowed (OData ABNF, durationValue), since their length varies.
 */
export function toDurationSeconds(text: string): string | undefined {
  const match = text.length <= MAX_LENGTH ? DURATION.exec(text) : null
  if (!match) return undefined
  const [, sign, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = match
  const whole = BigInt(days) * 86_400n + BigInt(hours) * 3_600n + BigInt(minutes) * 60n + BigInt(seconds)
  const digits = fraction.replace(/0+$/, '')
  return whole < MAX_SECONDS ? `${sign === '-' ? '-' : ''}${whole}${digits && `.${digits}`}` : undefined
}
