import { setTimeout as wait } from 'node:timers/promises'
import { expect } from 'vitest'
import type { TestService } from '../support/test-service.js'
import type { TestProxy } from './proxy.js'

/** Kills of the client for each target. Trap RCL-01 demands 50: REPLICATE_KILLS=50. */
export const KILLS = Number(process.env['REPLICATE_KILLS'] ?? 5)
/** Longest time in ms from a request to the kill. It lets the client write what it has read. */
const MAX_DELAY_MS = 60

const below = (limit: number): number => Math.floor(Math.random() * limit)
const indexOfDigest = (requests: readonly string[]): number =>
  requests.findIndex(url => url.includes('/Digest('))

/** A run of the client that is killed: its arguments, and the requests after which it is killed. */
export interface KilledRun {
  readonly isFirstCopy: boolean
  readonly more: readonly string[]
  readonly isReached: (requests: readonly string[]) => boolean
  readonly delayMs: number
}

/** Returns the run of a kill: in the first copy, while the log is followed, in a new copy, in a verification. */
export function createKilledRun(kill: number): KilledRun {
  const afterRequests = (count: number) => (requests: readonly string[]) => requests.length >= count
  const phase = Math.floor((kill * 4) / KILLS)
  const follow = {
    isFirstCopy: false,
    more: ['--interval', '0.1', '--allow-deletions'],
    delayMs: below(MAX_DELAY_MS),
  }
  if (phase === 0) return { ...follow, isFirstCopy: true, isReached: afterRequests(2 + below(4)) }
  if (phase === 1) return { ...follow, isReached: afterRequests(3 + below(12)) }
  // Every third run begins a new copy. The next two continue it.
  const recopy = kill % 3 === 0 ? ['--recopy'] : []
  if (phase === 2)
    return { ...follow, more: [...follow.more, ...recopy], isReached: afterRequests(3 + below(10)) } // biome-ignore format: one run
  const more = [...follow.more, '--verify']
  const later = 1 + below(4)
  const isReached = (requests: readonly string[]) => {
    const digest = indexOfDigest(requests)
    return digest >= 0 && requests.length >= digest + later
  }
  return { ...follow, more, isReached }
}

/** Returns the sets whose copies the requests show as begun, in their order. */
export const copiedSets = ({ requests }: Pick<TestProxy, 'requests'>): readonly string[] =>
  requests.flatMap(url => /^\/odata\/(\w+)\/\$count/.exec(url)?.[1] ?? [])

/** Starts four writers, each with five listings of its own. Each deletes two more. Returns the function that ends them. */
export function startWriters(
  market: Pick<TestService, 'patch' | 'remove'>,
  keyOf: (n: number) => string,
): () => Promise<unknown> {
  let isOver = false
  const write = async (writer: number) => {
    for (let n = 0; !isOver; n++) {
      const change = { ListPrice: n, InternetEntireListingDisplayYN: n % 7 !== 0 }
      const { status } = await market.patch(keyOf(1 + writer * 5 + (n % 5)), change)
      // A busy service refuses a write, which changes nothing.
      expect([200, 503]).toContain(status)
      if (n % 10 === 0 && n < 20) await market.remove(keyOf(21 + writer * 2 + n / 10))
      await wait(20)
    }
  }
  const writing = Promise.all([0, 1, 2, 3].map(write))
  return () => {
    isOver = true
    return writing
  }
}
