import type { KeysetPosition } from '../../../query/plan.js'
import { mergeStoredDocument } from './stored-document.js'

/** The JSON text of a record, and the version for its ETag. */
export interface RecordJson {
  readonly json: string
  readonly version: string | null
}

/** The JSON text of a record, and its cursor: a JSON text that `parseCursor` reads. */
export interface RecordWithCursor {
  readonly json: string
  readonly cursor: string
}

/** Parses the cursor that `toPageStatement` selected. */
export const parseCursor = ({ cursor }: Pick<RecordWithCursor, 'cursor'>): KeysetPosition =>
  JSON.parse(cursor) as KeysetPosition

/**
 * Separator of the JSON texts of records. PostgreSQL inserts line feeds only between the elements of
 * json_agg, after ", ", so this text occurs only between records.
 */
const RECORD_SEPARATOR = ',\n'

/** The records of a page in their order, as one JSON text and as a list. */
export class RecordPage {
  static readonly EMPTY = new RecordPage('', [])
  #list: readonly RecordWithCursor[] | undefined

  /** @param json the records with `RECORD_SEPARATOR` between them: a JSON array without its brackets */
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

  /** The position of the first record. */
  get startPosition(): KeysetPosition | undefined {
    return this.#positionAt(0)
  }

  /** The position of the last record. */
  get endPosition(): KeysetPosition | undefined {
    return this.#positionAt(-1)
  }

  get list(): readonly RecordWithCursor[] {
    this.#list ??= this.#split()
    return this.#list
  }

  take(count: number): RecordPage {
    if (count >= this.length) return this
    // Fast path: removes the one record that was read to detect a next page.
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
    if (texts.length !== this.length) throw new Error('The records of a page cannot be separated')
    return texts.map((json, i) => ({ json, cursor: this.cursors[i] ?? '' }))
  }
}

/** A row of a statement that reads stored documents. */
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
