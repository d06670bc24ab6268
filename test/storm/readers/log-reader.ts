import { setTimeout as wait } from 'node:timers/promises'
import { REPLICATED_SETS } from '../../support/clients/replicated-sets.js'
import { createMarket, type Market, putRows } from '../market.js'
import type { StormRow } from '../storm.js'
import type { StormClient } from '../storm-client.js'
import { POLL_MS, type StormReader } from './reader.js'

/** Keys of one request. */
const KEYS = 50

/** Reads records by their keys, and removes those that are not returned from the copy. */
export async function fetchKeys(
  client: StormClient,
  copy: Market,
  set: string,
  keys: readonly string[],
): Promise<void> {
  for (let i = 0; i < keys.length; i += KEYS) {
    const some = keys.slice(i, i + KEYS)
    const list = some.map(key => `'${key.replaceAll("'", "''")}'`).join(',')
    const rows = await client.rows(
      `/odata/${set}?$filter=${REPLICATED_SETS[set]} in (${encodeURIComponent(list)})`,
    )
    for (const key of some) copy.get(set)?.delete(key)
    putRows(copy, set, rows)
  }
}

/** First copies: by pages, or by NDJSON. */
type FirstCopy = 'pages' | 'export'

/** A copy maintained from the change log (docs/replication.md). */
export class LogStormReader implements StormReader {
  readonly #copy = createMarket()
  #position = 0
  changes = 0

  constructor(
    readonly name: string,
    private readonly client: StormClient,
    private readonly firstCopy: FirstCopy,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    this.#position = await this.client.readLastSequence()
    for (const set of Object.keys(REPLICATED_SETS))
      putRows(
        this.#copy,
        set,
        this.firstCopy === 'pages'
          ? await this.client.rows(`/odata/${set}?$top=200`)
          : await this.#export(set),
      )
    for (; !isOver(); await wait(POLL_MS)) await this.#poll()
  }

  /** Requests an export again until its last line has arrived. */
  async #export(set: string): Promise<readonly StormRow[]> {
    for (;;) {
      const { text } = await this.client.read(`/odata/${set}`, {
        headers: { Accept: 'application/x-ndjson' },
      })
      const lines = text.trimEnd().split('\n')
      const last = JSON.parse(lines.pop() ?? '{}') as StormRow
      if (last['@odata.count'] === lines.length) return lines.map(line => JSON.parse(line) as StormRow)
    }
  }

  async #poll(): Promise<void> {
    const target = `/odata/EntityEvent?$filter=EntityEventSequence gt ${this.#position}&$orderby=EntityEventSequence&$top=500`
    for await (const events of this.client.pages(target)) {
      for (const set of Object.keys(REPLICATED_SETS)) {
        const own = events.filter(event => event['ResourceName'] === set)
        await fetchKeys(this.client, this.#copy, set, [
          ...new Set(own.map(e => String(e['ResourceRecordKey']))),
        ])
      }
      this.changes += events.length
      this.#position = Number(events.at(-1)?.['EntityEventSequence'] ?? this.#position)
    }
  }

  async finish(): Promise<Market> {
    await this.#poll()
    return this.#copy
  }
}
