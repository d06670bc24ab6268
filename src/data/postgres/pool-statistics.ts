/** The use of a pool since the start, and now. */
export interface PoolStatistics {
  readonly size: number
  /** Open connections. */
  readonly open: number
  /** Connections that requests hold. */
  readonly used: number
  /** Statements that run. */
  readonly running: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  /** Requests that had to wait. */
  readonly waits: number
  /** The time of all waits. */
  readonly waitedMs: number
  /** Requests that got no connection in time. */
  readonly refusals: number
}
