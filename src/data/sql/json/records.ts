import type { KeysetPosition } from '../../../query/plan.js'
import { mergeStoredDocument } from './stored-document.js'

/** A finished record: its JSON text, and its version, from which ETags are made. */
export interface RecordJson {
  readonly json: string
  readonly version: string | null
}

/** A finished record with its place in the order of the plan: a JSON text that `toPosition` reads. */
export interface RecordWithCursor {
  readonly json: string
  readonly cursor: string
}

/** The place of a record, from the text that toPageStatement has written. */
export const parseCursor = ({ cursor }: Pick<RecordWithCursor, 'cursor'>): KeysetPosition =>
  JSON.parse(cursor) as KeysetPosition

/**
 * Between the JSON texts of records. PostgreSQL sets line feeds only between the elements of json_agg, behind
 * ", ": so this parts records and nothing within them.
 */
const RECORD_SEPARATOR = ',\n'

/**
 * Finished records in their order: one text for those who pass them on, and one by one for those who look at
 * each.
 */
export class RecordPage {
  static readonly EMPTY = new RecordPage('', [])
  #list: readonly RecordWithCursor[] | undefined

  /**
   * @param json the records with SEPARATOR between them: what stands between the brackets of a JSON array.
   */
  constructor(
    readonly json: string,
    private readonly cursors: readonly string[],
  ) {}

  static of(list: readonly RecordWithCursor[]): RecordPage {
    const records = new RecordPage(
      list.map(({ json }) => json).join(RECORD_SEPARATOR),
      list.map(({ cursor }) => cursor),
    )
    records.#list = list
    return records
  }

  get length(): number {
    return this.cursors.length
  }

  /** The place of the first record. */
  get startPosition(): KeysetPosition | undefined {
    return this.#positionAt(0)
  }

  /** The place of the last record. */
  get endPosition(): KeysetPosition | undefined {
    return this.#positionAt(-1)
  }

  get list(): readonly RecordWithCursor[] {
    this.#list ??= this.#split()
    return this.#list
  }

  take(count: number): RecordPage {
    if (count >= this.length) return this
    // The record that was read to know whether there are more.
    if (count === this.length - 1 && count > 0)
      return new RecordPage(
        this.json.slice(0, this.json.lastIndexOf(RECORD_SEPARATOR)),
        this.cursors.slice(0, count),
      )
    return RecordPage.of(this.list.slice(0, count))
  }

  concat(more: RecordPage): RecordPage {
    if (this.length === 0 || more.length === 0) return this.length === 0 ? more : this
    return new RecordPage(this.json + RECORD_SEPARATOR + more.json, [...this.cursors, ...more.cursors])
  }

  toReversed(): RecordPage {
    return RecordPage.of(this.list.toReversed())
  }

  #positionAt(index: number): KeysetPosition | undefined {
    const cursor = this.cursors.at(index)
    return cursor === undefined ? undefined : parseCursor({ cursor })
  }

  #split(): readonly RecordWithCursor[] {
    const texts = this.length === 0 ? [] : this.json.split(RECORD_SEPARATOR)
    if (texts.length !== this.length) throw new Error('The records of a page cannot be told apart')
    return texts.map((json, i) => ({ json, cursor: this.cursors[i] ?? '' }))
  }
}

/** A row of a statement that reads stored documents: `toStoredColumns`, and the order values. */
export interface StoredDocumentRow {
  readonly json: string
  readonly document: string
  readonly cursor: string
}

/** A row of `toRecordColumns`. */
export type RecordRow = RecordJson & Pick<Partial<StoredDocumentRow>, 'document'>

export const recordJsonOf = ({ json, document, version }: RecordRow): RecordJson => ({
  json: document === undefined ? json : mergeStoredDocument(json, document),
  version,
})
