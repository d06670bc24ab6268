import { createReadStream } from 'node:fs'
import { JsonSyntaxError, parseExactJson } from '../../domain/exact-json.js'
import type { JsonValue } from '../../domain/json.js'
import { IMPORT_FAULTS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
import {
  decodeText,
  detectForeignEncoding,
  encodedLength,
  type FileEncoding,
  hasUtf8Mark,
  type MisreadText,
} from './decode-text.js'
import {
  type FilePosition,
  JsonScanner,
  JsonStructureError,
  MAX_VALUE_BYTES,
  type ScannedEntry,
  type ScannedValue,
} from './json-scanner.js'

/** An item of a top-level array. */
export interface FileItem {
  readonly kind: 'item'
  readonly member: string
  readonly index: number
  /** Ordinal of the item in the file, across all arrays. */
  readonly ordinal: number
  readonly json: JsonValue
  readonly position: FilePosition
  readonly misread: MisreadText | undefined
}

/** An item or file that is not valid JSON. `ordinal` is that of the item, if any. */
export interface FileFault {
  readonly kind: 'fault'
  readonly label: string
  readonly ordinal?: number
  readonly reason: Phrase
  readonly position: FilePosition
}

export type FileEntry =
  | FileItem
  | FileFault
  | {
      readonly kind: 'member'
      readonly member: string
      readonly isArray: boolean
      readonly position: FilePosition
    }

export interface FileSource {
  readonly path: string
  readonly encoding: FileEncoding
  /** Called with the number of bytes read so far. */
  readonly onBytes?: (bytes: number) => void
}

/** Maximum nesting. A listing with nested records and a polygon in a list has eight levels. */
const MAX_DEPTH = 32
const CHUNK_BYTES = 2 ** 19

/**
 * Reads a JSON file whose top-level members are arrays, in chunks, and yields the items that `needsItems`
 * selects, in order. Memory is bounded by the largest item. An item that is not valid JSON is yielded as a
 * fault, and reading continues. An error in the structure around the items is the last entry.
 */
export async function* readFileEntries(
  source: FileSource,
  needsItems: (member: string) => boolean,
): AsyncGenerator<FileEntry> {
  let ordinal = 0
  try {
    for await (const entry of scanFile(source)) {
      if (entry.kind === 'member') yield entry
      else if (needsItems(entry.member)) {
        const parsed = parseValue(entry, ordinal, source.encoding)
        if (parsed.kind === 'fault' || entry.index !== undefined) yield parsed
      }
      if (entry.kind === 'value') ordinal++
    }
  } catch (error) {
    if (!(error instanceof JsonStructureError)) throw error
    yield { kind: 'fault', label: 'The file', reason: error.reason, position: error.position }
  }
}

async function* scanFile({ path, encoding, onBytes }: FileSource): AsyncGenerator<ScannedEntry> {
  const scanner = new JsonScanner()
  const stream = createReadStream(path, { highWaterMark: CHUNK_BYTES })
  let isFirst = true
  for await (const piece of stream) {
    let chunk = piece as Buffer // no encoding is set
    if (isFirst) {
      const foreign = detectForeignEncoding(chunk, encoding)
      if (foreign)
        throw new JsonStructureError(
          foreign === 'UTF-8' ? IMPORT_FAULTS.notWindows1252 : IMPORT_FAULTS.foreignEncoding(foreign),
          { line: 1, byte: 1 },
        )
      if (hasUtf8Mark(chunk)) chunk = scanner.skip(chunk, 3)
      isFirst = false
    }
    yield* scanner.push(chunk)
    onBytes?.(stream.bytesRead)
  }
  yield* scanner.end()
}

function parseValue(value: ScannedValue, ordinal: number, encoding: FileEncoding): FileEntry {
  const { member, index = 0, bytes, position } = value
  const label = value.index === undefined ? member : `${member}[${index}]`
  if (!bytes) {
    const reason = IMPORT_FAULTS.tooLarge(MAX_VALUE_BYTES / 2 ** 20)
    return { kind: 'fault', label, ordinal, reason, position }
  }
  const { text, misread } = decodeText(bytes, encoding)
  try {
    const json = parseExactJson(text, { maxDepth: MAX_DEPTH })
    return { kind: 'item', member, index, ordinal, json, position, misread }
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    const before = text.slice(0, error.offset)
    const found = {
      line: position.line + before.split('\n').length - 1,
      byte: position.byte + encodedLength(before, encoding),
    }
    return { kind: 'fault', label, ordinal, reason: IMPORT_FAULTS.notJson(error.reason), position: found }
  }
}
