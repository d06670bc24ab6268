import { expect } from 'vitest'
import type { TestApp, TestResponse } from '../app.js'
import { bodyOf, nextLinkOf, type Row, rowsOf } from '../assertions.js'

/** Follows links with a token. */
type LinkReader = Pick<TestApp, 'send'>

export const TRACK_CHANGES = { Prefer: 'odata.track-changes' }

export const deltaLinkOf = (answer: TestResponse): string | undefined => {
  const link = bodyOf(answer)['@odata.deltaLink']
  return link === undefined ? undefined : String(link)
}

/** The key of a record in its global id: `http://…/Property('L001')` → `L001`. */
export const keyOfId = (id: unknown): string =>
  decodeURIComponent(/\/\w+\(([^()]+)\)$/.exec(String(id))?.[1] ?? '').replace(/^'(.*)'$/, '$1')

/** An entry of a delta: `changed L001`, `deleted L001`, or the record itself. */
export const summaryOf = (row: Row, keyField = 'ListingKey'): string => {
  const removed = row['@removed'] as { readonly reason: string } | undefined
  const key = String(row[keyField] ?? keyOfId(row['@odata.id']))
  return removed ? `${removed.reason} ${key}` : key
}

/** A copy of one query, maintained by delta links (docs/replication.md). */
export class DeltaReplica {
  readonly records = new Map<string, Row>()
  #link: string | undefined

  /** @param betweenPages runs after each page that has a next one */
  constructor(
    private readonly reader: LinkReader,
    private readonly query: string,
    private readonly keyField: string,
    private readonly preferences = '',
    private readonly betweenPages: () => Promise<void> = async () => undefined,
  ) {}

  /** The link of the next run. */
  get link(): string {
    return this.#link ?? ''
  }

  /** Reads the first copy, or the changes since the last poll. Returns the number of pages. */
  async poll(): Promise<number> {
    const prefer = [...(this.#link ? [] : ['track-changes']), this.preferences].filter(Boolean).join(', ')
    let link: string | undefined = this.#link ?? `/odata/${this.query}`
    for (let pages = 1; ; pages++) {
      const answer: TestResponse = await this.reader.send(link, { headers: { Prefer: prefer } })
      expect([link, answer.status], answer.text.slice(0, 300)).toEqual([link, 200])
      for (const row of rowsOf(answer)) this.#apply(row)
      link = nextLinkOf(answer)
      expect([link === undefined, deltaLinkOf(answer) === undefined]).toEqual([
        link === undefined,
        link !== undefined,
      ])
      if (link === undefined) {
        this.#link = deltaLinkOf(answer)
        return pages
      }
      await this.betweenPages()
    }
  }

  #apply(row: Row): void {
    const key = String(row[this.keyField] ?? keyOfId(row['@odata.id']))
    expect(key).not.toBe('')
    if (row['@removed']) this.records.delete(key)
    else this.records.set(key, row)
  }

  /** In the order of the keys. */
  market(): readonly Row[] {
    return [...this.records].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
  }
}
