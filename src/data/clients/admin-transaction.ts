import type { Client as Connection } from 'pg'
import type { Database } from '../database.js'

/** An entry of the audit log, without secrets. */
export interface AuditEntry {
  /** For instance `command root`. */
  readonly actor: string
  /** For instance `client.disable`. */
  readonly action: string
  readonly resource: string
  readonly key: string
  readonly before?: unknown
  readonly after?: unknown
}

type Columns = Readonly<Record<string, unknown>>

/** Changes tables of the schema admin on one connection, within a transaction. */
export class AdminTransaction {
  constructor(protected readonly connection: Connection) {}

  protected async insertRow(table: string, columns: Columns): Promise<void> {
    const entries = Object.entries(columns)
    const names = entries.map(([name]) => `"${name}"`).join(', ')
    const slots = entries.map((_, i) => `$${i + 1}`).join(', ')
    await this.connection.query(
      `insert into "admin"."${table}" (${names}) values (${slots})`,
      entries.map(([, value]) => value),
    )
  }

  protected async updateRow(table: string, key: string, value: unknown, columns: Columns): Promise<void> {
    const entries = Object.entries(columns)
    const assignments = entries.map(([name], i) => `"${name}" = $${i + 2}`).join(', ')
    await this.connection.query(`update "admin"."${table}" set ${assignments} where "${key}" = $1`, [
      value,
      ...entries.map(([, column]) => column),
    ])
  }

  async audit({ actor, action, resource, key, before, after }: AuditEntry): Promise<void> {
    await this.connection.query(
      'insert into "admin"."AuditEntry" ("Actor", "Action", "ResourceName", "ResourceKey", "Before", "After") values ($1, $2, $3, $4, $5, $6)',
      [actor, action, resource, key, toJson(before), toJson(after)],
    )
  }

  /** Writes the entry of a change of a row, with the values that differ. */
  auditChange(
    entry: Omit<AuditEntry, 'before' | 'after'>,
    before: object | undefined,
    after: object,
  ): Promise<void> {
    return this.audit({ ...entry, ...changedValues(before, after) })
  }
}

/** Returns the values that differ as JSON. */
function changedValues(before: object | undefined, after: object): Pick<AuditEntry, 'before' | 'after'> {
  const [former, latter] = [before && new Map(Object.entries(before)), new Map(Object.entries(after))]
  const isChanged = (name: string) => JSON.stringify(former?.get(name)) !== JSON.stringify(latter.get(name))
  const pick = (values: ReadonlyMap<string, unknown>): Columns =>
    Object.fromEntries([...values].filter(([name]) => isChanged(name)))
  return { ...(former && { before: pick(former) }), after: pick(latter) }
}

const toJson = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value))

/**
 * Runs work in one transaction on its own connection. The role's default isolation may be stricter: a
 * snapshot from before a lock would not contain what its holder has committed.
 */
export function runInConnection<T>(
  database: Pick<Database, 'withClient'>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return database.withClient(async connection => {
    await connection.query('begin isolation level read committed')
    try {
      const result = await work(connection)
      await connection.query('commit')
      return result
    } catch (error) {
      await connection.query('rollback').catch(() => undefined)
      throw error
    }
  })
}
