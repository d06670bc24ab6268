import { expect } from 'vitest'
import type { TestApp } from '../app.js'
import { linkOf, type Row, rowsOf } from '../assertions.js'

type Sender = Pick<TestApp, 'send'>

const byKey = (copy: ReadonlyMap<string, Row>): readonly Row[] =>
  [...copy].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)

/** The pages of a query, one after the other. */
export async function* readAll({ send }: Sender, url: string): AsyncGenerator<readonly Row[]> {
  for (let link: string | undefined = url; link !== undefined; ) {
    const answer = await send(link)
    expect(answer.status, answer.text.slice(0, 300)).toBe(200)
    yield rowsOf(answer)
    link = linkOf(answer)
  }
}

/**
 * A copy that is kept by asking for what is later than the latest time seen, without a look-back
 * (docs/replication.md). It sees no deletions.
 */
export class TimePoller {
  readonly #copy = new Map<string, Row>()
  #seen = '1970-01-01T00:00:00Z'

  constructor(private readonly service: Sender) {}

  async poll(): Promise<void> {
    const filter = `$filter=ModificationTimestamp gt ${this.#seen}&$orderby=ModificationTimestamp,ListingKey`
    for await (const rows of readAll(
      this.service,
      `/odata/Property?${filter}&$select=ListingKey,City,ModificationTimestamp&$top=50`,
    ))
      for (const row of rows) {
        this.#copy.set(String(row['ListingKey']), row)
        this.#seen = String(row['ModificationTimestamp'])
      }
  }

  /** In the order of the keys. */
  copy(): readonly Row[] {
    return byKey(this.#copy)
  }
}

/** A copy that is kept by the change log: also of what is deleted. */
export class LogPoller {
  readonly #copy = new Map<string, Row>()
  #seen = 0

  constructor(private readonly service: Sender) {}

  async poll(): Promise<void> {
    const filter = `$filter=EntityEventSequence gt ${this.#seen} and ResourceName eq 'Property'&$orderby=EntityEventSequence&$top=50`
    for await (const events of readAll(this.service, `/odata/EntityEvent?${filter}`)) {
      await this.#fetch([...new Set(events.map(event => String(event['ResourceRecordKey'])))])
      this.#seen = Number(events.at(-1)?.['EntityEventSequence'] ?? this.#seen)
    }
  }

  /** What does not come back is gone. */
  async #fetch(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    const url = `/odata/Property?$filter=ListingKey in (${keys.map(key => `'${key}'`)})&$select=ListingKey,City,ModificationTimestamp`
    for (const key of keys) this.#copy.delete(key)
    for await (const rows of readAll(this.service, url))
      for (const row of rows) this.#copy.set(String(row['ListingKey']), row)
  }

  copy(): readonly Row[] {
    return byKey(this.#copy)
  }
}
