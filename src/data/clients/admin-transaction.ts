import type { Client as Connection } from 'pg'
import type { Author } from '../../domain/actor.js'
import { checkPrecondition, type Precondition } from '../../domain/write-shape.js'
import type { Database } from '../database.js'

/** An entry of the audit log, without secrets. */
export interface AuditEntry {
  readonly actor: Author
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
    if (entries.length === 0) return
    const assignments = entries.map(([name], i) => `"${name}" = $${i + 2}`).join(', ')
    await this.connection.query(`update "admin"."${table}" set ${assignments} where "${key}" = $1`, [
      value,
      ...entries.map(([, column]) => column),
    ])
  }

  /** Fails unless the version of a row, which is locked, satisfies the precondition of its change. */
  protected async checkRow(
    table: string,
    key: string,
    value: unknown,
    condition: Precondition,
  ): Promise<void> {
    if (!condition.ifMatch && !condition.ifNoneMatch) return
    const { rows } = await this.connection.query<{ readonly version: string }>(
      `select "Version"::text as version from "admin"."${table}" where "${key}" = $1`,
      [value],
    )
    checkPrecondition(rows[0]?.version ?? null, condition)
  }

  async audit({ actor, action, resource, key, before, after }: AuditEntry): Promise<void> {
    const writer = typeof actor === 'string' ? { actor } : actor
    await this.connection.query(
      'insert into "admin"."AuditEntry" ("Actor", "ClientId", "Subject", "ChangedByMemberKey", "Address", "Action", "ResourceName", "ResourceKey", "Before", "After") values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)',
      [
        writer.actor, writer.client, writer.subject, writer.member, writer.address, action, resource, key, toJson(before), toJson(after),
      ], // biome-ignore format: in the order of the columns
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

/** The limit of the wait for the lock of another session, such as a transaction in psql. */
const LOCK_TIMEOUT = '10s'

/**
 * Runs work in one transaction on its own connection. The role's default isolation may be stricter: a
 * snapshot from before a lock would not contain what its holder has committed.
 */
export function runAdminTransaction<T>(
  database: Pick<Database, 'withClient'>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  return database.withClient(async connection => {
    await connection.query('begin isolation level read committed')
    try {
      await connection.query(`set local lock_timeout = '${LOCK_TIMEOUT}'`)
      const result = await work(connection)
      await connection.query('commit')
      return result
    } catch (error) {
      await connection.query('rollback').catch(() => undefined)
      throw error
    }
  })
}
