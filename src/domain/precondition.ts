import { fail } from '../errors/problem.js'

/** Versions of a record, as ETags name them; `*` is any. */
export type VersionCondition = '*' | readonly string[]

/** The condition a client puts on a write. Undefined: no condition. */
export interface Precondition {
  readonly ifMatch?: VersionCondition | undefined
  readonly ifNoneMatch?: VersionCondition | undefined
}

/**
 * Refuses a write (412) of a record that is there in this version if the condition does not hold (RFC 9110,
 * 13.1).
 */
export function checkPrecondition({ ifMatch, ifNoneMatch }: Precondition, version: string): void {
  if (ifMatch !== undefined && !matchesVersion(ifMatch, version))
    fail({ kind: 'PreconditionFailed', header: 'If-Match' })
  if (ifNoneMatch !== undefined && matchesVersion(ifNoneMatch, version))
    fail({ kind: 'PreconditionFailed', header: 'If-None-Match' })
}

const matchesVersion = (versions: VersionCondition, version: string): boolean =>
  versions === '*' || versions.includes(version)
