const DURATION = /^([+-]?)P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?)?$/

/**
 * Seconds, as exact decimal text, of a duration in the form `P1DT2H3M4.5S`; undefined if the text is none.
 * Years and months have no place in it (OData ABNF, durationValue): they have no fixed length.
 */
export function toDurationSeconds(text: string): string | undefined {
  const match = DURATION.exec(text)
  if (!match || /[PT]$/.test(text)) return undefined
  const [, sign, days = '0', hours = '0', minutes = '0', seconds = '0', fraction = ''] = match
  const whole = BigInt(days) * 86_400n + BigInt(hours) * 3_600n + BigInt(minutes) * 60n + BigInt(seconds)
  const digits = fraction.replace(/0+$/, '')
  return `${sign === '-' ? '-' : ''}${whole}${digits === '' ? '' : `.${digits}`}`
}
