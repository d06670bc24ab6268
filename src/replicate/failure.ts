/** Exit codes of the command (docs/replication.md). */
export const REPLICATION_EXIT = {
  usage: 1,
  differences: 2,
  source: 3,
  token: 4,
  target: 5,
  needsFlag: 6,
  targetBusy: 7,
} as const

/** A reason to end the command, for the person who runs it. */
export class ReplicationError extends Error {
  constructor(
    message: string,
    readonly exitCode: (typeof REPLICATION_EXIT)[keyof typeof REPLICATION_EXIT],
  ) {
    super(message)
  }
}

export const failUsage = (message: string): never => {
  throw new ReplicationError(message, REPLICATION_EXIT.usage)
}
export const failSource = (message: string): never => {
  throw new ReplicationError(`Source: ${message}`, REPLICATION_EXIT.source)
}
export const failTarget = (message: string): never => {
  throw new ReplicationError(`Target: ${message}`, REPLICATION_EXIT.target)
}
export const failFlag = (message: string): never => {
  throw new ReplicationError(message, REPLICATION_EXIT.needsFlag)
}

/** The change log no longer has the events after a position, or is a different log. */
export class PositionGoneError extends Error {}

/** A response that ended early. The read continues after the last stored record. */
export class InterruptedResponseError extends Error {}
