/** A position in a file: the line and the byte, both from 1. */
export interface FilePosition {
  readonly line: number
  readonly byte: number
}

/** The value of an item of a top-level array, or of a top-level member that is no array, as its bytes. */
export interface ScannedValue {
  readonly kind: 'value'
  readonly member: string
  /** Undefined if the value is not an item of an array. */
  readonly index: number | undefined
  /** Undefined if the value is larger than `MAX_VALUE_BYTES`. */
  readonly bytes: Buffer | undefined
  readonly position: FilePosition
}

/** A top-level member begins; the values of an array follow. */
interface ScannedMember {
  readonly kind: 'member'
  readonly member: string
  readonly isArray: boolean
  readonly position: FilePosition
}

export type ScannedEntry = ScannedMember | ScannedValue

/** The file is not a JSON object of members; scanning cannot continue after it. */
export class JsonStructureError extends Error {
  constructor(
    readonly reason: string,
    readonly position: FilePosition,
  ) {
    super(`${reason} (line ${position.line}, byte ${position.byte})`)
  }
}

/** The longest text that Node can decode has half a gigabyte; a record of this model has some kilobytes. */
export const MAX_VALUE_BYTES = 2 ** 26

const [LINE_FEED, QUOTE, COMMA, BACKSLASH] = [0x0a, 0x22, 0x2c, 0x5c]
const [OPEN_BRACKET, CLOSE_BRACKET, OPEN_BRACE, CLOSE_BRACE] = [0x5b, 0x5d, 0x7b, 0x7d]

const isBlank = (byte: number): boolean =>
  byte === 0x20 || byte === LINE_FEED || byte === 0x0d || byte === 0x09

/** What may come next, between keys and values. */
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
  /** The states after the characters that have a meaning of their own. */
  readonly next: Readonly<Record<string, ScannerState>>
  /** The state after a value, if one may come. */
  readonly afterValue?: ScannerState
  /** The reason of the fault if none of these comes. */
  readonly fault: string
}

// biome-ignore format: table
const TRANSITIONS: Readonly<Record<ScannerState, StateRule>> = {
  'start':        { next: { '{': 'first key' },                        fault: 'the file is not a JSON object' },
  'first key':    { next: { '"': 'colon', '}': 'end' },                fault: 'a member name is missing' },
  'next key':     { next: { '"': 'colon' },                            fault: 'a member name is missing' },
  'colon':        { next: { ':': 'member value' },                     fault: "':' is missing" },
  'member value': { next: { '[': 'first item' },                       fault: 'a value is missing', afterValue: 'after member' },
  'after member': { next: { ',': 'next key', '}': 'end' },             fault: "',' or '}' is missing" },
  'first item':   { next: { ']': 'after member' },                     fault: 'a value is missing', afterValue: 'after item' },
  'next item':    { next: {},                                          fault: 'a value is missing', afterValue: 'after item' },
  'after item':   { next: { ',': 'next item', ']': 'after member' },   fault: "',' or ']' is missing" },
  'end':          { next: {},                                          fault: 'something follows the end of the object' },
}

/** Characters that no value begins with, but that other parts of the JSON do. */
const isPunctuation = (byte: number): boolean => ',:]}'.includes(String.fromCharCode(byte))

/**
 * Splits the bytes of a JSON object into its members, and those that are arrays into their items, without
 * parsing the values: a parser sees each of them alone, so memory is bounded by the largest one and the parser
 * can continue after a malformed one. Works for every encoding that extends ASCII. Feed it with `push` and
 * call `end` after the last chunk.
 */
export class JsonScanner {
  #state: ScannerState = 'start'
  #line = 1
  /** Bytes of the chunks before the current one. */
  #chunkOffset = 0
  #member = ''
  #index: number | undefined
  /** Pieces of the key or value that is being read; undefined between values. */
  #pieces: Buffer[] | undefined
  #pieceBytes = 0
  #isKey = false
  #start: FilePosition = { line: 1, byte: 1 }
  #nesting = 0
  #isInString = false
  #isEscaped = false

  /** Leaves out the first bytes of a chunk, which are no part of the JSON. */
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
   * Yields the value that does not end, if there is one.
   * @throws JsonStructureError if the object is not complete.
   */
  *end(): Generator<ScannedValue> {
    if (this.#state === 'end') return
    if (this.#pieces && !this.#isKey) yield this.#takeValue()
    throw new JsonStructureError('the JSON ends too early', { line: this.#line, byte: this.#chunkOffset })
  }

  /** Reads on in a key or value. Returns where to go on. */
  *#continue(chunk: Buffer, from: number): Generator<ScannedEntry, number> {
    const end = this.#findEnd(chunk, from)
    this.#append(chunk.subarray(from, end))
    if (end === chunk.length) return end
    if (this.#isKey) {
      this.#member = this.#takeKey()
      // The closing quote belongs to the key; the byte after a value does not belong to the value.
      return end + 1
    }
    yield this.#takeValue()
    if (this.#index !== undefined) this.#index++
    return end
  }

  /** Handles a byte between keys and values. Returns where to go on: the first byte of a value stays. */
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
    // What is too large is passed over, not collected.
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
      throw new JsonStructureError('a member name holds a control character or a wrong escape', this.#start)
    }
  }

  /** The index of the byte that ends the key or value; the length of the chunk if it does not end there. */
  #findEnd(chunk: Buffer, from: number): number {
    const isKey = this.#isKey
    for (let at = from; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      if (byte === LINE_FEED) this.#line++
      if (isKey ? this.#endsKey(byte) : this.#endsValue(byte)) return at
    }
    return chunk.length
  }

  /** True for the closing quote. */
  #endsKey(byte: number): boolean {
    if (byte === LINE_FEED) throw new JsonStructureError('the member name does not end', this.#start)
    if (byte === QUOTE && !this.#isEscaped) return true
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
    return false
  }

  /** True for the comma or bracket after the value. A bracket that does not fit is left to the parser. */
  #endsValue(byte: number): boolean {
    if (this.#isInString) this.#stepInString(byte)
    else if (byte === QUOTE) this.#isInString = true
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) this.#nesting++
    else if (this.#nesting > 0) this.#nesting -= byte === CLOSE_BRACE || byte === CLOSE_BRACKET ? 1 : 0
    else return byte === COMMA || byte === (this.#index === undefined ? CLOSE_BRACE : CLOSE_BRACKET)
    return false
  }

  /** A line break in a string is a fault that the parser reports; the string goes on to its closing quote. */
  #stepInString(byte: number): void {
    if (byte === QUOTE && !this.#isEscaped) this.#isInString = false
    this.#isEscaped = byte === BACKSLASH && !this.#isEscaped
  }
}
