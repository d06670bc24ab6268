import type { ComparedRange } from './key-range.js'
import type { SourceSet } from './source-model.js'
import type { ReplicaState } from './state.js'

/** Records of a set to store, as the JSON text of the source, and keys to remove. */
export interface SetChange {
  readonly set: SourceSet
  readonly lines: readonly string[]
  readonly removed: readonly string[]
}

/** Selects records of a copy. */
export interface KeySelection {
  readonly field?: string
  /** Only records of the copy of this generation, or of a later one. */
  readonly generation?: number | undefined
  readonly range?: ComparedRange
}

/** The store of a copy. A change and the state are stored together or not at all. */
export interface ReplicaTarget {
  /** Returns the state, or undefined if the target is empty. Fails if it contains anything else. */
  readState(): Promise<ReplicaState | undefined>
  /**
   * Creates missing tables or files for the sets, and begins a copy with a new generation. The old records
   * remain.
   */
  beginCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  /** Opens the tables or files of the sets. */
  resume(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  write(changes: readonly SetChange[], state: ReplicaState): Promise<void>
  /** Counts the records, and those that the current copy has not seen. */
  count(set: SourceSet, generation: number): Promise<{ readonly total: number; readonly stale: number }>
  /** Removes the records that the copy has not seen, and stores the state. */
  finishCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void>
  /** Returns the key of each selected record with the value of the field, or null. */
  readKeys(set: SourceSet, selection: KeySelection): Promise<ReadonlyMap<string, string | null>>
  /** Removes what later writes have superseded. Called when the copy is up to date. */
  compact(state: ReplicaState): Promise<void>
  close(): Promise<void>
}
