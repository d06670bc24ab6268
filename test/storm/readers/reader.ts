import type { Market } from '../market.js'

/** A client that maintains a copy of everything that its token can see. */
export interface StormReader {
  /** Method and token, such as `log, public`. */
  readonly name: string
  /** Makes a full copy and follows the changes until the storm is over. */
  run(isOver: () => boolean): Promise<void>
  /** Reads the remaining changes after the last write. */
  finish(): Promise<Market>
  /** Number of changes that were followed after the first copy. */
  readonly changes: number
}

/** Time between two polls. */
export const POLL_MS = 300
