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
 * A copy that is kept by asking for what is later than the latest time seen, without a look-back
 * (docs/replication.md). It sees no deletions.
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

/** A copy that is kept by the change log: also of what is deleted. */
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

  /** What does not come back is gone. */
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
