import { setTimeout as wait } from 'node:timers/promises'
import { REPLICATED_SETS } from '../../support/clients/replicated-sets.js'
import { createMarket, type Market, putRows } from '../market.js'
import type { StormRow } from '../storm.js'
import type { StormClient } from '../storm-client.js'
import { fetchKeys } from './log-reader.js'
import { POLL_MS, type StormReader } from './reader.js'

const PAGE = 500

/** Fields by which a poller orders records. */
type PollOrder = 'LastEventSequence' | 'ModificationTimestamp'

/** A copy maintained by polling, with a sweep of the keys at the end (docs/replication.md). */
export class PollingStormReader implements StormReader {
  readonly #copy = createMarket()
  readonly #last = new Map<string, StormRow>()
  changes = 0

  constructor(
    readonly name: string,
    private readonly client: StormClient,
    private readonly order: PollOrder,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    for (; !isOver(); await wait(POLL_MS))
      for (const set of Object.keys(REPLICATED_SETS)) await this.#poll(set)
  }

  async #poll(set: string): Promise<void> {
    for (;;) {
      const page = JSON.parse((await this.client.read(this.#targetOf(set))).text) as {
        value: readonly StormRow[]
      } // a collection
      putRows(this.#copy, set, page.value)
      const last = page.value.at(-1)
      if (!last) return
      if (this.#last.has(set)) this.changes += page.value.length
      this.#last.set(set, last)
    }
  }

  #targetOf(set: string): string {
    const key = REPLICATED_SETS[set] ?? ''
    const last = this.#last.get(set)
    if (this.order === 'LastEventSequence')
      return `/odata/${set}?$filter=LastEventSequence gt ${last?.['LastEventSequence'] ?? 0}&$orderby=LastEventSequence&$top=${PAGE}`
    const order = `$orderby=ModificationTimestamp,${key}&$top=${PAGE}`
    if (!last) return `/odata/${set}?${order}`
    const [time, id] = [last['ModificationTimestamp'], encodeURIComponent(String(last[key]))]
    if (time === null) return `/odata/${set}?$filter=ModificationTimestamp ne null&${order}`
    return `/odata/${set}?$filter=ModificationTimestamp gt ${time} or (ModificationTimestamp eq ${time} and ${key} gt '${id}')&${order}`
  }

  async finish(): Promise<Market> {
    for (const [set, copied] of this.#copy) {
      await this.#poll(set)
      await this.#sweep(set, copied)
    }
    return this.#copy
  }

  /** By position a sweep compares keys, by time also the versions. */
  async #sweep(set: string, copied: Map<string, StormRow>): Promise<void> {
    const key = REPLICATED_SETS[set] ?? ''
    const seen = new Map(
      (await this.client.rows(`/odata/${set}?$select=${key}`)).map(row => [String(row[key]), row]),
    )
    for (const known of copied.keys()) if (!seen.has(known)) copied.delete(known)
    if (this.order === 'LastEventSequence') return
    const changed = [...seen].filter(([id, row]) => copied.get(id)?.['@odata.etag'] !== row['@odata.etag'])
    await fetchKeys(
      this.client,
      this.#copy,
      set,
      changed.map(([id]) => id),
    )
  }
}
