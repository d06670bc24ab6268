import { expect } from 'vitest'
import { rowsOf } from '../support/assertions.js'
import type { GraphQLErrorBody } from '../support/clients/graphql-client.js'
import type { DatabaseKind } from '../support/database.js'
import { type PartnerApp, startPartnerApp } from '../support/partners.js'

type Row = Readonly<Record<string, unknown>>
type Headers = Readonly<Record<string, string>>

/** Time for a process under load to hash secrets and to apply a change, in ms. */
export const LONG = { timeout: 180_000 }
export const SOON = { timeout: 60_000 }
/** Address of the administrator. */
export const ADDRESS = '203.0.113.9'

/** A client of /admin with the scope `admin`. */
export class AdminClient {
  readonly headers: Headers

  constructor(
    readonly app: PartnerApp,
    /** The log of the service. */
    readonly logLines: readonly string[],
  ) {
    const token = app.tokenFor({ scopes: ['admin'], subject: 'ops-7' })
    this.headers = { Authorization: `Bearer ${token}`, 'X-Forwarded-For': ADDRESS }
  }

  /** Reads a path below /admin/odata. */
  read(path: string) {
    return this.app.send(`/admin/odata/${path}`, { headers: this.headers })
  }

  /** Writes a path below /admin/odata. */
  write(method: string, path: string, body?: unknown, headers: Headers = {}) {
    return this.app.send(`/admin/odata/${path}`, { method, body, headers: { ...this.headers, ...headers } })
  }

  /** Sends an operation to /admin/graphql. */
  async query(query: string, variables: object = {}, headers: Headers = this.headers) {
    const Accept = 'application/graphql-response+json'
    const { json, ...response } = await this.app.send('/admin/graphql', {
      method: 'POST',
      body: { query, variables },
      headers: { Accept, ...headers },
    })
    const { data, errors = [] } = json as { data?: Row | null; errors?: readonly GraphQLErrorBody[] } // a result
    return { ...response, data, errors }
  }

  /** Runs an operation, which must succeed. Returns the record of its field. */
  async run(query: string, variables: object = {}): Promise<Row> {
    const { data, errors, text } = await this.query(query, variables)
    expect(errors, text).toEqual([])
    const [[name, record] = ['', null]] = Object.entries(data ?? {})
    expect(record, `${name} ${text}`).not.toBeNull()
    return record as Row // of the schema
  }

  /** Runs a mutation, which must be refused. Returns the code and target of each fault. */
  async refusal(query: string, variables: object): Promise<readonly string[]> {
    const { data, errors } = await this.query(query, variables)
    const [error] = errors
    expect(Object.values(data ?? {}), query).toEqual([null])
    expect(error?.path).toEqual(Object.keys(data ?? {}))
    const { code, serviceCode, target, details = [] } = error?.extensions ?? { code: 'none' }
    return details.length > 0
      ? details.map(detail => `${detail.code} ${detail.target}`)
      : [`${code} ${serviceCode} ${target ?? ''}`.trim()]
  }

  /** Returns the entries of the audit log for a record, the newest first. */
  async entriesOf(key: string) {
    return rowsOf(await this.read(`AuditEntry?$filter=ResourceKey eq '${key}'&$orderby=AuditId desc`))
  }
}

/** Starts a service with the fixture. Returns a client of its administration. */
export async function startAdmin(
  kind: DatabaseKind,
  env: Readonly<Record<string, string>> = {},
): Promise<AdminClient> {
  const logLines: string[] = []
  const app = await startPartnerApp({
    kind,
    fixture: 'fixture.json',
    env: { LOG_LEVEL: 'info', ...env },
    onLogLine: line => logLines.push(line),
  })
  return new AdminClient(app, logLines)
}

/** Returns the code and target of each detail of an OData error. */
export const faultsOf = (text: string): readonly string[] =>
  (JSON.parse(text) as { error: { details: { code: string; target: string }[] } }).error.details.map(
    ({ code, target }) => `${code} ${target}`,
  )
