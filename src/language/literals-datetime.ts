/** The reason why a well-formed literal has no value. */
export interface DateTimeLiteralError {
  readonly reason: 'impossible' | 'zone' | 'year'
}

interface TimeOfDayParts {
  /** Seconds since midnight. 86400 is the leap second at the end of a day. */
  readonly seconds: number
  /** `.f` without trailing zeros, or empty. */
  readonly fraction: string
}

const INVALID_VALUE: DateTimeLiteralError = { reason: 'impossible' }
const SECONDS_PER_DAY = 86_400
const pad = (n: number, width = 2) => String(n).padStart(width, '0')

/** Reads a date as `YYYY-MM-DD`. The years are 0001 to 9999, which every database and client supports. */
export function readDateLiteral(text: string): string | DateTimeLiteralError {
  const day = parseEpochDay(text)
  return typeof day === 'number' ? formatEpochDay(day) : day
}

/** Reads a time of day as `hh:mm:ss[.f]`. A leap second becomes the first second of the next minute. */
export function readTimeOfDayLiteral(text: string): string | DateTimeLiteralError {
  const clock = parseTimeOfDay(text)
  return clock ? formatTimeOfDay(clock) : INVALID_VALUE
}

/** Reads a timestamp as UTC, `YYYY-MM-DDThh:mm:ss[.f]Z`. */
export function readDateTimeOffsetLiteral(text: string): string | DateTimeLiteralError {
  const [, date = '', time = '', zone] = /^(.+)T(.+?)(Z|[+-]\d\d:\d\d)?$/i.exec(text) ?? []
  if (zone === undefined) return { reason: 'zone' }
  const day = parseEpochDay(date)
  const clock = parseTimeOfDay(time)
  const offset = parseUtcOffset(zone)
  if (typeof day !== 'number') return day
  if (!clock || offset === undefined) return INVALID_VALUE
  const seconds = clock.seconds - offset
  const shift = Math.floor(seconds / SECONDS_PER_DAY)
  const written = formatEpochDay(day + shift)
  return typeof written === 'string'
    ? `${written}T${formatTimeOfDay({ ...clock, seconds: seconds - shift * SECONDS_PER_DAY })}Z`
    : written
}

/** Returns the days since 1970-01-01. */
function parseEpochDay(text: string): number | DateTimeLiteralError {
  const [, year = '', month = '', day = ''] = /^(-?\d+)-(\d\d)-(\d\d)$/.exec(text) ?? []
  if (/^-?0\d{4}/.test(year)) return INVALID_VALUE
  if (!/^\d{4}$/.test(year) || year === '0000') return { reason: 'year' }
  // setUTCFullYear, since Date.UTC reads the years 0 to 99 as 1900 to 1999.
  const date = new Date(0)
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day))
  const same = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day)
  return same ? date.getTime() / 1000 / SECONDS_PER_DAY : INVALID_VALUE
}

function formatEpochDay(day: number): string | DateTimeLiteralError {
  const date = new Date(day * SECONDS_PER_DAY * 1000)
  const year = date.getUTCFullYear()
  return year >= 1 && year <= 9999
    ? `${pad(year, 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`
    : { reason: 'year' }
}

function parseTimeOfDay(text: string): TimeOfDayParts | undefined {
  const [, hour, minute, second = '0', fraction = ''] =
    /^(\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,12}))?)?$/.exec(text) ?? []
  if (hour === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60) return undefined
  return {
    seconds: Number(hour) * 3600 + Number(minute) * 60 + Number(second),
    fraction: trimZeros(fraction),
  }
}

const formatTimeOfDay = ({ seconds, fraction }: TimeOfDayParts) =>
  `${pad(Math.floor(seconds / 3600))}:${pad(Math.floor(seconds / 60) % 60)}:${pad(seconds % 60)}${fraction}`

/** Returns the offset of a time zone from UTC in seconds, positive to the east. */
function parseUtcOffset(zone: string): number | undefined {
  if (/^z$/i.test(zone)) return 0
  const [hours = 0, minutes = 0] = zone.slice(1).split(':').map(Number)
  if (hours > 23 || minutes > 59) return undefined
  return (hours * 3600 + minutes * 60) * (zone.startsWith('-') ? -1 : 1)
}

const trimZeros = (fraction: string) => (/[1-9]/.test(fraction) ? `.${fraction.replace(/0+$/, '')}` : '')
