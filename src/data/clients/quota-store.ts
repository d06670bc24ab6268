import type { Database } from '../database.js'

/** A quota: requests per minute, requests per day, or rows per day. */
export type QuotaKind = 'minute' | 'day' | 'rows'

/** A request of a process for a portion of a quota. */
export interface PortionRequest {
  readonly kind: QuotaKind
  readonly limit: number
  /** The window of the current portion of the process, or null. */
  readonly window: string | null
  /** The number used beyond the current portion. Negative for a number that is returned. */
  readonly adjustment: number
  readonly wanted: number
}

/** A portion of a quota. */
export interface Portion {
  readonly kind: QuotaKind
  readonly granted: number
  /** The number that no process has taken. */
  readonly remaining: number
  readonly window: string
  readonly millisecondsLeft: number
  /** Number of processes that take from quotas. */
  readonly processes: number
}

/** Takes portions of the quotas of a client in one statement. */
export function takePortions(
  database: Pick<Database, 'queryControl'>,
  processId: string,
  subject: string,
  requests: readonly PortionRequest[],
): Promise<readonly Portion[]> {
  return database.queryControl<Portion>({
    text: `select kind, granted::float8 as "granted", remaining::float8 as "remaining", window_start as "window", milliseconds_left as "millisecondsLeft", processes
from "admin"."take_quotas"($1, $2, $3, $4, $5, $6, $7)`,
    values: [
      processId,
      subject,
      requests.map(({ kind }) => kind),
      requests.map(({ limit }) => limit),
      requests.map(({ window }) => window),
      requests.map(({ adjustment }) => adjustment),
      requests.map(({ wanted }) => wanted),
    ],
  })
}

/** Registers this process as one that takes from quotas, and returns their number. */
export async function countLimitProcesses(
  database: Pick<Database, 'queryControl'>,
  processId: string,
): Promise<number> {
  const [row] = await database.queryControl<{ readonly count: number }>({
    text: 'select "admin"."count_limit_processes"($1) as "count"',
    values: [processId],
  })
  return row?.count ?? 1
}

/** Removes a process that no longer takes from quotas. */
export async function removeLimitProcess(
  database: Pick<Database, 'queryControl'>,
  processId: string,
): Promise<void> {
  await database.queryControl({
    text: 'delete from "admin"."LimitProcess" where "ProcessId" = $1',
    values: [processId],
  })
}
