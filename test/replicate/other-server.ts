import { createServer } from 'node:http'

/** A record. Some servers have records without a time. */
interface OtherRecord {
  readonly time: string | null
  readonly city: string
}

/** A typical RESO server, without log, positions, links and NDJSON. */
export interface OtherServer {
  readonly base: string
  readonly records: Map<string, OtherRecord>
  /** Page size, smaller than the one that clients request. */
  cap: number
  isUnordered: boolean
  /** The first record of each page occurs twice. */
  isRepeating: boolean
  readonly requests: string[]
  close(): void
}

const METADATA = `<?xml version="1.0"?><edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices>
<Schema Namespace="org.other" xmlns="http://docs.oasis-open.org/odata/ns/edm"><EntityType Name="Listing"><Key><PropertyRef Name="ListingKey"/></Key>
<Property Name="ListingKey" Type="Edm.String"/><Property Name="ModificationTimestamp" Type="Edm.DateTimeOffset"/><Property Name="City" Type="Edm.String"/></EntityType>
<EntityContainer Name="C"><EntitySet Name="Property" EntityType="org.other.Listing"/></EntityContainer></Schema></edmx:DataServices></edmx:Edmx>`

const KEY_FILTER = /^ListingKey gt '([^']*)'$/
const KEYS_FILTER = /^\(ListingKey eq '[^']*'(?: or ListingKey eq '[^']*')*\)$/
const TIME_FILTER =
  /^\(ModificationTimestamp gt (\S+) or \(ModificationTimestamp eq (\S+) and ListingKey gt '([^']*)'\)\)$/

type Entry = readonly [string, OtherRecord]

/** Null matches no comparison, as in OData. */
function select(entries: readonly Entry[], filter: string | null): readonly Entry[] {
  if (filter === null) return entries
  const [, key] = KEY_FILTER.exec(filter) ?? []
  if (key !== undefined) return entries.filter(([k]) => k > key)
  if (KEYS_FILTER.test(filter)) return entries.filter(([k]) => filter.includes(`'${k}'`))
  const [, time = '', , last = ''] = TIME_FILTER.exec(filter) ?? []
  if (time === '') throw new Error(`Not a filter of this server: ${filter}`)
  return entries.filter(([k, { time: t }]) => t !== null && (t > time || (t === time && k > last)))
}

export async function startOtherServer(): Promise<OtherServer> {
  const other = {
    records: new Map<string, OtherRecord>(),
    cap: 200,
    isUnordered: false,
    isRepeating: false,
    requests: [] as string[],
  }
  const server = createServer((req, res) => {
    const url = new URL(req.url ?? '', 'http://localhost')
    other.requests.push(url.pathname + url.search)
    if (url.pathname.endsWith('$metadata'))
      return void res.setHeader('Content-Type', 'application/xml').end(METADATA)
    const isByTime = url.searchParams.get('$orderby')?.startsWith('ModificationTimestamp')
    const entries = [...other.records].sort(([a, x], [b, y]) => {
      const byKey = a < b ? -1 : 1
      if (!isByTime) return byKey
      return x.time === y.time ? byKey : (x.time ?? '') < (y.time ?? '') ? -1 : 1
    })
    const page = select(
      other.isUnordered ? entries.reverse() : entries,
      url.searchParams.get('$filter'),
    ).slice(0, other.cap)
    const value = (other.isRepeating ? [...page.slice(0, 1), ...page] : page).map(
      ([ListingKey, { time, city }]) => ({
        ListingKey,
        ModificationTimestamp: time,
        City: city,
      }),
    )
    res.setHeader('Content-Type', 'application/json').end(JSON.stringify({ value }))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address ? address.port : 0
  return Object.assign(other, {
    base: `http://127.0.0.1:${port}/odata`,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  })
}
