import { expect } from 'vitest'
import type { TestApp } from '../app.js'
import { nextLinkOf, type Row, rowsOf } from '../assertions.js'

type Sender = Pick<TestApp, 'send'>

const sortedByKey = (copy: ReadonlyMap<string, Row>): readonly Row[] =>
  [...copy].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)

/** The pages of a query, one after the other. */
export async function* iteratePages({ send }: Sender, url: string): AsyncGenerator<readonly Row[]> {
  for (let link: string | undefined = url; link !== undefined; ) {
    const answer = await send(link)
    expect(answer.status, answer.text.slice(0, 300)).toBe(200)
    yield rowsOf(answer)
    link = nextLinkOf(answer)
  }
}

/**
 * A copy maintained by requesting records after the latest timestamp, without a look-back
 * (docs/replication.md). It does not detect deletions.
 */
export class TimestampReplica {
  readonly #records = new Map<string, Row>()
  #watermark = '1970-01-01T00:00:00Z'

  constructor(private readonly service: Sender) {}

  async poll(): Promise<void> {
    const filter = `$filter=ModificationTimestamp gt ${this.#watermark}&$orderby=ModificationTimestamp,ListingKey`
    for await (const rows of iteratePages(
      this.service,
      `/odata/Property?${filter}&$select=ListingKey,City,ModificationTimestamp&$top=50`,
    ))
      for (const row of rows) {
        this.#records.set(String(row['ListingKey']), row)
        this.#watermark = String(row['ModificationTimestamp'])
      }
  }

  /** In the order of the keys. */
  records(): readonly Row[] {
    return sortedByKey(this.#records)
  }
}

/** A copy maintained from the change log, deletions included. */
export class ChangeLogReplica {
  readonly #records = new Map<string, Row>()
  #watermark = 0

  constructor(private readonly service: Sender) {}

  async poll(): Promise<void> {
    const filter = `$filter=EntityEventSequence gt ${this.#watermark} and ResourceName eq 'Property'&$orderby=EntityEventSequence&$top=50`
    for await (const events of iteratePages(this.service, `/odata/EntityEvent?${filter}`)) {
      await this.#fetch([...new Set(events.map(event => String(event['ResourceRecordKey'])))])
      this.#watermark = Number(events.at(-1)?.['EntityEventSequence'] ?? this.#watermark)
    }
  }

  /** Records that are not returned were deleted. */
  async #fetch(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const url = `/odata/Property?$filter=ListingKey in (${keys.map(key => `'${key}'`)})&$select=ListingKey,City,ModificationTimestamp`
    for (const key of keys) this.#records.delete(key)
    for await (const rows of iteratePages(this.service, url))
      for (const row of rows) this.#records.set(String(row['ListingKey']), row)
  }

  records(): readonly Row[] {
    return sortedByKey(this.#records)
  }
}

/**
 * A copy maintained by timestamp and key (docs/replication.md), which requests each page with its own filter.
 */
export class TimestampKeyReplica {
  readonly #records = new Map<string, Row>()
  #last: Row | undefined

  constructor(
    private readonly service: Sender,
    private readonly pageSize: number,
  ) {}

  async poll(): Promise<void> {
    for (let rows = await this.#readPage(); rows.length > 0; rows = await this.#readPage()) {
      for (const row of rows) this.#records.set(String(row['ListingKey']), row)
      this.#last = rows.at(-1)
    }
  }

  async #readPage(): Promise<readonly Row[]> {
    const { ModificationTimestamp: time, ListingKey: key } = this.#last ?? {}
    const filter = this.#last
      ? `$filter=ModificationTimestamp gt ${time} or (ModificationTimestamp eq ${time} and ListingKey gt '${key}')&`
      : ''
    const order = '$orderby=ModificationTimestamp,ListingKey'
    const select = '$select=ListingKey,City,ModificationTimestamp'
    return rowsOf(
      await this.service.send(`/odata/Property?${filter}${order}&${select}&$top=${this.pageSize}`),
    )
  }

  records(): readonly Row[] {
    return sortedByKey(this.#records)
  }
}

/** A copy maintained by position (docs/replication.md). It does not detect deletions. */
export class PositionReplica {
  readonly #records = new Map<string, Row>()
  #position = '0'

  constructor(
    private readonly service: Sender,
    private readonly select: string,
  ) {}

  async poll(): Promise<void> {
    for (let rows = await this.#readPage(); rows.length > 0; rows = await this.#readPage()) {
      for (const row of rows) this.#records.set(String(row['ListingKey']), row)
      this.#position = String(rows.at(-1)?.['LastEventSequence'])
    }
  }

  async #readPage(): Promise<readonly Row[]> {
    const order = '$orderby=LastEventSequence&$top=50'
    const filter = `$filter=LastEventSequence gt ${this.#position}`
    return rowsOf(await this.service.send(`/odata/Property?${filter}&${order}&$select=${this.select}`))
  }

  records(): readonly Row[] {
    return sortedByKey(this.#records)
  }
}

/** A copy of any set that is compared with the service by key and ETag (docs/replication.md). */
export class SweepReplica {
  readonly #records = new Map<string, Row>()

  constructor(
    private readonly service: Sender,
    private readonly set: string,
    private readonly key: string,
  ) {}

  /** Returns the keys that had to be fetched. */
  async sweep(): Promise<readonly string[]> {
    const seen = new Map<string, unknown>()
    for await (const rows of iteratePages(this.service, `/odata/${this.set}?$select=${this.key}&$top=1000`))
      for (const row of rows) seen.set(String(row[this.key]), row['@odata.etag'])
    for (const key of this.#records.keys()) if (!seen.has(key)) this.#records.delete(key)
    const changed = [...seen].filter(([key, etag]) => this.#records.get(key)?.['@odata.etag'] !== etag)
    const keys = changed.map(([key]) => key)
    for (let i = 0; i < keys.length; i += 100) await this.#fetch(keys.slice(i, i + 100))
    return keys
  }

  async #fetch(keys: readonly string[]): Promise<void> {
    const filter = `${this.key} in (${keys.map(key => `'${key}'`)})`
    for await (const rows of iteratePages(this.service, `/odata/${this.set}?$filter=${filter}`))
      for (const row of rows) this.#records.set(String(row[this.key]), row)
  }

  records(): readonly Row[] {
    return sortedByKey(this.#records)
  }
}
