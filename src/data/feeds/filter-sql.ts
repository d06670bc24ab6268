import { escapeLiteral } from 'pg'
import type { Expr } from '../../query/plan.js'
import { toCondition } from '../sql/expression.js'

/**
 * Renders the filter of a feed over the row `r0` as the text of a function of the database, which has no parameters.
 *   `City eq 'Vail'` → `(r0."City" = ('Vail'::text collate "C"))`
 */
export function toFilterSql(filter: Expr): string {
  const { strings, values } = toCondition(filter)
  return strings.map((part, i) => part + (i < values.length ? toLiteral(values[i]) : '')).join('')
}

/** Every value has a cast, so that a text in quotes is a literal of any type. */
function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return Array.isArray(value) ? `ARRAY[${value.map(toLiteral).join(', ')}]` : escapeLiteral(String(value))
}
