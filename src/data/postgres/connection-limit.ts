import type { Statement } from '../sql/statement.js'

/** Connections of a process in addition to POOL_SIZE: health probes, LISTEN, and background work. */
const OTHER_CONNECTIONS = 3

const SELECT_LIMIT = `select (current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
  - coalesce(current_setting('reserved_connections', true)::int, 0)) as max`

/**
 * Returns a warning if the processes of this start may open more connections than the server allows. Undefined for
 * the embedded database.
 */
export async function findConnectionShortage(
  database: {
    readonly kind: 'embedded' | 'server'
    queryControl<T>(statement: Statement): Promise<readonly T[]>
  },
  { poolSize, workers }: { readonly poolSize: number; readonly workers: number },
): Promise<string | undefined> {
  if (database.kind === 'embedded') return undefined
  const [row] = await database.queryControl<{ readonly max: number }>({ text: SELECT_LIMIT, values: [] })
  const needed = workers * (poolSize + OTHER_CONNECTIONS)
  if (row === undefined || needed <= row.max) return undefined
  return `POOL_SIZE and WORKERS allow ${needed} connections; max_connections of the server leaves ${row.max}.`
}
