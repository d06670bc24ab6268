/** A session of the database that blocks others. */
export interface BlockingSession {
  /** PostgreSQL process of the session. Null in the embedded database, which has one process. */
  readonly pid: number | null
  /** `application_name`. Empty if the session has not set it. */
  readonly application: string
  /** State of the session, such as `idle in transaction`. Null if the role may not see it. */
  readonly state: string | null
  /** Age of its transaction in ms. Null if the role may not see it. */
  readonly transactionMs: number | null
}

/** Reports a session that blocks statements of the service, and their number. */
export type BlockingSessionListener = (session: BlockingSession & { readonly waiting: number }) => void

/** Describes a session: `session 4711 (psql, idle in transaction, its transaction began 93 s ago)`. */
export function describeSession({ pid, application, state, transactionMs }: BlockingSession): string {
  const age = transactionMs === null ? '' : `its transaction began ${Math.round(transactionMs / 1000)} s ago`
  const facts = [application, state, age].filter(Boolean)
  return `session${pid === null ? '' : ` ${pid}`}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
}
