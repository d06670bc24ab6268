/** A session of the database that keeps others waiting. */
export interface BlockingSession {
  /** Process of PostgreSQL that serves the session; null in the embedded database, which has one process. */
  readonly pid: number | null
  /** `application_name`; empty if the session has set none. */
  readonly application: string
  /** State of the session, such as `idle in transaction`; null if the role may not see it. */
  readonly state: string | null
  /** Age of its transaction in ms; null if the role may not see it. */
  readonly transactionMs: number | null
}

/** Reports a session that keeps statements of the service waiting, and the number of those. */
export type BlockingSessionListener = (session: BlockingSession & { readonly waiting: number }) => void

/** Names a session for a person: `session 4711 (psql, idle in transaction, its transaction began 93 s ago)`. */
export function describeSession({ pid, application, state, transactionMs }: BlockingSession): string {
  const age = transactionMs === null ? '' : `its transaction began ${Math.round(transactionMs / 1000)} s ago`
  const facts = [application, state, age].filter(Boolean)
  return `session${pid === null ? '' : ` ${pid}`}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}`
}
