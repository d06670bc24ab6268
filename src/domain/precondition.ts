/** Versions of a record as in ETags. `*` matches any version. */
export type VersionCondition = '*' | readonly string[]

/** The preconditions of a write. Undefined means no condition. */
export interface Precondition {
  readonly ifMatch?: VersionCondition | undefined
  readonly ifNoneMatch?: VersionCondition | undefined
}
