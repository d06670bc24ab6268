/** The current use of a pool, and counters since the start. */
export interface PoolStatistics {
  readonly size: number
  /** Open connections. */
  readonly open: number
  /** Connections that requests hold. */
  readonly used: number
  /** Running statements. */
  readonly running: number
  /** Requests that are waiting for a connection. */
  readonly waiting: number
  /** Requests that had to wait since the start. */
  readonly waits: number
  /** Total duration of these waits, in ms. */
  readonly waitedMs: number
  /** Requests that did not get a connection in time. */
  readonly refusals: number
}
