import { fail } from '../errors/problem.js'

/** Versions of a record as in ETags. `*` matches any version. */
export type VersionCondition = '*' | readonly string[]

/** The preconditions of a write. Undefined means no condition. */
export interface Precondition {
  readonly ifMatch?: VersionCondition | undefined
  readonly ifNoneMatch?: VersionCondition | undefined
}

/**
 * Refuses (412) a write of an existing record of this version if a precondition does not hold (RFC 9110,
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
