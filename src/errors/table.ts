import { CATALOG } from './catalog.js'
import type { ProblemKind, ProblemOf } from './problem.js'

/** Facts that only some problems of a kind have: their words are left out of the table. */
const OPTIONAL_FACTS: ReadonlySet<string> = new Set(['suggestion', 'hint'])

/** Facts that choose between sentences, and so cannot be anything. */
const FIXED_FACTS: Readonly<Record<string, unknown>> = { reason: 'busy' }

/**
 * All problems as a table of Markdown, ordered by code: what a client program can rest on, and the words a
 * person reads.
 */
export function renderErrorTable(): string {
  const rows = Object.keys(CATALOG).filter(isKind).map(toRow).sort()
  return `${TABLE_HEADER}\n${rows.join('\n')}\n`
}

const TABLE_HEADER = `# Errors

Generated from \`src/errors/catalog.ts\`. OData answers \`{"error": {"code", "message", "target", "details"}}\`, GraphQL the same in \`extensions\`.
Codes and statuses stay; the words may change. What stands in \`{braces}\` comes from the request. A write with bad data is answered with
status 400 and code 1111, its faults (1101 to 1108) in \`details\`, all at once.

| Code | Status | Kind | Message | Target |
|---|---|---|---|---|`

const isKind = (name: string): name is ProblemKind => Object.hasOwn(CATALOG, name)

function toRow<K extends ProblemKind>(kind: K): string {
  const { code, status, message, target } = CATALOG[kind]
  const sample = sampleProblem(kind)
  return `| ${[code, status, kind, message(sample), target?.(sample) ?? ''].join(' | ')} |`
}

/** A problem whose every fact is its own name, so that a sentence shows where it stands. */
function sampleProblem<K extends ProblemKind>(kind: K): ProblemOf<K> {
  const facts = new Proxy({}, { get: (_, name) => sampleFact(kind, String(name)) })
  // The catalogue only puts facts into sentences; what it gets for each does that.
  return facts as ProblemOf<K>
}

function sampleFact(kind: ProblemKind, name: string): unknown {
  if (name === 'at') return { source: '{option}' }
  if (OPTIONAL_FACTS.has(name)) return undefined
  if (kind === 'Unavailable' && name in FIXED_FACTS) return FIXED_FACTS[name]
  // A fact that the catalogue joins or cuts is a list or a text: this one can do both.
  const text = `{${name}}`
  return Object.assign([text], { slice: () => text, toString: () => text })
}
