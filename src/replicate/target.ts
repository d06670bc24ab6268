import type { SourceSet } from './source-model.js'
import type { ReplicaState } from './state.js'

/** Records of a set to store, as the JSON text of the source, and keys to remove. */
export interface SetChange {
  readonly set: SourceSet
  readonly lines: readonly string[]
  readonly removed: readonly string[]
}

/** A place for a copy. Every change is stored together with the state, or not at all. */
export interface ReplicaTarget {
  /** Returns the state, or undefined if the target is empty. Fails if it holds anything else. */
  readState(): Promise<ReplicaState | undefined>
  /** Creates what is missing for the sets, and begins a copy of another generation beside the old records. */
  beginCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  /** Uses what is there for the sets. */
  resume(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  write(changes: readonly SetChange[], state: ReplicaState): Promise<void>
  /** Counts the records, and those that the copy of the present generation has not seen. */
  count(set: SourceSet, generation: number): Promise<{ readonly total: number; readonly stale: number }>
  /** Removes the records that the copy has not seen, and stores the state. */
  finishCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  /** Returns the keys with a field of each record, or null. */
  readKeys(set: SourceSet, field: string | undefined): Promise<ReadonlyMap<string, string | null>>
  /** Called when the copy is up to date. */
  settle(state: ReplicaState): Promise<void>
  close(): Promise<void>
}
