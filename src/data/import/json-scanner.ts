import { IMPORT_FAULTS } from '../../errors/import-faults.js'
import type { Phrase } from '../../errors/phrase.js'
/** A position in a file: line and byte, counted from 1. */
export interface FilePosition {
  readonly line: number
  readonly byte: number
}

/** The bytes of an item of a top-level array, or of a top-level member that is not an array. */
export interface ScannedValue {
  readonly kind: 'value'
  readonly member: string
  /** Undefined if the value is not an item of an array. */
  readonly index: number | undefined
  /** Undefined if the value is larger than `MAX_VALUE_BYTES`. */
  readonly bytes: Buffer | undefined
  readonly position: FilePosition
}

/** Start of a top-level member. The items of an array follow. */
interface ScannedMember {
  readonly kind: 'member'
  readonly member: string
  readonly isArray: boolean
  readonly position: FilePosition
}

export type ScannedEntry = ScannedMember | ScannedValue

/** The file is not a JSON object of members. Scanning cannot continue after this error. */
export class JsonStructureError extends Error {
  constructor(
    readonly reason: Phrase,
    readonly position: FilePosition,
  ) {
    super(`${reason} (line ${position.line}, byte ${position.byte})`)
  }
}

/**
 * Maximum size of a value. A record of this model has a few kilobytes, and Node can decode texts of half a
 * gigabyte.
 */
export const MAX_VALUE_BYTES = 2 ** 26

const [LINE_FEED, QUOTE, COMMA, BACKSLASH] = [0x0a, 0x22, 0x2c, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

const isBlank = (byte: number): boolean =>
  byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09

/** States of the scanner between keys and values. */
type ScannerState =
  | 'start'
  | 'first key'
  | 'next key'
  | 'colon'
  | 'member value'
  | 'after member'
  | 'first item'
  | 'next item'
  | 'after item'
  | 'end'

interface StateRule {
  /** The next state for each structural character. */
  readonly next: Readonly<Record<string, ScannerState>>
  /** The state after a value, if a value is allowed. */
  readonly afterValue?: ScannerState
  /** The error for any other character. */
  readonly fault: Phrase
}

// biome-ignore format: table
const TRANSITIONS: Readonly<Record<ScannerState, StateRule>> = {
  'start':        { next: { '{': 'first key' },                        fault: IMPORT_FAULTS.notJsonObject },
  'first key':    { next: { '"': 'colon', '}': 'end' },                fault: IMPORT_FAULTS.nameMissing },
  'next key':     { next: { '"': 'colon' },                            fault: IMPORT_FAULTS.nameMissing },
  'colon':        { next: { ':': 'member value' },                     fault: IMPORT_FAULTS.missing("':'") },
  'member value': { next: { '[': 'first item' },                       fault: IMPORT_FAULTS.valueMissing, afterValue: 'after member' },
  'after member': { next: { ',': 'next key', '}': 'end' },             fault: IMPORT_FAULTS.missing("',' or '}'") },
  'first item':   { next: { ']': 'after member' },                     fault: IMPORT_FAULTS.valueMissing, afterValue: 'after item' },
  'next item':    { next: {},                                          fault: IMPORT_FAULTS.valueMissing, afterValue: 'after item' },
  'after item':   { next: { ',': 'next item', ']': 'after member' },   fault: IMPORT_FAULTS.missing("',' or ']'") },
  'end':          { next: {},                                          fault: IMPORT_FAULTS.textAfterEnd },
}

/** Returns true for a character of JSON's structure, which no value begins with. */
const isPunctuation = (byte: number): boolean => ',:]}'.includes(String.fromCharCode(byte))

/**
 * Splits the bytes of a JSON object into its members, and top-level arrays into their items, without parsing
 * the values. Each value is parsed alone, so memory is bounded by the largest one, and parsing continues
 * after a malformed value. Works for every encoding that extends ASCII. Call `push` for each chunk and `end`
 * after the last one.
 */
export class JsonScanner {
  #state: ScannerState = 'start'
  #line = 1
  /** Offset of the current chunk in the file. */
  #chunkOffset = 0
  #member = ''
  #index: number | undefined
  /** Pieces of the current key or value. Undefined between values. */
  #pieces: Buffer[] | undefined
  #pieceBytes = 0
  #isKey = false
  #start: FilePosition = { line: 1, byte: 1 }
  #nesting = 0
  #isInString = false
  #isEscaped = false

  /** Skips the first bytes of a chunk, which are not part of the JSON. */
  skip(chunk: Buffer, bytes: number): Buffer {
    this.#chunkOffset += bytes
    return chunk.subarray(bytes)
  }

  /** @throws JsonStructureError */
  *push(chunk: Buffer): Generator<ScannedEntry> {
    for (let at = 0; at < chunk.length; )
      at = this.#pieces ? yield* this.#continue(chunk, at) : yield* this.#step(chunk, at)
    this.#chunkOffset += chunk.length
  }

  /**
   * Yields the last value if it is incomplete.
   * @throws JsonStructureError if the object is incomplete
   */
  *end(): Generator<ScannedValue> {
    if (this.#state === 'end') return
    if (this.#pieces && !this.#isKey) yield this.#takeValue()
    throw new JsonStructureError(IMPORT_FAULTS.incomplete, { line: this.#line, byte: this.#chunkOffset })
  }

  /** Continues a key or value. Returns the offset at which to continue. */
  *#continue(chunk: Buffer, from: number): Generator<ScannedEntry, number> {
    const end = this.#findEnd(chunk, from)
    this.#append(chunk.subarray(from, end))
    if (end === chunk.length) return end
    if (this.#isKey) {
      this.#member = this.#takeKey()
      // The closing quote belongs to the key. The byte after a value does not belong to the value.
      return end + 1
    }
    yield this.#takeValue()
    if (this.#index !== undefined) this.#index++
    return end
  }

  /**
   * Handles a byte between keys and values. Returns the offset at which to continue. The first byte of a
   * value is not consumed.
   */
  *#step(chunk: Buffer, at: number): Generator<ScannedEntry, number> {
    const byte = chunk[at] ?? 0
    const position = { line: this.#line, byte: this.#chunkOffset + at + 1 }
    if (byte === LINE_FEED) this.#line++
    if (isBlank(byte)) return at + 1
    const state = this.#state
    const { next, afterValue, fault } = TRANSITIONS[state]
    const found = next[String.fromCharCode(byte)]
    const isValue = found === undefined && afterValue !== undefined && !isPunctuation(byte)
    const following = isValue ? afterValue : found
    if (following === undefined) throw new JsonStructureError(fault, position)
    this.#state = following
    if (state === 'member value') {
      this.#index = isValue ? undefined : 0
      yield { kind: 'member', member: this.#member, isArray: !isValue, position }
    }
    if (isValue || following === 'colon') this.#open(position, !isValue)
    return isValue ? at : at + 1
  }

  #open(position: FilePosition, isKey: boolean): void {
    this.#pieces = []
    this.#pieceBytes = 0
    this.#start = position
    this.#isKey = isKey
    this.#nesting = 0
    this.#isInString = false
    this.#isEscaped = false
  }

  #append(piece: Buffer): void {
    this.#pieceBytes += piece.length
    // The bytes of an oversized value are discarded.
    if (this.#pieceBytes > MAX_VALUE_BYTES) this.#pieces = []
    else this.#pieces?.push(piece)
  }

  #takeValue(): ScannedValue {
    return {
      kind: 'value',
      member: this.#member,
      index: this.#index,
      bytes: this.#takeBytes(),
      position: this.#start,
    }
  }

  #takeBytes(): Buffer | undefined {
    const bytes = this.#pieceBytes > MAX_VALUE_BYTES ? undefined : Buffer.concat(this.#pieces ?? [])
    this.#pieces = undefined
    return bytes
  }

  #takeKey(): string {
    try {
      return String(JSON.parse(`"${this.#takeBytes()?.toString('utf8') ?? ''}"`))
    } catch {
      throw new JsonStructureError(IMPORT_FAULTS.nameInvalid, this.#start)
    }
  }

  /**
   * Returns the offset of the byte that ends the key or value, or the length of the chunk if it does not end
   * there.
   */
  #findEnd(chunk: Buffer, from: number): number {
    const isKey = this.#isKey
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === LINE_FEED) this.#line++
      if (isKey ? this.#endsKey(byte) : this.#endsValue(byte)) return at
    }
    return chunk.length
  }

  /** Returns true for the closing quote. */
  #endsKey(byte: number): boolean {
    if (byte === LINE_FEED) throw new JsonStructureError(IMPORT_FAULTS.nameIncomplete, this.#start)
    if (byte === QUOTE && !this.#isEscaped) return true
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
    return false
  }

  /** Returns true for the comma or bracket after the value. A mismatched bracket is left to the parser. */
  #endsValue(byte: number): boolean {
    if (this.#isInString) this.#stepInString(byte)
    else if (byte === QUOTE) this.#isInString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#nesting++
    else if (this.#nesting > 0) this.#nesting -= byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0
    else return byte === COMMA || byte === (this.#index === undefined ? CLOSE_BRACE : CLOSE_BRACKET)
    return false
  }

  /** Handles a byte in a string. A line break does not end it: the parser reports the error. */
  #stepInString(byte: number): void {
    if (byte === QUOTE && !this.#isEscaped) this.#isInString = false
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
  }
}
