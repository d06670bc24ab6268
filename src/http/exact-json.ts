import { JsonSyntaxError, parseExactJson } from '../domain/exact-json.js'
import type { JsonValue } from '../domain/json.js'
import { fail } from '../errors/problem.js'

/** The deepest record of this service, with a polygon in a list, needs six levels. */
const MAX_DEPTH = 32
/** A batch of a hundred full listings has about twenty thousand values. A value costs about a microsecond. */
const MAX_VALUES = 100_000
/** A listing has about 140 fields. Each unknown member is compared with all of them for a suggestion. */
const MAX_MEMBERS = 2000

/**
 * Parses the JSON of a request; see `parseExactJson`.
 * @throws ProblemError MalformedBody, with the position of the fault and nothing of the text.
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): JsonValue {
  try {
    return parseExactJson(text, { maxDepth, maxValues: MAX_VALUES, maxMembers: MAX_MEMBERS })
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    return fail({ kind: 'MalformedBody', reason: error.message })
  }
}
