import sql, { join, raw, type Sql } from 'sql-template-tag'

/**
 * Maximum length of an operand that may be written more than once: a column, a parameter, or one call with
 * such arguments.
 */
const MAX_REPEATED_LENGTH = 200

/**
 * Renders an expression that names operands more than once. Long operands are evaluated in a subquery, so
 * that the length of the SQL grows linearly with the nesting of calls instead of exponentially. `(case when
 * <a> > 0 then <a> end)` -> `(select (case when o.x0 > 0 then o.x0 end) from (select <a> as x0) o)`
 */
export function evaluateOnce<O extends readonly Sql[]>(
  operands: readonly [...O],
  render: (...operands: O) => Sql,
): Sql {
  const long = operands.filter(isLong)
  if (long.length === 0) return render(...(operands as unknown as O)) // the same tuple
  const names = operands.map(operand => (isLong(operand) ? raw(`o.x${long.indexOf(operand)}`) : operand))
  const columns = long.map((operand, i) => sql`${operand} as ${raw(`x${i}`)}`)
  return sql`(select ${render(...(names as unknown as O))} from (select ${join(columns)}) o)` // one name each
}

const isLong = ({ strings }: Sql): boolean =>
  strings.reduce((length, text) => length + text.length, 0) > MAX_REPEATED_LENGTH
