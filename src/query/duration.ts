const DURATION =
  /^([+-]?)P(?=\d|T\d)(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,12}))?S)?)?$/i
const MAX_LENGTH = 64
/** Above this a timestamp of the years 1 to 9999 can never be reached. */
const MAX_SECONDS = 10n ** 12n

/**
 * Seconds, as exact decimal text, of a duration like `P1DT2H3M4.5S` (93784.5); undefined if the text is none.
 * Years and months have no place in it (OData ABNF, durationValue): they have no fixed length.
 */
export function toDurationSeconds(text: string): string | undefined {
  const match = text.length <= MAX_LENGTH ? DURATION.exec(text) : null
  if (!match) return undefined
  const [, sign, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = match
  const whole = BigInt(days) * 86_400n + BigInt(hours) * 3_600n + BigInt(minutes) * 60n + BigInt(seconds)
  const digits = fraction.replace(/0+$/, '')
  return whole < MAX_SECONDS ? `${sign === '-' ? '-' : ''}${whole}${digits && `.${digits}`}` : undefined
}
