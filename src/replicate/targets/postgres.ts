import { Client, DatabaseError, type QueryResult, type QueryResultRow } from 'pg'
import { failTarget, REPLICATION_EXIT, ReplicationError } from '../failure.js'
import type { SourceField, SourceSet } from '../source-model.js'
import type { ReplicaState } from '../state.js'
import type { KeySelection, ReplicaTarget, SetChange } from '../target.js'

const STATE_TABLE = '_replication'
const GENERATION = '_generation'
/** First key of the advisory lock. The second one is the schema. */
const LOCK_SPACE = 7_235_113

const COLUMN_TYPES: Readonly<Record<string, string>> = {
  'Edm.String': 'text collate "C"',
  'Edm.Boolean': 'boolean',
  'Edm.Int16': 'integer',
  'Edm.Int32': 'integer',
  'Edm.Int64': 'bigint',
  'Edm.Decimal': 'numeric',
  'Edm.Double': 'double precision',
  'Edm.DateTimeOffset': 'timestamp with time zone',
  'Edm.Date': 'date',
  'Edm.TimeOfDay': 'time',
  'Collection(Edm.String)': 'text[]',
}

/** Points and complex values are stored as JSON. */
const columnType = ({ type }: SourceField): string => COLUMN_TYPES[type] ?? 'jsonb'

/** The server stops or has crashed (57P01, 57P02, 57P03). */
const isShutdown = (error: unknown): error is DatabaseError =>
  error instanceof DatabaseError && /^57P0[123]$/.test(error.code ?? '')

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** A copy in the tables of one schema of a PostgreSQL database. */
export class PostgresTarget implements ReplicaTarget {
  readonly #schema: string
  #connectionError: Error | undefined

  private constructor(
    private readonly client: Client,
    schema: string,
  ) {
    this.#schema = quote(schema)
    client.on('error', error => {
      this.#connectionError ??= error
    })
  }

  /** Connects and locks the schema for this client. The lock ends with the connection. */
  static async open(url: string, schema: string): Promise<PostgresTarget> {
    const client = new Client({ connectionString: url, application_name: 'listing-service replicate' })
    const target = new PostgresTarget(client, schema)
    try {
      await client.connect()
    } catch (error) {
      failTarget(`PostgreSQL cannot be reached: ${error instanceof Error ? error.message : String(error)}`)
    }
    try {
      await target.#lock(schema)
      await target.#refuseServiceDatabase()
    } catch (error) {
      await client.end()
      throw error
    }
    return target
  }

  /** Runs a statement. The driver does not say why a connection is no longer usable. */
  async #query<R extends QueryResultRow>(text: string, values: unknown[] = []): Promise<QueryResult<R>> {
    try {
      return await this.client.query<R>(text, values)
    } catch (error) {
      const lost = this.#connectionError ?? (isShutdown(error) ? error : undefined)
      if (lost === undefined) throw error
      return failTarget(
        `the connection to PostgreSQL was lost: ${lost.message}. The position is stored: run the command again.`,
      )
    }
  }

  async #lock(schema: string): Promise<void> {
    const { rows } = await this.#query<{ held: boolean }>(
      'select pg_try_advisory_lock($1, hashtext($2)) as held',
      [LOCK_SPACE, schema],
    )
    if (rows[0]?.held) return
    const holder = await this.#query<{ pid: number; name: string; host: string | null }>(
      `select pid, application_name as name, host(client_addr) as host from pg_locks join pg_stat_activity using (pid)
       where locktype = 'advisory' and classid = $1 and objid::bigint = hashtext($2)::bigint & 4294967295 and granted
         and database = (select oid from pg_database where datname = current_database())`,
      [LOCK_SPACE, schema],
    )
    const [other] = holder.rows
    throw new ReplicationError(
      `Target: another client writes to this schema: session ${other?.pid} of ${other?.name}${other?.host ? ` at ${other.host}` : ''}.`,
      REPLICATION_EXIT.targetBusy,
    )
  }

  async #refuseServiceDatabase(): Promise<void> {
    const { rows } = await this.#query(
      `select from pg_tables where schemaname = 'public' and tablename = 'ChangeLog'`,
    )
    if (rows.length > 0) failTarget('this is the database of a service. Use another database for the copy.')
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    await this.#query('begin')
    try {
      await work()
      await this.#query('commit')
    } catch (error) {
      await this.#query('rollback').catch(() => undefined)
      throw error
    }
  }

  async readState(): Promise<ReplicaState | undefined> {
    const tables = await this.#query<{ name: string }>(
      `select relname as name from pg_class where relnamespace = to_regnamespace($1) and relkind in ('r', 'v', 'm', 'p', 'f')`,
      [this.#schema],
    )
    const names = tables.rows.map(({ name }) => name)
    if (names.length === 0) return undefined
    if (!names.includes(STATE_TABLE))
      failTarget(
        `the schema ${this.#schema} contains other tables: ${names.slice(0, 5).join(', ')}. Choose another one with --schema.`,
      )
    const { rows } = await this.#query<{ state: ReplicaState }>(
      `select state from ${this.#schema}."${STATE_TABLE}"`,
    )
    return (
      rows[0]?.state ??
      failTarget(`${this.#schema}."${STATE_TABLE}" has no state. Drop the schema for a new copy.`)
    )
  }

  async beginCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      await this.#query(`create schema if not exists ${this.#schema}`)
      await this.#query(
        `create table if not exists ${this.#schema}."${STATE_TABLE}" (one boolean primary key default true check (one), state jsonb not null)`,
      )
      for (const set of sets) await this.#createTable(set)
      await this.#writeState(state)
    })
  }

  /** Adds columns of new fields. Columns of fields that no longer exist keep their values. */
  async #createTable(set: SourceSet): Promise<void> {
    const table = this.#tableOf(set)
    await this.#query(
      `create table if not exists ${table} (${quote(set.key)} text collate "C" primary key, ${quote(GENERATION)} bigint not null)`,
    )
    const { rows } = await this.#query(
      'select from pg_attribute where attrelid = $1::regclass and attname = $2',
      [table, GENERATION],
    )
    if (rows.length === 0)
      failTarget(`${table} is a table of another program. Choose another schema with --schema.`)
    const columns = set.fields
      .filter(({ name }) => name !== set.key)
      .map(field => `add column if not exists ${quote(field.name)} ${columnType(field)}`)
    if (columns.length > 0) await this.#query(`alter table ${table} ${columns.join(', ')}`)
  }

  async resume(): Promise<void> {
    // Nothing to do: the state names the tables.
  }

  #tableOf(set: SourceSet): string {
    return `${this.#schema}.${quote(set.name)}`
  }

  async #writeState(state: ReplicaState): Promise<void> {
    await this.#query(
      `insert into ${this.#schema}."${STATE_TABLE}" (state) values ($1) on conflict (one) do update set state = excluded.state`,
      [JSON.stringify(state)],
    )
  }

  async write(changes: readonly SetChange[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      for (const { set, lines, removed } of changes) {
        if (removed.length > 0)
          await this.#query(`delete from ${this.#tableOf(set)} where ${quote(set.key)} = any ($1::text[])`, [
            removed,
          ])
        if (lines.length > 0) await this.#query(this.#upsert(set), [`[${lines.join(',')}]`, state.generation])
      }
      await this.#writeState(state)
    })
  }

  /** PostgreSQL reads the JSON of the source, so that numbers stay exact. */
  #upsert(set: SourceSet): string {
    const table = this.#tableOf(set)
    const columns = set.fields.map(({ name }) => quote(name))
    const updates = [...columns.filter(name => name !== quote(set.key)), quote(GENERATION)].map(
      name => `${name} = excluded.${name}`,
    )
    return `insert into ${table} (${columns.join(', ')}, ${quote(GENERATION)})
      select ${columns.join(', ')}, $2 from json_populate_recordset(null::${table}, $1::json)
      on conflict (${quote(set.key)}) do update set ${updates.join(', ')}`
  }

  async count(set: SourceSet, generation: number): Promise<{ total: number; stale: number }> {
    const { rows } = await this.#query<{ total: number; stale: number }>(
      `select count(*)::int as total, count(*) filter (where ${quote(GENERATION)} < $1)::int as stale from ${this.#tableOf(set)}`,
      [generation],
    )
    return rows[0] ?? { total: 0, stale: 0 }
  }

  async finishCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      for (const set of sets)
        await this.#query(`delete from ${this.#tableOf(set)} where ${quote(GENERATION)} < $1`, [
          state.generation,
        ])
      for (const name of await this.#otherTables(sets))
        await this.#query(`delete from ${this.#schema}.${quote(name)}`)
      await this.#writeState(state)
    })
    for (const set of sets) await this.#query(`analyze ${this.#tableOf(set)}`)
  }

  /** Returns the tables of sets that earlier copies had. */
  async #otherTables(sets: readonly SourceSet[]): Promise<readonly string[]> {
    const { rows } = await this.#query<{ name: string }>(
      `select relname as name from pg_class join pg_attribute on attrelid = pg_class.oid
       where relnamespace = to_regnamespace($1) and relkind = 'r' and attname = $2 and relname <> all ($3::text[])`,
      [this.#schema, GENERATION, sets.map(({ name }) => name)],
    )
    return rows.map(({ name }) => name)
  }

  async readKeys(
    set: SourceSet,
    { field, generation = 0, range }: KeySelection,
  ): Promise<ReadonlyMap<string, string | null>> {
    const { rows } = await this.#query<{ key: string; value: string | null }>(
      `select ${quote(set.key)} as key, ${field === undefined ? 'null' : `${quote(field)}::text`} as value from ${this.#tableOf(set)} 
       where ${quote(GENERATION)} >= $1 and ${quote(set.key)} >= $2 and ($3::text is null or ${quote(set.key)} < $3)`,
      [generation, range?.from ?? '', range?.to ?? null],
    )
    return new Map(rows.map(({ key, value }) => [key, value]))
  }

  async compact(): Promise<void> {
    // Nothing to do: each change is already visible.
  }

  close(): Promise<void> {
    return this.client.end()
  }
}
