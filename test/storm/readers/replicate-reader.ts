import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { replicateOnce, startReplicate } from '../../replicate/client-process.js'
import { readFolder } from '../../replicate/copies.js'
import { REPLICATED_SETS } from '../../support/clients/replicated-sets.js'
import { createMarket, type Market, putRows } from '../market.js'
import type { ServiceGroup } from '../services.js'
import type { StormRow } from '../storm.js'
import type { StormReader } from './reader.js'

/** Time after which the client is killed and started again. */
const KILL_MS = 9000

/** A copy in a folder that `npm run replicate` maintains while it is killed repeatedly. */
export class ReplicateStormReader implements StormReader {
  #from = ''
  #to = ''
  changes = 0

  constructor(
    readonly name: string,
    private readonly services: ServiceGroup,
    private readonly token: string,
  ) {}

  async run(isOver: () => boolean): Promise<void> {
    // The copy belongs to one address of the service.
    this.#from = this.services.bases[0] ?? ''
    this.#to = join(await mkdtemp(join(tmpdir(), 'storm-copy-')), 'copy')
    while (!isOver()) {
      const client = startReplicate({
        from: this.#from,
        to: this.#to,
        token: this.token,
        more: ['--interval', '0.3'],
      })
      for (const end = performance.now() + KILL_MS; !isOver() && performance.now() < end; ) await wait(100)
      client.child.kill('SIGKILL')
      await client.exit
      for (const [, count] of client.output().matchAll(/(\d+) changes/g)) this.changes += Number(count)
      // An unexpected exit is a failure, which the run at the end reports.
    }
  }

  async finish(): Promise<Market> {
    const args = {
      from: this.#from,
      to: this.#to,
      token: this.token,
      more: ['--verify', '--allow-deletions'],
    }
    const [code, output] = await replicateOnce(args)
    if (code !== 0) throw new Error(`${this.name} ended with ${code}: ${output.slice(-1000)}`)
    // On a slow machine, no earlier run may have completed.
    this.changes += Number(output.includes('Up to date'))
    const market = createMarket()
    for (const set of Object.keys(REPLICATED_SETS)) {
      const lines = [...(await readFolder(this.#to, set)).values()]
      putRows(
        market,
        set,
        lines.map(line => JSON.parse(line) as StormRow),
      )
    }
    return market
  }
}
