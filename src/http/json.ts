import { type JsonObject, JsonNumber, type JsonValue } from '../domain/json.js'
import { fail } from '../errors/problem.js'

/** The deepest body of this service, a polygon in a list, needs six levels. */
const MAX_DEPTH = 32

/** Blanks, then one token (RFC 8259, 2 to 7): a mark, a string, a number or a word. */
const TOKEN =
  /[ \t\n\r]*(?:(?<mark>[{}[\]:,])|(?<text>"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\u0000-\u001f]*)*")|(?<number>-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?<word>true|false|null)|(?<end>$))/y

type Token = { readonly kind: 'mark' | 'text' | 'number' | 'word' | 'end'; readonly text: string }

const WORDS: Readonly<Record<string, JsonValue>> = { true: true, false: false, null: null }

/**
 * Reads a JSON text (RFC 8259) and keeps numbers as they are written, which `JSON.parse` of Node 20 cannot.
 * Refused beyond the standard: a member name that stands twice in one object (readers disagree on which one counts) and nesting beyond 32 levels.
 * @throws ProblemError MalformedBody, with the position of the fault and nothing of the text.
 */
export const parseJson = (text: string): JsonValue => new Parser(text).parse()

class Parser {
  readonly #text: string
  readonly #pattern = new RegExp(TOKEN)
  #depth = 0
  #token: Token

  constructor(text: string) {
    this.#text = text
    this.#token = this.#read()
  }

  parse(): JsonValue {
    const value = this.#value()
    if (this.#token.kind !== 'end') this.#refuse('something follows its end')
    return value
  }

  #value(): JsonValue {
    const { kind, text } = this.#token
    if (kind === 'mark' && text === '{') return this.#nested(() => this.#object())
    if (kind === 'mark' && text === '[') return this.#nested(() => this.#array())
    if (kind === 'mark' || kind === 'end') return this.#refuse('a value is missing')
    this.#token = this.#read()
    return kind === 'text' ? unquote(text) : kind === 'number' ? new JsonNumber(text) : (WORDS[text] ?? null)
  }

  #nested<T>(read: () => T): T {
    if (++this.#depth > MAX_DEPTH) this.#refuse(`it is nested deeper than ${MAX_DEPTH} levels`)
    this.#token = this.#read()
    const value = read()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const members: Record<string, JsonValue> = Object.create(null)
    if (this.#take('}')) return members
    do {
      if (this.#token.kind !== 'text') this.#refuse('a member name is missing')
      const name = unquote(this.#token.text)
      if (name in members) this.#refuse('a member name stands twice')
      this.#token = this.#read()
      if (!this.#take(':')) this.#refuse("':' is missing")
      members[name] = this.#value()
    } while (this.#take(','))
    if (!this.#take('}')) this.#refuse("',' or '}' is missing")
    return members
  }

  #array(): readonly JsonValue[] {
    const items: JsonValue[] = []
    if (this.#take(']')) return items
    do items.push(this.#value())
    while (this.#take(','))
    if (!this.#take(']')) this.#refuse("',' or ']' is missing")
    return items
  }

  #take(mark: string): boolean {
    const found = this.#token.kind === 'mark' && this.#token.text === mark
    if (found) this.#token = this.#read()
    return found
  }

  #read(): Token {
    const groups = this.#pattern.exec(this.#text)?.groups
    for (const kind of ['mark', 'text', 'number', 'word', 'end'] as const) {
      const text = groups?.[kind]
      if (text !== undefined) return { kind, text }
    }
    return this.#refuse('it cannot be read')
  }

  #refuse(reason: string): never {
    return fail({ kind: 'MalformedBody', reason: `${reason} (near position ${this.#pattern.lastIndex})` })
  }
}

const unquote = (text: string): string => (text.includes('\\') ? String(JSON.parse(text)) : text.slice(1, -1))
