import type { SourceSet } from './source-model.js'

/** Version of the layout of targets. */
export const TARGET_LAYOUT_VERSION = 1

/** The origin of the records of a target: the source, the rights of the token, and the filters. */
export interface ReplicaOrigin {
  readonly source: string
  readonly rights: string
  readonly filters: Readonly<Record<string, string>>
  readonly sets: readonly string[]
}

/** `log` follows EntityEvent, `time` polls ModificationTimestamp. */
export type FollowMethod = 'log' | 'time'

/** Progress of a full copy in a set. */
export interface SetProgress {
  readonly lastKey: string | undefined
  readonly isDone: boolean
}

/** Last record that was read in the order of time and key. */
export interface TimePosition {
  readonly time: string
  readonly key: string
}

/** Records of a set that were deleted since the copy was last up to date, of the number that it had then. */
export interface DeletionCount {
  readonly deleted: number
  readonly total: number
}

/** Everything that a client needs to continue. It is stored in one transaction with the records. */
export interface ReplicaState {
  readonly layout: number
  readonly mark: ReplicaOrigin
  readonly method: FollowMethod
  /** Types of the fields, by set. */
  readonly model: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly generation: number
  readonly phase: 'copy' | 'follow'
  /** Number of the last event that was applied. */
  readonly position: string
  readonly copied: Readonly<Record<string, SetProgress>>
  readonly times: Readonly<Record<string, TimePosition>>
  readonly sweptAt: string | undefined
  /** By set. Absent when the copy is up to date. */
  readonly deletions?: Readonly<Record<string, DeletionCount>> | undefined
}

export const typesOf = (sets: readonly SourceSet[]): ReplicaState['model'] =>
  Object.fromEntries(
    sets.map(({ name, fields }) => [name, Object.fromEntries(fields.map(field => [field.name, field.type]))]),
  )

/** Returns the state of an empty target. */
export const createState = (
  mark: ReplicaOrigin,
  method: FollowMethod,
  model: ReplicaState['model'],
): ReplicaState => ({
  layout: TARGET_LAYOUT_VERSION,
  mark,
  method,
  model,
  generation: 0,
  phase: 'copy',
  position: '0',
  copied: {},
  times: {},
  sweptAt: undefined,
})
