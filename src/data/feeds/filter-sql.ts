import { escapeLiteral } from 'pg'
import type { Expr } from '../../query/plan.js'
import { toCondition } from '../sql/expression.js'

/**
 * Renders the filter of a feed over the row `r0` as SQL without parameters, for the body of a database
 * function.
 *   `City eq 'Vail'` → `(r0."City" = ('Vail'::text collate "C"))`
 */
export function toFilterSql(filter: Expr): string {
  const { strings, values } = toCondition(filter)
  return strings.map((part, i) => part + (i < values.length ? toLiteral(values[i]) : '')).join('')
}

/** Every value is rendered with a cast, so a quoted text works for any type. */
function toLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  return Array.isArray(value) ? `ARRAY[${value.map(toLiteral).join(', ')}]` : escapeLiteral(String(value))
}
