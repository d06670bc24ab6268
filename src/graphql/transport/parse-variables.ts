import { isUtf8 } from 'node:buffer'
import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { parseJsonBytes } from '../../http/body.js'
import { parseJson } from '../../http/exact-json.js'
import { fitsDouble } from '../schema/scalars.js'

/**
 * Parses JSON into the values that graphql-js coerces. A number that a double cannot hold exactly stays a
 * `JsonNumber`: the scalars read its digits or refuse it.
 * @param maxDepth most levels of nesting
 * @throws ProblemError MalformedBody
 */
export const parseVariables = (text: string, maxDepth: number): unknown =>
  parseLossless(text, maxDepth) ?? toJavaScriptValue(parseJson(text, maxDepth))

/** The same of bytes in UTF-8. */
export const parseVariablesBytes = (bytes: Buffer, maxDepth: number): unknown =>
  (isUtf8(bytes) ? parseLossless(bytes.toString('utf8'), maxDepth) : undefined) ??
  toJavaScriptValue(parseJsonBytes(bytes, maxDepth))

/**
 * What JavaScript itself reads, at a tenth of the cost, if it writes the same text again: then no number has
 * changed, and no name stands twice in an object. Clients in JavaScript send such texts. Undefined stands for
 * all others, and for what is no JSON.
 */
function parseLossless(text: string, maxDepth: number): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text && isWithinDepth(maxDepth, value) ? value : undefined
  } catch {
    return undefined
  }
}

const isWithinDepth = (maxDepth: number, value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (maxDepth > 0 && Object.values(value).every(member => isWithinDepth(maxDepth - 1, member)))

function toJavaScriptValue(value: JsonValue): unknown {
  if (value instanceof JsonNumber) return fitsDouble(value.text) ? Number(value.text) : value
  if (isList(value)) return value.map(toJavaScriptValue)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toJavaScriptValue(member)]))
    : value
}
