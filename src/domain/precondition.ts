import { fail } from '../errors/problem.js'

/** Versions of a record, as ETags name them; `*` is any. */
export type Versions = '*' | readonly string[]

/** The condition a client puts on a write. Undefined: no condition. */
export interface Precondition {
  readonly ifMatch?: Versions | undefined
  readonly ifNoneMatch?: Versions | undefined
}

/**
 * Refuses a write (412) of a record that is there in this version if the condition does not hold (RFC 9110,
 * 13.1).
 */
export function checkPrecondition({ ifMatch, ifNoneMatch }: Precondition, version: string): void {
  if (ifMatch !== undefined && !names(ifMatch, version))
    fail({ kind: 'PreconditionFailed', header: 'If-Match' })
  if (ifNoneMatch !== undefined && names(ifNoneMatch, version))
    fail({ kind: 'PreconditionFailed', header: 'If-None-Match' })
}

const names = (versions: Versions, version: string): boolean => versions === '*' || versions.includes(version)
