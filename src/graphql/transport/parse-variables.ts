import { isUtf8 } from 'node:buffer'
import { isList, isObject, JsonNumber, type JsonValue } from '../../domain/json.js'
import { toJson } from '../../http/body.js'
import { parseJson } from '../../http/exact-json.js'
import { fitsDouble } from '../schema/scalars.js'

/**
 * JSON as graphql-js takes it. A number stays what was written if JavaScript would write it otherwise: the
 * scalar of decimals then reads its digits.
 * @param levels most levels of nesting
 * @throws ProblemError MalformedBody
 */
export const readPlain = (text: string, levels: number): unknown =>
  readOwn(text, levels) ?? toPlain(parseJson(text, levels))

/** The same of bytes in UTF-8. */
export const readPlainBytes = (bytes: Buffer, levels: number): unknown =>
  (isUtf8(bytes) ? readOwn(bytes.toString('utf8'), levels) : undefined) ?? toPlain(toJson(bytes, levels))

/**
 * What JavaScript itself reads, at a tenth of the cost, if it writes the same text again: then no number has
 * changed, and no name stands twice in an object. Clients in JavaScript send such texts. Undefined stands for
 * all others, and for what is no JSON.
 */
function readOwn(text: string, levels: number): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return JSON.stringify(value) === text && isWithin(levels, value) ? value : undefined
  } catch {
    return undefined
  }
}

const isWithin = (levels: number, value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every(member => isWithin(levels - 1, member)))

function toPlain(value: JsonValue): unknown {
  if (value instanceof JsonNumber)
    return String(Number(value.text)) === value.text || fitsDouble(value.text) ? Number(value.text) : value
  if (isList(value)) return value.map(toPlain)
  return isObject(value)
    ? Object.fromEntries(Object.entries(value).map(([name, member]) => [name, toPlain(member)]))
    : value
}
