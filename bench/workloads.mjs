import { listingKey, MEMBERS, memberKey } from './data/people.mjs'
import { beginNamed, int, pick, random } from './data/random.mjs'
import { CITIES, STEMS } from './data/words.mjs'

// The workloads. Each repeats a request with different values, and each server has its own form of the
// request.

const member = () => memberKey(int(0, MEMBERS - 1))

/** Returns a city and a price range around its median. */
function range() {
  const { name, median } = CITIES[int(0, 19)]
  return { city: name, low: Math.round(median * 0.8), high: Math.round(median * (1.1 + random())) }
}

/** A point near the middle of a large city. */
function place() {
  const { latitude, longitude } = CITIES[int(0, 19)]
  return {
    latitude: Number((latitude + (random() - 0.5) / 10).toFixed(4)),
    longitude: Number((longitude + (random() - 0.5) / 10).toFixed(4)),
  }
}

/** A box of about six kilometers. */
function box() {
  const { latitude, longitude } = place()
  const around = number => [(number - 0.03).toFixed(4), (number + 0.03).toFixed(4)]
  const [[south, north], [west, east]] = [around(latitude), around(longitude)]
  return { south, north, west, east }
}

/** A record in the middle of the market, after which a copy continues. */
const midMarket = listings => ({
  size: 100,
  time: new Date(Date.UTC(2023, 0, int(1, 700))).toISOString(),
  key: listingKey(int(0, listings - 1)),
})

const change = listings => ({
  key: listingKey(int(0, listings - 1)),
  price: int(100000, 900000),
  member: member(),
})

/**
 * `values` returns the values of one request. `fixed`: all requests are equal. `kind`: one measurement takes
 * several requests. `connections`: the number is fixed. `compares`: the part of the response that must equal
 * that of the limit server.
 */
export const WORKLOADS = {
  'by-key': { about: 'one listing by its key, all fields', values: listings => ({ key: listingKey(int(0, listings - 1)) }) },
  'list-50': { about: 'City and a range of ListPrice, ListPrice desc, 50 records of 15 fields', values: range },
  'list-50-wide': { about: 'the same with all fields', values: range },
  'list-50-expand': { about: 'the same with 15 fields, the first 3 Media and the Rooms', values: range, compares: 'nested' },
  'list-200-status': { about: '200 records of one StandardStatus, newest first, 15 fields', values: () => ({ status: pick(['Active', 'Pending', 'Sold', 'Active Under Contract']) }) },
  'filter-functions': { about: 'year(), contains(tolower()) and arithmetic; newest first, 50 records', values: () => ({ year: int(2020, 2025), word: pick(['oak', 'ridge', 'lake', 'view', 'cedar']), above: 800000 }) },
  'any-lambda': { about: 'ConstructionMaterials/any; newest first, 50 records', values: () => ({ material: pick(['Brick', 'Stucco', 'Cedar', 'Log', 'Adobe']) }) },
  'count-only': { about: 'number of listings in a City at a ListPrice or above', values: range },
  'sorted-unindexed': { about: 'one StandardStatus, LivingArea desc, which no index has; 20 records of all fields', values: () => ({ status: pick(['Pending', 'Coming Soon', 'Hold', 'Withdrawn']) }) },
  'replication-clause': { about: 'ModificationTimestamp gt T or (ModificationTimestamp eq T and ListingKey gt K), in mid-market; 100 records of 15 fields', values: midMarket },
  'map-box': { about: 'a box of Latitude and Longitude, 500 records of 15 fields at most', values: box },
  'address-contains': { about: 'contains(UnparsedAddress) in its own case; newest first, 20 records of 15 fields', values: () => ({ part: `${pick(STEMS)} ${pick(['Creek', 'Bend', 'Glen', 'Grove', 'Ridge'])}` }) },
  'radius-by-distance': { about: 'Active within 5 km of a point, the nearest first, 20 records of 15 fields', values: place },
  'search-sorted': { about: '$search of a word, ListPrice desc, 20 records of 15 fields', values: () => ({ word: pick(['kitchen', 'suite', 'island', 'patio', 'vanity']) }) },
  'page-1': { about: 'page 1 of 100 records by ModificationTimestamp and key', values: () => ({ page: 1, size: 100 }), fixed: true },
  'page-1000': { about: 'page 1,000 in the same order', values: () => ({ page: 1000, size: 100 }), fixed: true },
  walk: { about: 'replication: all fields, pages of 1,000 by next link, one connection (counted in records)', values: () => ({ size: 1000 }), kind: 'walk', connections: 1 },
  'walk-gzip': { about: 'walk in gzip', values: () => ({ size: 1000 }), kind: 'walk', connections: 1 },
  'walk-omit-nulls': { about: 'walk with Prefer: omit-values=nulls', values: () => ({ size: 1000 }), kind: 'walk', connections: 1 },
  'walk-expand': { about: 'walk with all Media and 4 fields of Rooms, pages of 100', values: () => ({ size: 100 }), kind: 'walk', connections: 1 },
  export: { about: 'all fields as NDJSON in one response (counted in records)', values: () => ({}), kind: 'stream', connections: 1 },
  'gql-nested': { about: '50 records with 3 Media, Rooms and ListAgent', values: range, compares: 'nested' },
  'patch-single': { about: 'PATCH of ListPrice, one connection', values: change, connections: 1, writes: true },
  'patch-concurrent': { about: 'PATCH of ListPrice on different records', values: change, writes: true },
  cycle: { about: 'create, publish, sell, delete (counted as one)', values: () => ({ member: member(), city: CITIES[int(0, 19)].name }), kind: 'cycle', writes: true },
} // biome-ignore format: table

/** Keys of listings in the text form of a PostgreSQL array. */
const someListings = listings => ({
  keys: `{${Array.from({ length: 50 }, () => listingKey(int(0, listings - 1))).join()}}`,
})

/** A position in the change log, whose first numbers are those of the loaded records. */
const position = listings => ({ after: int(0, listings), size: 1000 })

/** Listings that one run of a delta returns, spread over the market. */
const DELTA_CHANGES = 5000
const deltaRun = listings => {
  const changes = Math.min(DELTA_CHANGES, listings)
  const keys = Array.from({ length: changes }, (_, n) => listingKey(Math.floor((n * listings) / changes)))
  return { size: 1000, keys, member: memberKey(0) }
}

/** Readers that do not see every listing. The conditions of visibility are part of their statements. */
export const READERS = ['public', 'member']
const FOR_READERS = {
  'list-50': WORKLOADS['list-50'],
  walk: WORKLOADS.walk,
  'media-by-listings': { about: 'Media of 50 listings by their keys, 500 records', values: someListings },
  'log-read': { about: '1,000 events of the change log after a number', values: position },
  delta: { about: 'a run of a delta link with 5,000 changed listings of all fields, pages of 1,000 (counted in records)', values: deltaRun, fixed: true, kind: 'walk', connections: 1 },
} // biome-ignore format: table
for (const name of ['media-by-listings', 'log-read', 'delta']) WORKLOADS[name] = FOR_READERS[name]
for (const [name, workload] of Object.entries(FOR_READERS))
  for (const reader of READERS)
    WORKLOADS[`${name}-${reader}`] = {
      ...workload,
      about: `${name} with a token of the class ${reader}`,
      form: name,
      reader,
    }

const REQUESTS = 400

/** Returns the values of the requests of a workload. They are the same in every run. */
export function valuesOf(name, listings) {
  beginNamed(name)
  const { values, fixed } = WORKLOADS[name]
  return Array.from({ length: fixed ? 1 : REQUESTS }, () => values(listings))
}

/** Returns the numbers of the listings that the workloads change. */
export function changedBy(listings) {
  const keys = ['patch-single', 'patch-concurrent']
    .flatMap(name => valuesOf(name, listings))
    .map(({ key }) => key)
  const [{ keys: ofDelta }] = valuesOf('delta', listings)
  return new Set([...keys, ...ofDelta].map(key => Number(key.slice(1)) - 1))
}
