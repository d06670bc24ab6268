import { type ClientBase, type Connection, types as readers, type Submittable } from 'pg'
import type { Statement } from '../sql/statement.js'

/** Parser of a column, and the name of the member in a row. */
interface ColumnParser {
  readonly name: string
  readonly parse: (text: string) => unknown
}

type ColumnParsers = readonly ColumnParser[]

/** Description of the columns of a result, as pg provides it. */
interface RowDescription {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** The parts of pg's connection that its types leave out. */
interface PgProtocolConnection {
  readonly stream: { cork(): void; uncork(): void }
  /** Texts of the statements that the connection has prepared, by name. */
  readonly parsedStatements: Readonly<Record<string, string>>
  parse(statement: { readonly name: string; readonly text: string }): void
  bind(values: {
    readonly statement: string
    readonly values: readonly unknown[]
    readonly valueMapper: (value: unknown) => string | null
  }): void
  describe(what: { readonly type: 'P' }): void
  execute(): void
  sync(): void
}

/**
 * Columns of the named statements of a connection. They are requested once, because they do not change during
 * the life of a statement.
 */
const COLUMN_CACHES = new WeakMap<PgProtocolConnection, Map<string, ColumnParsers>>()

function columnCacheOf(connection: PgProtocolConnection): Map<string, ColumnParsers> {
  const known = COLUMN_CACHES.get(connection)
  if (known) return known
  const columnCache = new Map<string, ColumnParsers>()
  COLUMN_CACHES.set(connection, columnCache)
  return columnCache
}

type QueryCallback = (error: unknown, rows?: readonly unknown[]) => void

/**
 * A run of a statement, in the form that pg accepts for custom submittables such as pg-cursor. The query
 * class of pg requests a description of the rows each time and copies a template for each row, which took a
 * fifth of a small read in Node.
 */
export class CachedQuery implements Submittable {
  /** Set by pg, and called at the end. */
  callback: QueryCallback | undefined
  readonly #rows: unknown[] = []
  #columns: ColumnParsers = []
  #columnCache: Map<string, ColumnParsers> | undefined

  /** @param name of the prepared statement, or empty for an unnamed one */
  constructor(
    readonly text: string,
    readonly name: string,
    private readonly values: readonly unknown[],
  ) {}

  submit(connection: Connection): void {
    const protocol = connection as unknown as PgProtocolConnection // as its source has it
    const isNamed = this.name !== ''
    if (isNamed) this.#columnCache = columnCacheOf(protocol)
    const columns = this.#columnCache?.get(this.name)
    // Writes between cork and uncork are sent together.
    protocol.stream.cork()
    try {
      if (!isNamed || protocol.parsedStatements[this.name] === undefined) protocol.parse(this)
      protocol.bind({ statement: this.name, values: this.values, valueMapper: toParameterText })
      if (columns) this.#columns = columns
      else protocol.describe({ type: 'P' })
      protocol.execute()
      protocol.sync()
    } finally {
      protocol.stream.uncork()
    }
  }

  handleRowDescription({ fields }: RowDescription): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      parse: readers.getTypeParser(dataTypeID, 'text'),
    }))
    this.#columnCache?.set(this.name, this.#columns)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < this.#columns.length; i++) {
      const { name, parse } = this.#columns[i] as ColumnParser // within its length
      const text = fields[i] ?? null
      row[name] = text === null ? null : parse(text)
    }
    this.#rows.push(row)
  }

  handleReadyForQuery(): void {
    this.callback?.(null, this.#rows)
  }

  handleError(error: unknown): void {
    this.callback?.(error)
  }

  /** The row count is not used. */
  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}
}

/** Returns a value in the text format of PostgreSQL. */
function toParameterText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return Array.isArray(value) ? `{${value.map(toArrayElement).join(',')}}` : String(value)
}

const toArrayElement = (item: unknown): string =>
  item === null ? 'NULL' : `"${String(item).replaceAll(/["\\]/g, String.raw`\$&`)}"`

/** The overload of `query` that accepts a submittable and a callback, which pg's types lack. */
interface SubmittableClient<T> {
  query(submittable: CachedQuery, callback: (error: Error | null, rows: readonly T[]) => void): void
}

/** Runs a statement on a connection, prepared if `name` is not empty. */
export function submitStatement<T>(
  client: ClientBase,
  { text, values }: Statement,
  name: string,
  callback: (error: Error | null, rows: readonly T[]) => void,
): void {
  const submittableClient = client as unknown as SubmittableClient<T> // as its source has it, and the statement says what its rows are
  submittableClient.query(new CachedQuery(text, name, values), callback)
}
