import type { Phrase } from '../errors/phrase.js'
import { REASONS } from '../errors/reasons.js'
import { JsonNumber, type JsonObject, type JsonValue } from './json.js'

/** The text is not JSON, or `parseExactJson` does not accept its form. */
export class JsonSyntaxError extends Error {
  /**
   * @param reason names the fault without quoting the text
   * @param offset of the fault in UTF-16 code units, from 0
   */
  constructor(
    readonly reason: Phrase,
    readonly offset: number,
  ) {
    super(REASONS.jsonAt(reason, offset + 1))
  }

  /** The reason with the position of the fault. */
  get located(): Phrase {
    return REASONS.jsonAt(this.reason, this.offset + 1)
  }
}

const WHITESPACE = /[ \t\n\r]*/y
/** Matches from quote to quote. The characters between them are checked when the string is decoded. */
const STRING = /"[^"\\]*(?:\\.[^"\\]*)*"/sy
/** RFC 8259, 6. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const LITERAL_NAME = /true|false|null/y

/** Limits of a JSON text. Absent: no limit. */
export interface JsonLimits {
  /** Levels of nesting. */
  readonly maxDepth: number
  /** Values of all kinds together, objects and arrays included. */
  readonly maxValues?: number
  /** Members of one object. */
  readonly maxMembers?: number
}

/**
 * Parses a JSON text (RFC 8259) and preserves the text of numbers, which `JSON.parse` of Node 20 cannot do.
 * Refuses two things that the standard allows: a duplicate member name in an object, since parsers disagree
 * on which one counts, and a text beyond the limits, before the value beyond them is created.
 * @throws JsonSyntaxError
 */
export const parseExactJson = (text: string, limits: JsonLimits): JsonValue =>
  new JsonParser(text, limits).parse()

class JsonParser {
  readonly #text: string
  readonly #maxDepth: number
  readonly #maxValues: number
  readonly #maxMembers: number
  #offset = 0
  #depth = 0
  #valueCount = 0

  constructor(
    text: string,
    { maxDepth, maxValues = Number.POSITIVE_INFINITY, maxMembers = Number.POSITIVE_INFINITY }: JsonLimits,
  ) {
    this.#text = text
    this.#maxDepth = maxDepth
    this.#maxValues = maxValues
    this.#maxMembers = maxMembers
  }

  parse(): JsonValue {
    const value = this.#value()
    if (this.#offset < this.#text.length) this.#fail(REASONS.jsonTextAfterValue)
    return value
  }

  /** Parses a value and the white space around it. */
  #value(): JsonValue {
    this.#match(WHITESPACE)
    const value = this.#unpaddedValue()
    this.#match(WHITESPACE)
    return value
  }

  #unpaddedValue(): JsonValue {
    if (++this.#valueCount > this.#maxValues) this.#fail(REASONS.jsonTooManyValues(this.#maxValues))
    if (this.#consume('{')) return this.#nested(() => this.#object())
    if (this.#consume('[')) return this.#nested(() => this.#array())
    if (this.#text[this.#offset] === '"') return this.#string()
    const number = this.#match(NUMBER)
    if (number !== undefined) return new JsonNumber(number)
    const word = this.#match(LITERAL_NAME) ?? this.#fail(REASONS.jsonNoValue)
    return word === 'null' ? null : word === 'true'
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > this.#maxDepth) this.#fail(REASONS.jsonTooDeep(this.#maxDepth))
    this.#match(WHITESPACE)
    const value = read()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const members: Record<string, JsonValue> = Object.create(null)
    if (this.#consume('}')) return members
    let count = 0
    do {
      if (++count > this.#maxMembers) this.#fail(REASONS.jsonTooManyMembers(this.#maxMembers))
      this.#member(members)
    } while (this.#consume(','))
    if (!this.#consume('}')) this.#fail(REASONS.jsonNoText("',' or '}'"))
    return members
  }

  #member(members: Record<string, JsonValue>): void {
    this.#match(WHITESPACE)
    const name = this.#string()
    if (name in members) this.#fail(REASONS.jsonDuplicateMember)
    this.#match(WHITESPACE)
    if (!this.#consume(':')) this.#fail(REASONS.jsonNoText("':'"))
    members[name] = this.#value()
  }

  #array(): readonly JsonValue[] {
    const items: JsonValue[] = []
    if (this.#consume(']')) return items
    do items.push(this.#value())
    while (this.#consume(','))
    if (!this.#consume(']')) this.#fail(REASONS.jsonNoText("',' or ']'"))
    return items
  }

  #string(): string {
    const start = this.#offset
    const text = this.#match(STRING) ?? this.#fail(REASONS.jsonNoString)
    try {
      return String(JSON.parse(text))
    } catch {
      throw new JsonSyntaxError(REASONS.jsonInvalidString, start)
    }
  }

  #consume(mark: string): boolean {
    const found = this.#text[this.#offset] === mark
    if (found) this.#offset++
    return found
  }

  /** Consumes and returns the text that the pattern matches at the current offset. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#offset
    if (!pattern.test(this.#text)) return undefined
    const found = this.#text.slice(this.#offset, pattern.lastIndex)
    this.#offset = pattern.lastIndex
    return found
  }

  #fail(reason: Phrase): never {
    throw new JsonSyntaxError(reason, this.#offset)
  }
}
