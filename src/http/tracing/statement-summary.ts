/** Texts between quotes, with doubled quotes inside. */
const STRING_LITERAL = /'(?:[^']|'')*'/g
const WRITE = /\b(insert into|update|delete from)\b/i
const VERB = /^[\s(]*([a-z]+)/i
/** A table. Those of the service are quoted; names of subqueries are not. */
const TABLE = /\b(?:from|join|into|update)\s+(?:only\s+)?(?:"\w+"\.)?"(\w+)"/gi
const MAX_TABLES = 5

/**
 * Returns the summary of a statement for traces: its verb and its tables, without values.
 *   `select … from "Property" r0 …` → `SELECT Property`
 */
export function summarizeStatement(text: string): string {
  const withoutLiterals = text.replace(STRING_LITERAL, '')
  const [verb = ''] = VERB.exec(withoutLiterals)?.slice(1) ?? []
  const command = verb.toLowerCase() === 'with' ? (WRITE.exec(withoutLiterals)?.[1] ?? 'select') : verb
  const tables = new Set([...withoutLiterals.matchAll(TABLE)].map(([, name]) => name))
  return [command.split(' ')[0]?.toUpperCase(), ...[...tables].slice(0, MAX_TABLES)].join(' ')
}
