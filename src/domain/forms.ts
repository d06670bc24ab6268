// Forms of values that bodies and files have in common.

/** PostgreSQL holds no NUL and, its text being UTF-8, no half of a surrogate pair. */
export const isStorable = (text: string): boolean => !/\0|\p{Surrogate}/u.test(text)

const DAY = /^\d{4}-\d{2}-\d{2}$/
const TIMESTAMP = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,12})?)?(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)$/

/** A day of the calendar, `YYYY-MM-DD`; PostgreSQL has no year 0. */
export function isDay(text: string): boolean {
  const time = DAY.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN
  return text >= '0001' && !Number.isNaN(time) && new Date(time).toISOString().startsWith(text)
}

/** A day with a time of day and an offset from UTC. */
export const isTimestamp = (text: string): boolean => isDay(TIMESTAMP.exec(text)?.[1] ?? '')

/** A name of the coordinate system of GeoJSON, as the `crs` of 2008 gives it. */
export const isWgs84 = (crs: string): boolean => /^(EPSG:4326|urn:ogc:def:crs:(EPSG:[\d.]*:4326|OGC:1\.3:CRS84))$/i.test(crs)
