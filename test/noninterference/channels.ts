import fc from 'fast-check'
import type { RequestOptions, TestResponse } from '../support/app.js'
import { bodyOf, nextLinkOf } from '../support/assertions.js'
import { deltaLinkOf, TRACK_CHANGES } from '../support/clients/delta-replica.js'
import type { LogReader } from '../support/clients/log-reader.js'
import { REPLICATED_SETS } from '../support/clients/replicated-sets.js'
import type { QueryGenerator } from '../support/oracle/random-queries.js'

/** A request whose response must not depend on records that its reader cannot see. */
export interface Probe {
  readonly target: string
  readonly options?: RequestOptions
  /** Reads the answer of a channel that is no HTTP request. */
  readonly read?: () => Promise<Answer>
}

/** The positions and links that a reader has received before. */
export interface ReaderState {
  readonly reader: LogReader
  /** Number of an event that the reader has read. */
  position: number
  deltaLinks: readonly string[]
  changesToken: string
}

export type Choose = <T>(list: readonly T[]) => T
export type Channel = (state: ReaderState, pick: Choose) => Probe

export const TRACKED = [
  'Property', `Property?$filter=City eq 'Austin'&$expand=Media,Rooms`, `Property?$filter=Rooms/any(r:r/RoomType eq 'Attic')`,
  `Property?$filter=not(ListAgentKey eq 'M9')`, 'Property?$search=pool&$expand=OpenHouses,ListAgent', 'Media', 'Media?$filter=Order lt 4',
  'Rooms?$expand=Listing', 'OpenHouse', 'Member?$expand=Office',
] // biome-ignore format: a list of queries
const FILTERS = [
  '', `City eq 'Austin'`, `ListAgentKey eq 'M9'`, 'ListPrice gt 400000', `contains(PublicRemarks,'pool')`, `ListingKey ge 'D'`, `Media/any(m:m/Order lt 5)`,
  `StandardStatus eq 'Active'`,
] // biome-ignore format: a list of filters
const SETS = Object.keys(REPLICATED_SETS)

export const graphql = (query: string): Probe => ({
  target: '/graphql',
  options: { method: 'POST', body: { query } },
})
const quote = (text: string) => `'${text.replaceAll("'", "''")}'`
const whereOf = (filter: string) => (filter === '' ? '' : `, where: ${JSON.stringify(filter)}`)

/** Starts following changes from now on. */
export async function renewState(state: ReaderState, tracked: readonly string[] = TRACKED): Promise<void> {
  const { reader } = state
  await reader.skipToEnd()
  state.position = reader.position
  state.deltaLinks = await Promise.all(
    tracked.map(async query => {
      const target = `/odata/${query}${query.includes('?') ? '&' : '?'}$deltatoken=latest`
      return deltaLinkOf(await reader.send(target)) ?? ''
    }),
  )
  const { data } = bodyOf(await reader.send('/graphql', graphql('{ propertyChanges { token } }').options))
  state.changesToken = (data as { propertyChanges: { token: string } }).propertyChanges.token // as asked for
}

/** Keys and events that not every reader may see. */
export interface HiddenNames {
  /** Keys of listings, and of records of listings. */
  readonly keys: () => readonly string[]
  /** Numbers of events. */
  readonly events: () => readonly number[]
}

/** Channels by name. */
export function createChannels(
  generator: QueryGenerator,
  seed: number,
  { keys, events }: HiddenNames,
): Readonly<Record<string, Channel>> {
  const urls = fc.sample(generator.arbitraryUrl(), { numRuns: 500, seed })
  const log = (filter: string, more = '') => ({ target: `/odata/EntityEvent?$filter=${filter}${more}` })
  const property = (options: string) => ({ target: `/odata/Property?${options}` })
  return {
    query: (_, pick) => ({ target: pick(urls) }),
    'known keys': (_, pick) => {
      const [set, key] = [pick(SETS), pick(keys())]
      return pick([
        { target: `/odata/${set}('${key}')` },
        { target: `/odata/Property('${key}')/Media` },
        { target: `/odata/${set}?$filter=${REPLICATED_SETS[set]} in ('${key}','P01','P02')` },
        property(`$filter=ListingKey ge 'D'&$count=true&$top=3`),
        property(`$apply=groupby((ListAgentKey,StandardStatus),aggregate($count as n,ListPrice with sum as p))`),
        graphql(`{ property(ListingKey: "${key}") { ListingKey ListPrice Media { MediaKey } } }`),
        graphql(`{ properties(first: 5, where: ${JSON.stringify(`ListingKey gt '${key[0]}'`)}) { totalCount nodes { ListingKey ListPrice etag } } }`),
      ]) // biome-ignore format: one request a line
    },
    log: ({ position }, pick) => {
      const number = pick(events())
      return pick([
        log(`EntityEventSequence gt ${position}`, '&$orderby=EntityEventSequence&$top=5'),
        log(`EntityEventSequence gt ${number}`, `&$orderby=EntityEventSequence&$top=4&$count=true`),
        log(`EntityEventSequence ge ${position} and ResourceName eq '${pick(SETS)}'`),
        log(`ResourceRecordKey in ('${pick(keys())}','P01','P03')`, '&$count=true'),
        { target: `/odata/EntityEvent(${number})` },
        { target: '/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=5' },
        { target: '/odata/EntityEvent?$apply=groupby((ResourceName),aggregate($count as n,EventTimestamp with max as t))' },
        graphql(`{ entityEvents(first: 5, where: "EntityEventSequence gt ${position}") { totalCount nodes { EntityEventSequence ResourceName ResourceRecordKey EventTimestamp } } }`),
      ]) // biome-ignore format: one request a line
    },
    position: ({ position }, pick) => ({
      target: `/odata/${pick(SETS)}?$filter=LastEventSequence gt ${pick([0, position])}&$orderby=LastEventSequence&$top=7`,
    }),
    deltas: ({ deltaLinks }, pick) => ({
      target: pick(deltaLinks),
      options: { headers: { Prefer: `maxpagesize=${pick([2, 5, 50])}` } },
    }),
    walk: (_, pick) => ({
      target: `/odata/${pick(TRACKED)}`,
      options: { headers: { Prefer: `${TRACK_CHANGES.Prefer}, maxpagesize=30` } },
    }),
    changes: ({ changesToken }, pick) =>
      graphql(
        `{ propertyChanges(since: "${changesToken}", first: ${pick([3, 50])}) { records { ListingKey ListPrice Media { MediaKey Order } } removed { key reason } hasNextPage token } }`,
      ),
    export: (_, pick) => {
      const [set, filter] = [pick(SETS), pick(FILTERS)]
      const options = filter !== '' && set === 'Property' ? `?$filter=${filter}` : ''
      return {
        target: `/odata/${set}${options}`,
        options: { headers: { Accept: pick(['application/x-ndjson', 'text/csv']) } },
      }
    },
    digest: (_, pick) => {
      const [set, filter, buckets] = [pick(SETS), pick(FILTERS), pick([1, 3, 20])]
      const middle = pick(keys())
      const ranges = JSON.stringify([{ From: 'A', To: middle }, { From: middle }])
      return pick([
        { target: `/odata/Digest(ResourceName='${set}',Buckets=${buckets})` },
        { target: `/odata/Digest(ResourceName='${set}',Ranges=@r,Buckets=${buckets})?@r=${encodeURIComponent(ranges)}` },
        { target: `/odata/Digest(ResourceName='Property',Buckets=${buckets},Filter=@f)?@f=${encodeURIComponent(quote(filter || 'true'))}` },
        graphql(`{ digest(resourceName: "Property", buckets: ${buckets}${whereOf(filter)}) { LastEventSequence Ranges { From To Buckets { First Count Hash } } } }`),
      ]) // biome-ignore format: one request a line
    },
  }
}

/** The parts of a page that must be equal. */
interface Page {
  readonly status: number
  readonly etag: string | undefined
  readonly text: string
}
export interface Answer {
  readonly pages: readonly Page[]
  readonly hasData: boolean
}

const MAX_PAGES = 6
/**
 * Delta tokens and the positions of digests and exports are the end of the log. Its number may reveal that
 * there are hidden events, and nothing else.
 */
const END_OF_LOG =
  /(?<=\$(?:delta|skip)token=)[^"&]+|(?<="token":")[^"]+|(?<="LastEventSequence":)\d+(?=,"Ranges")|(?<="@org\.reso\.metadata\.LastEventSequence":)\d+/g

/** Sends a request and follows its nextLinks. */
export async function readAnswer(
  { reader }: Pick<ReaderState, 'reader'>,
  { target, options, read }: Probe,
): Promise<Answer> {
  if (read) return read()
  const pages: Page[] = []
  let hasData = false
  for (let link: string | undefined = target; link !== undefined && pages.length < MAX_PAGES; ) {
    const answer = await reader.send(link, options)
    const { status, headers, text } = answer
    pages.push({ status, etag: headers['etag'], text: text.replace(END_OF_LOG, '…') })
    hasData ||= status === 200 && hasRecords(answer)
    link = answer.json === undefined ? undefined : nextLinkOf(answer)
  }
  return { pages, hasData }
}

function hasRecords({ text, json }: TestResponse): boolean {
  if (json === undefined || typeof json === 'number')
    return text.trim().split('\n').length > 1 || Number(text) > 0
  return /"(?:value|nodes|records|removed|Buckets)":\[\{|^\{"@odata\.(?:context|etag|id)":(?!.*"value":\[)/.test(
    text,
  )
}
