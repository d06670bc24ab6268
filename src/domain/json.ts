/**
 * A number of a JSON body, as it was written. A double holds about 16 digits, a price in the database any
 * number of them, so the text is kept: `1e2`, `0.10` and `12345678901234567.89` arrive unchanged. It always
 * has the form of a JSON number (RFC 8259, 6).
 */
export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** A value of a JSON body. Objects have no prototype, so any member name is harmless, `__proto__` too. */
export type JsonValue = string | boolean | null | JsonNumber | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [name: string]: JsonValue
}

export const isList = (json: JsonValue | undefined): json is readonly JsonValue[] => Array.isArray(json)

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !isList(json) && !(json instanceof JsonNumber)
