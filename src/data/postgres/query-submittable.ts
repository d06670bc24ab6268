import { type Connection, types as readers, type Submittable } from 'pg'

/** How a column's text is read; its name is that of the member in a row. */
interface Column {
  readonly name: string
  readonly read: (text: string) => unknown
}

type Columns = readonly Column[]

/** What pg says of the columns of a result. */
interface Description {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** The parts of pg's connection that its types leave out. */
interface Wire {
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
 * What the named statements of a connection return: asked once, since it stays as it is as long as the
 * statement lives.
 */
const KNOWN = new WeakMap<Wire, Map<string, Columns>>()

function columnsOn(wire: Wire): Map<string, Columns> {
  const known = KNOWN.get(wire)
  if (known) return known
  const none = new Map<string, Columns>()
  KNOWN.set(wire, none)
  return none
}

type Done = (error: unknown, rows?: readonly unknown[]) => void

/**
 * One run of a statement, in the form in which pg takes what is not made by itself (as pg-cursor does). Its
 * own asks for a description of the rows each time, and makes of each of them a copy of a pattern: a fifth of
 * what a small read cost in Node.
 */
export class Run implements Submittable {
  /** Set by pg: who waits for the end. */
  callback: Done | undefined
  readonly #rows: unknown[] = []
  #columns: Columns = []
  #known: Map<string, Columns> | undefined

  /** @param name under which the connection keeps the statement; empty: not at all. */
  constructor(
    readonly text: string,
    readonly name: string,
    private readonly values: readonly unknown[],
  ) {}

  submit(connection: Connection): void {
    const wire = connection as unknown as Wire // as its source has it
    const isNamed = this.name !== ''
    if (isNamed) this.#known = columnsOn(wire)
    const columns = this.#known?.get(this.name)
    // What is written between goes out together.
    wire.stream.cork()
    try {
      if (!isNamed || wire.parsedStatements[this.name] === undefined) wire.parse(this)
      wire.bind({ statement: this.name, values: this.values, valueMapper: toText })
      if (columns) this.#columns = columns
      else wire.describe({ type: 'P' })
      wire.execute()
      wire.sync()
    } finally {
      wire.stream.uncork()
    }
  }

  handleRowDescription({ fields }: Description): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({
      name,
      read: readers.getTypeParser(dataTypeID, 'text'),
    }))
    this.#known?.set(this.name, this.#columns)
  }

  handleDataRow({ fields }: { readonly fields: readonly (string | null)[] }): void {
    const row: Record<string, unknown> = {}
    for (let i = 0; i < this.#columns.length; i++) {
      const { name, read } = this.#columns[i] as Column // within its length
      const text = fields[i] ?? null
      row[name] = text === null ? null : read(text)
    }
    this.#rows.push(row)
  }

  handleReadyForQuery(): void {
    this.callback?.(null, this.#rows)
  }

  handleError(error: unknown): void {
    this.callback?.(error)
  }

  /** Nothing depends on how many rows there were. */
  handleCommandComplete(): void {}

  handleEmptyQuery(): void {}
}

/** A value as PostgreSQL reads it from text. */
function toText(value: unknown): string | null {
  if (value === null || value === undefined) return null
  return Array.isArray(value) ? `{${value.map(toItem).join(',')}}` : String(value)
}

const toItem = (item: unknown): string =>
  item === null ? 'NULL' : `"${String(item).replaceAll(/["\\]/g, String.raw`\$&`)}"`
