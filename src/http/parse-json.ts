import { JsonSyntaxError, parseExactJson } from '../domain/exact-json.js'
import type { JsonValue } from '../domain/json.js'
import { fail } from '../errors/problem.js'

/** Maximum nesting. The deepest record of the service, with a polygon in a list, has six levels. */
const MAX_DEPTH = 32
/**
 * Maximum number of values. A batch of a hundred complete listings has about twenty thousand. A value costs
 * about a microsecond.
 */
const MAX_VALUES = 100_000
/**
 * Maximum number of members of an object. A listing has about 140 fields, and each unknown member is compared
 * with all of them for a suggestion.
 */
const MAX_MEMBERS = 2000

/**
 * Parses the JSON of a request; see `parseExactJson`.
 * @throws ProblemError MalformedBody, with the position of the error but none of the text
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): JsonValue {
  try {
    return parseExactJson(text, { maxDepth, maxValues: MAX_VALUES, maxMembers: MAX_MEMBERS })
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    return fail({ kind: 'MalformedBody', reason: error.located })
  }
}
