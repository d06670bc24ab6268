/**
 * A number of a JSON body with its original text, a JSON number as in RFC 8259, 6. A double has about 16
 * digits, and a price in the database can have more. The text preserves them: `1e2`, `0.10` and
 * `12345678901234567.89` arrive unchanged.
 */
export class JsonNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  /** Lets messages show the digits. `renderJson` writes them as a number. */
  toJSON(): string {
    return this.text
  }
}

/**
 * A value of a JSON body. Objects have no prototype, so that every member name is safe, including
 * `__proto__`.
 */
export type JsonValue = string | boolean | null | JsonNumber | readonly JsonValue[] | JsonObject

export interface JsonObject {
  readonly [name: string]: JsonValue
}

export const isList = (json: JsonValue | undefined): json is readonly JsonValue[] => Array.isArray(json)

export const isObject = (json: JsonValue | undefined): json is JsonObject =>
  typeof json === 'object' && json !== null && !isList(json) && !(json instanceof JsonNumber)

/** Renders a value as JSON, its numbers as they were written. */
export function renderJson(json: JsonValue): string {
  if (json instanceof JsonNumber) return json.text
  if (isList(json)) return `[${json.map(renderJson).join(',')}]`
  if (!isObject(json)) return JSON.stringify(json)
  const members = Object.entries(json).map(([name, value]) => `${JSON.stringify(name)}:${renderJson(value)}`)
  return `{${members.join(',')}}`
}
