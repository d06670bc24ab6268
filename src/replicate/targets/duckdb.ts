import { rm, writeFile } from 'node:fs/promises'
import { failTarget, REPLICATION_EXIT, ReplicationError } from '../failure.js'
import type { SourceField, SourceSet } from '../source-model.js'
import type { ReplicaState } from '../state.js'
import type { KeySelection, ReplicaTarget, SetChange } from '../target.js'

/** The part of @duckdb/node-api that the target uses. */
interface DuckConnection {
  run(sql: string, values?: string[]): Promise<unknown>
  runAndReadAll(sql: string): Promise<{ getRowsJson(): unknown[][] }>
  closeSync(): void
}
interface DuckInstance {
  connect(): Promise<DuckConnection>
  closeSync(): void
}

const STATE_TABLE = '_replication'
const GENERATION = '_generation'
const MAX_PRECISION = 38
const DEFAULT_SCALE = 10

const COLUMN_TYPES: Readonly<Record<string, string>> = {
  'Edm.String': 'VARCHAR',
  'Edm.Boolean': 'BOOLEAN',
  'Edm.Int16': 'INTEGER',
  'Edm.Int32': 'INTEGER',
  'Edm.Int64': 'BIGINT',
  'Edm.Double': 'DOUBLE',
  'Edm.DateTimeOffset': 'TIMESTAMPTZ',
  'Edm.Date': 'DATE',
  'Edm.TimeOfDay': 'TIME',
  'Collection(Edm.String)': 'VARCHAR[]',
}

function columnType({ type, scale }: SourceField): string {
  if (type === 'Edm.Decimal')
    return `DECIMAL(${MAX_PRECISION}, ${Math.min(scale ?? DEFAULT_SCALE, MAX_PRECISION)})`
  return COLUMN_TYPES[type] ?? 'JSON'
}

const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`
const literal = (text: string): string => `'${text.replaceAll("'", "''")}'`

async function openInstance(path: string): Promise<DuckInstance> {
  const { DuckDBInstance } = await import('@duckdb/node-api').catch(() =>
    failTarget('the package @duckdb/node-api is not installed: npm install --include=optional'),
  )
  try {
    const instance: DuckInstance = await DuckDBInstance.create(path)
    return instance
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (/lock/i.test(message.replaceAll(path, '')))
      throw new ReplicationError(
        `Target: another program uses the file. ${message}`,
        REPLICATION_EXIT.targetBusy,
      )
    return failTarget(
      `${path} cannot be opened: ${message}. For a new copy, choose another file or delete this one.`,
    )
  }
}

/** A copy in the tables of a DuckDB file. The file is locked by DuckDB. */
export class DuckDBTarget implements ReplicaTarget {
  readonly #batchFile: string

  private constructor(
    path: string,
    private readonly instance: DuckInstance,
    private readonly connection: DuckConnection,
  ) {
    this.#batchFile = `${path}.batch.ndjson`
  }

  static async open(path: string): Promise<DuckDBTarget> {
    const instance = await openInstance(path)
    return new DuckDBTarget(path, instance, await instance.connect())
  }

  async #rows(sql: string): Promise<readonly (readonly unknown[])[]> {
    return (await this.connection.runAndReadAll(sql)).getRowsJson()
  }

  async #transaction(work: () => Promise<void>): Promise<void> {
    await this.connection.run('begin')
    try {
      await work()
      await this.connection.run('commit')
    } catch (error) {
      await this.connection.run('rollback').catch(() => undefined)
      throw error
    }
  }

  async readState(): Promise<ReplicaState | undefined> {
    const names = (await this.#rows(`select table_name from information_schema.tables`)).map(([name]) =>
      String(name),
    )
    if (names.length === 0) return undefined
    if (!names.includes(STATE_TABLE))
      failTarget(`the file contains other tables: ${names.slice(0, 5).join(', ')}.`)
    const [row] = await this.#rows(`select state from ${STATE_TABLE}`)
    if (row === undefined) return failTarget(`${STATE_TABLE} has no state. Delete the file for a new copy.`)
    return JSON.parse(String(row[0])) as ReplicaState // written below
  }

  async beginCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      await this.connection.run(`create table if not exists ${STATE_TABLE} (state VARCHAR not null)`)
      for (const set of sets) await this.#createTable(set)
      await this.#writeState(state)
    })
  }

  async #createTable(set: SourceSet): Promise<void> {
    const table = quote(set.name)
    await this.connection.run(`create table if not exists ${table} (${quote(GENERATION)} BIGINT)`)
    const generations = await this.#rows(
      `select column_name from information_schema.columns where table_name = ${literal(set.name)} and column_name = ${literal(GENERATION)}`,
    )
    if (generations.length === 0) failTarget(`${table} is a table of another program. Choose another file.`)
    for (const field of set.fields)
      await this.connection.run(
        `alter table ${table} add column if not exists ${quote(field.name)} ${columnType(field)}`,
      )
  }

  async resume(): Promise<void> {
    // Nothing to do: the state names the tables.
  }

  async #writeState(state: ReplicaState): Promise<void> {
    await this.connection.run(`delete from ${STATE_TABLE}`)
    await this.connection.run(`insert into ${STATE_TABLE} values ($1)`, [JSON.stringify(state)])
  }

  async write(changes: readonly SetChange[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      for (const { set, lines, removed } of changes) {
        if (removed.length > 0)
          await this.connection.run(
            `delete from ${quote(set.name)} where ${quote(set.key)} in (${removed.map(literal).join(', ')})`,
          )
        if (lines.length > 0) await this.#insert(set, lines, state.generation)
      }
      await this.#writeState(state)
    })
    await rm(this.#batchFile, { force: true })
  }

  /**
   * DuckDB reads the JSON of the source. Old records are deleted first. Nothing conflicts, since the tables
   * have no unique index.
   */
  async #insert(set: SourceSet, lines: readonly string[], generation: number): Promise<void> {
    await writeFile(this.#batchFile, `${lines.join('\n')}\n`)
    const types = set.fields.map(field => `${quote(field.name)}: ${literal(columnType(field))}`).join(', ')
    const columns = set.fields.map(({ name }) => quote(name)).join(', ')
    await this.connection.run(
      `create or replace temp table batch as select * from read_json(${literal(this.#batchFile)}, format = 'newline_delimited', maximum_object_size = 268435456, columns = {${types}})`,
    )
    const [table, key] = [quote(set.name), quote(set.key)]
    const former = await this.#formerColumns(set)
    await this.connection.run(
      `create or replace temp table former as select ${[key, ...former].join(', ')} from ${table} where ${key} in (select ${key} from batch)`,
    )
    await this.connection.run(`delete from ${table} where ${key} in (select ${key} from batch)`)
    await this.connection.run(
      `insert into ${table} (${[columns, quote(GENERATION), ...former].join(', ')})
       select ${[columns, generation, ...former].join(', ')} from batch left join former using (${key})`,
    )
  }

  /** Returns the columns of fields that the source no longer has. They keep their values. */
  async #formerColumns(set: SourceSet): Promise<readonly string[]> {
    const known = [GENERATION, ...set.fields.map(({ name }) => name)].map(literal)
    const rows = await this.#rows(
      `select column_name from information_schema.columns where table_name = ${literal(set.name)} and table_catalog = current_database() and column_name not in (${known.join(', ')})`,
    )
    return rows.map(([name]) => quote(String(name)))
  }

  async count(set: SourceSet, generation: number): Promise<{ total: number; stale: number }> {
    const [row] = await this.#rows(
      `select count(*), count(*) filter (where ${quote(GENERATION)} < ${generation}) from ${quote(set.name)}`,
    )
    return { total: Number(row?.[0] ?? 0), stale: Number(row?.[1] ?? 0) }
  }

  async finishCopy(sets: readonly SourceSet[], state: ReplicaState): Promise<void> {
    await this.#transaction(async () => {
      for (const set of sets)
        await this.connection.run(
          `delete from ${quote(set.name)} where ${quote(GENERATION)} < ${state.generation}`,
        )
      for (const name of await this.#otherTables(sets))
        await this.connection.run(`delete from ${quote(name)}`)
      await this.#writeState(state)
    })
    await this.connection.run('checkpoint')
  }

  /** Returns the tables of sets that earlier copies had. */
  async #otherTables(sets: readonly SourceSet[]): Promise<readonly string[]> {
    const rows = await this.#rows(
      `select c.table_name from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
       where c.column_name = ${literal(GENERATION)} and t.table_type = 'BASE TABLE'`,
    )
    return rows.map(([name]) => String(name)).filter(name => !sets.some(set => set.name === name))
  }

  async readKeys(
    set: SourceSet,
    { field, generation = 0, range }: KeySelection,
  ): Promise<ReadonlyMap<string, string | null>> {
    const key = quote(set.key)
    const upper = range?.to === null || range === undefined ? '' : ` and ${key} < ${literal(range.to)}`
    const rows = await this.#rows(
      `select ${key}, ${field === undefined ? 'null' : `${quote(field)}::varchar`} from ${quote(set.name)}
       where coalesce(${quote(GENERATION)}, 0) >= ${generation} and ${key} >= ${literal(range?.from ?? '')}${upper}`,
    )
    return new Map(rows.map(([key, value]) => [String(key), value === null ? null : String(value)]))
  }

  async compact(): Promise<void> {
    // Nothing to do: each change is already in the file or its WAL.
  }

  async close(): Promise<void> {
    this.connection.closeSync()
    this.instance.closeSync()
  }
}
