import { CATALOG } from './catalog.js'
import type { ProblemKind, ProblemOf } from './problem.js'

/** Optional facts. The table shows each message without them. */
const OPTIONAL_FACTS: ReadonlySet<string> = new Set(['suggestion', 'hint'])

/** Facts that select a message, so that the table needs a real value. */
const FIXED_FACTS: Readonly<Record<string, unknown>> = { reason: 'busy' }

/** Renders all problems as a Markdown table, ordered by code. */
export function renderErrorTable(): string {
  const rows = Object.keys(CATALOG).filter(isKind).map(toRow).sort()
  return `${TABLE_HEADER}\n${rows.join('\n')}\n`
}

const TABLE_HEADER = `# Errors

Generated from \`src/errors/catalog.ts\`. OData answers \`{"error": {"code", "message", "target", "details"}}\`, GraphQL the same in \`extensions\`.
Codes and statuses are stable; messages may change. Text in \`{braces}\` comes from the request. A write with bad data is answered with
status 400 and code 1111. Its \`details\` list all faults (1101 to 1108).

| Code | Status | Kind | Message | Target |
|---|---|---|---|---|`

const isKind = (name: string): name is ProblemKind => Object.hasOwn(CATALOG, name)

function toRow<K extends ProblemKind>(kind: K): string {
  const { code, status, message, target } = CATALOG[kind]
  const sample = sampleProblem(kind)
  return `| ${[code, status, kind, message(sample), target?.(sample) ?? ''].join(' | ')} |`
}

/** Returns a problem in which every fact is its own name in braces. */
function sampleProblem<K extends ProblemKind>(kind: K): ProblemOf<K> {
  const facts = new Proxy({}, { get: (_, name) => sampleFact(kind, String(name)) })
  // The catalog only inserts facts into messages, and every value of the proxy can be inserted.
  return facts as ProblemOf<K>
}

function sampleFact(kind: ProblemKind, name: string): unknown {
  if (name === 'at') return { source: '{option}' }
  if (OPTIONAL_FACTS.has(name)) return undefined
  if (kind === 'Unavailable' && name in FIXED_FACTS) return FIXED_FACTS[name]
  // The catalog joins lists and cuts strings. This value works as either.
  const text = `{${name}}`
  return Object.assign([text], { slice: () => text, toString: () => text })
}
