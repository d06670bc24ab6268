import type { Database } from '../database.js'

/** Begins a new change log, with another identity and higher numbers. Positions of the old one are gone. */
export const beginLog = (database: Pick<Database, 'withClient'>): Promise<unknown> =>
  database.withClient(client => client.query('truncate "EntityEvent"'))
