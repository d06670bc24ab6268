import type { CursorBounds } from '../data/read/cursor-window.js'
import { EXPECTED_VALUE, OPTION_CONTEXTS } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'
import type { Query } from '../query/ast.js'
import { maxPageSize } from '../query/bind/bind.js'
import type { PlanSeal } from '../query/cursor.js'
import type { QueryLimits } from '../query/limits.js'

/**
 * Pagination arguments of a connection: the first or the last records between two cursors. Without `first`
 * and `last` the size is that of a page.
 */
export interface ConnectionArguments {
  readonly first?: number
  readonly last?: number
  readonly after?: string
  readonly before?: string
}

/** Returns the requested number of records, after checking the arguments. */
export function checkWindowSize(
  query: Query,
  { first, last, after, before }: ConnectionArguments,
  limits: QueryLimits,
): number | undefined {
  const maxSize = maxPageSize(query, limits)
  for (const [option, size] of Object.entries({ first, last }))
    if (size !== undefined && !(size >= 0 && size <= maxSize))
      fail({
        kind: 'BadOptionValue',
        option,
        expected: EXPECTED_VALUE.integerUpTo(maxSize),
        found: String(size),
      })
  if (first !== undefined && last !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'last', context: OPTION_CONTEXTS.connectionWithFirst })
  if (query.skip && (after ?? before ?? last) !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'skip', context: OPTION_CONTEXTS.connectionWithCursor })
  return first ?? last
}

/** Checks the number of changes in a page. With a page size of 0 a client would never reach the end. */
export function checkChangeCount(query: Query, first: number, limits: QueryLimits): void {
  const maxSize = maxPageSize(query, limits)
  if (!(first >= 1 && first <= maxSize))
    fail({
      kind: 'BadOptionValue',
      option: 'first',
      expected: EXPECTED_VALUE.positiveIntegerUpTo(maxSize),
      found: String(first),
    })
}

export function toCursorBounds({ last, after, before }: ConnectionArguments, seal: PlanSeal): CursorBounds {
  return {
    ...(after !== undefined && { after: seal.open(after, 'after').after }),
    ...(before !== undefined && { before: seal.open(before, 'before').after }),
    backward: last !== undefined,
  }
}
