import { setTimeout as wait } from 'node:timers/promises'
import { keyOfId, TRACK_CHANGES } from '../../support/clients/delta-replica.js'
import { REPLICATED_SETS } from '../../support/clients/replicated-sets.js'
import { createMarket, type Market, type SetOptions } from '../market.js'
import type { StormRow } from '../storm.js'
import type { StormClient } from '../storm-client.js'
import { POLL_MS, type StormReader } from './reader.js'

interface DeltaPage {
  readonly value: readonly StormRow[]
  readonly '@odata.nextLink'?: string
  readonly '@odata.deltaLink'?: string
}

/** A copy maintained by the delta link of each set (docs/replication.md). */
export class DeltaStormReader implements StormReader {
  readonly #copy = createMarket()
  readonly #links = new Map<string, string>()
  changes = 0

  constructor(
    readonly name: string,
    private readonly client: StormClient,
    private readonly options: SetOptions = {},
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    for (const set of this.#copy.keys())
      await this.#readRun(set, `/odata/${set}?${this.options[set] ?? ''}`, {
        Prefer: `${TRACK_CHANGES.Prefer}, maxpagesize=100`,
      })
    for (; !isOver(); await wait(POLL_MS)) await this.#poll()
  }

  async #poll(): Promise<void> {
    for (const [set, link] of this.#links)
      this.changes += await this.#readRun(set, link, { Prefer: 'maxpagesize=50' })
  }

  /** Reads the pages of the first copy or of a run, and stores its delta link. Returns the number of entries. */
  async #readRun(set: string, target: string, headers: Readonly<Record<string, string>>): Promise<number> {
    let count = 0
    for (let link = target; ; ) {
      const page = JSON.parse((await this.client.read(link, { headers })).text) as DeltaPage // a collection
      for (const row of page.value) this.#apply(set, row)
      count += page.value.length
      const { '@odata.nextLink': next, '@odata.deltaLink': delta } = page
      if (next === undefined && delta === undefined) throw new Error(`The last page of ${target} has no link`)
      if (delta !== undefined) this.#links.set(set, delta)
      if (next === undefined) return count
      link = next
    }
  }

  #apply(set: string, row: StormRow): void {
    const key = String(row[REPLICATED_SETS[set] ?? ''] ?? keyOfId(row['@odata.id']))
    if (row['@removed']) this.#copy.get(set)?.delete(key)
    else this.#copy.get(set)?.set(key, row)
  }

  async finish(): Promise<Market> {
    await this.#poll()
    return this.#copy
  }
}
