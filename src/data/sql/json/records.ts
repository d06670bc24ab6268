import type { Position } from '../../../query/plan.js'
import { joinStored } from './stored-document.js'

/** A finished record: its JSON text, and its version, from which ETags are made. */
export interface Found {
  readonly json: string
  readonly version: string | null
}

/** A finished record with its place in the order of the plan: a JSON text that `toPosition` reads. */
export interface Placed {
  readonly json: string
  readonly cursor: string
}

/** The place of a record, from the text that toPageStatement has written. */
export const toPosition = ({ cursor }: Pick<Placed, 'cursor'>): Position => JSON.parse(cursor) as Position

/**
 * Between the JSON texts of records. PostgreSQL sets line feeds only between the elements of json_agg, behind
 * ", ": so this parts records and nothing within them.
 */
const SEPARATOR = ',\n'

/**
 * Finished records in their order: one text for those who pass them on, and one by one for those who look at
 * each.
 */
export class Records {
  static readonly NONE = new Records('', [])
  #list: readonly Placed[] | undefined

  /**
   * @param json the records with SEPARATOR between them: what stands between the brackets of a JSON array.
   */
  constructor(
    readonly json: string,
    private readonly cursors: readonly string[],
  ) {}

  static of(list: readonly Placed[]): Records {
    const records = new Records(
      list.map(({ json }) => json).join(SEPARATOR),
      list.map(({ cursor }) => cursor),
    )
    records.#list = list
    return records
  }

  get length(): number {
    return this.cursors.length
  }

  /** The place of the first record. */
  get start(): Position | undefined {
    return this.#placeAt(0)
  }

  /** The place of the last record. */
  get end(): Position | undefined {
    return this.#placeAt(-1)
  }

  get list(): readonly Placed[] {
    this.#list ??= this.#split()
    return this.#list
  }

  first(count: number): Records {
    if (count >= this.length) return this
    // The record that was read to know whether there are more.
    if (count === this.length - 1 && count > 0)
      return new Records(this.json.slice(0, this.json.lastIndexOf(SEPARATOR)), this.cursors.slice(0, count))
    return Records.of(this.list.slice(0, count))
  }

  followedBy(more: Records): Records {
    if (this.length === 0 || more.length === 0) return this.length === 0 ? more : this
    return new Records(this.json + SEPARATOR + more.json, [...this.cursors, ...more.cursors])
  }

  reversed(): Records {
    return Records.of(this.list.toReversed())
  }

  #placeAt(index: number): Position | undefined {
    const cursor = this.cursors.at(index)
    return cursor === undefined ? undefined : toPosition({ cursor })
  }

  #split(): readonly Placed[] {
    const texts = this.length === 0 ? [] : this.json.split(SEPARATOR)
    if (texts.length !== this.length) throw new Error('The records of a page cannot be told apart')
    return texts.map((json, i) => ({ json, cursor: this.cursors[i] ?? '' }))
  }
}

/** A row of a statement that reads stored documents: `toStoredColumns`, and the order values. */
export interface StoredRow {
  readonly json: string
  readonly document: string
  readonly cursor: string
}

/** A row of `toRecordColumns`. */
export type RecordRow = Found & Pick<Partial<StoredRow>, 'document'>

export const toFound = ({ json, document, version }: RecordRow): Found => ({
  json: document === undefined ? json : joinStored(json, document),
  version,
})
