import type { Database } from '../../src/data/database.js'
import type { Ledger } from './ledger.js'
import type { ServiceGroup } from './services.js'

/** A record in JSON. */
export type StormRow = Readonly<Record<string, unknown>>

/** The shared context of a storm. */
export interface Storm {
  readonly kind: Database['kind']
  readonly services: ServiceGroup
  readonly ledger: Ledger
  /** Errors of the service that the storm did not cause. */
  readonly faults: string[]
  /** Listings that all writers change and none deletes. */
  readonly sharedKeys: readonly string[]
  /** Member and office of the agent that writes and reads. */
  readonly agent: { readonly memberKey: string; readonly officeKey: string }
  /** Another member. */
  readonly otherMemberKey: string
  /** Opens a connection beside the service. */
  connect(): Promise<Database>
  isOver(): boolean
}

/** A different number at every call, the same in every run. */
export function createRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}
