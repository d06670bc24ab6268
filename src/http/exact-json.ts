import { JsonNumber, type JsonObject, type JsonValue } from '../domain/json.js'
import { fail } from '../errors/problem.js'

/** The deepest record of this service, with a polygon in a list, needs six levels. */
const MAX_DEPTH = 32

const BLANKS = /[ \t\n\r]*/y
/** From quote to quote; what may stand between them is checked when the text is read. */
const TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/sy
/** RFC 8259, 6. */
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const WORD = /true|false|null/y

/**
 * Reads a JSON text (RFC 8259) and keeps numbers as they are written, which `JSON.parse` of Node 20 cannot.
 * Refused beyond the standard: a member name that stands twice in one object (readers disagree on which one
 * counts) and nesting beyond `maxDepth` levels.
 * @throws ProblemError MalformedBody, with the position of the fault and nothing of the text.
 */
export const parseJson = (text: string, maxDepth = MAX_DEPTH): JsonValue => new Parser(text, maxDepth).parse()

class Parser {
  readonly #text: string
  readonly #maxDepth: number
  #at = 0
  #depth = 0

  constructor(text: string, maxDepth: number) {
    this.#text = text
    this.#maxDepth = maxDepth
  }

  parse(): JsonValue {
    const value = this.#value()
    if (this.#at < this.#text.length) this.#refuse('something follows its end')
    return value
  }

  /** A value and the blanks around it. */
  #value(): JsonValue {
    this.#match(BLANKS)
    const value = this.#bareValue()
    this.#match(BLANKS)
    return value
  }

  #bareValue(): JsonValue {
    if (this.#take('{')) return this.#nested(() => this.#object())
    if (this.#take('[')) return this.#nested(() => this.#array())
    if (this.#text[this.#at] === '"') return this.#string()
    const number = this.#match(NUMBER)
    if (number !== undefined) return new JsonNumber(number)
    const word = this.#match(WORD) ?? this.#refuse('a value is missing')
    return word === 'null' ? null : word === 'true'
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > this.#maxDepth) this.#refuse(`it is nested deeper than ${this.#maxDepth} levels`)
    this.#match(BLANKS)
    const value = read()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const members: Record<string, JsonValue> = Object.create(null)
    if (this.#take('}')) return members
    do this.#member(members)
    while (this.#take(','))
    if (!this.#take('}')) this.#refuse("',' or '}' is missing")
    return members
  }

  #member(members: Record<string, JsonValue>): void {
    this.#match(BLANKS)
    const name = this.#string()
    if (name in members) this.#refuse('a member name stands twice')
    this.#match(BLANKS)
    if (!this.#take(':')) this.#refuse("':' is missing")
    members[name] = this.#value()
  }

  #array(): readonly JsonValue[] {
    const items: JsonValue[] = []
    if (this.#take(']')) return items
    do items.push(this.#value())
    while (this.#take(','))
    if (!this.#take(']')) this.#refuse("',' or ']' is missing")
    return items
  }

  #string(): string {
    const text = this.#match(TEXT) ?? this.#refuse('a text is missing or does not end')
    try {
      return String(JSON.parse(text))
    } catch {
      return this.#refuse('a text holds a control character or a wrong escape')
    }
  }

  #take(mark: string): boolean {
    const found = this.#text[this.#at] === mark
    if (found) this.#at++
    return found
  }

  /** What the pattern finds here; it is passed over. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    if (!pattern.test(this.#text)) return undefined
    const found = this.#text.slice(this.#at, pattern.lastIndex)
    this.#at = pattern.lastIndex
    return found
  }

  #refuse(reason: string): never {
    return fail({ kind: 'MalformedBody', reason: `${reason} (at position ${this.#at + 1})` })
  }
}
