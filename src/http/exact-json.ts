import { JsonSyntaxError, parseExactJson } from '../domain/exact-json.js'
import type { JsonValue } from '../domain/json.js'
import { fail } from '../errors/problem.js'

/** The deepest record of this service, with a polygon in a list, needs six levels. */
const MAX_DEPTH = 32

/**
 * Parses the JSON of a request; see `parseExactJson`.
 * @throws ProblemError MalformedBody, with the position of the fault and nothing of the text.
 */
export function parseJson(text: string, maxDepth = MAX_DEPTH): JsonValue {
  try {
    return parseExactJson(text, maxDepth)
  } catch (error) {
    if (!(error instanceof JsonSyntaxError)) throw error
    return fail({ kind: 'MalformedBody', reason: error.message })
  }
}
