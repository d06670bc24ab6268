import type { Sql } from './render.js'

/** What can run a statement that reads: the pool, or the transaction of a unit of work. */
export interface Connection {
  query<T>(statement: Sql): Promise<readonly T[]>
}
