import { CATALOG } from './catalog.js'
import { FEATURES } from './features.js'
import { EXPECTED_FIELD_VALUE, EXPECTED_HEADER, HINTS, LIMITS } from './phrases.js'
import type { ProblemKind, ProblemOf } from './problem.js'
import { REASONS } from './reasons.js'

/** Optional facts. The table shows each message without them. */
const OPTIONAL_FACTS: ReadonlySet<string> = new Set(['suggestion', 'hint', 'wait'])

/** Facts that select a message, so that the table needs a real value. */
const FIXED_FACTS: Readonly<Record<string, unknown>> = { reason: 'busy' }

type PhraseList = Readonly<Record<string, string | ((...args: never[]) => string)>>

/** Tables of words in braces, with their kinds of problems. Others are facts of the request or of the query language. */
const PHRASES: readonly (readonly [fact: string, kinds: readonly ProblemKind[], phrases: PhraseList])[] = [
  ['reason', ['BadRequest', 'MalformedBody', 'TokenRefused'], REASONS],
  ['feature', ['NotImplemented'], FEATURES],
  ['expected', ['BadValue'], EXPECTED_FIELD_VALUE],
  ['expected', ['BadHeader'], EXPECTED_HEADER],
  ['limit', ['OutOfRange'], LIMITS],
]

/** Renders all problems as a Markdown table, ordered by code, and the words that their messages insert. */
export function renderErrorTable(): string {
  const rows = Object.keys(CATALOG).filter(isKind).map(toRow).sort()
  const lists = PHRASES.map(
    ([fact, kinds, phrases]) => `\n### {${fact}} of ${kinds.join(', ')}\n\n${renderPhrases(phrases)}`,
  )
  return `${TABLE_HEADER}\n${rows.join('\n')}\n${WORDS_HEADER}${lists.join('')}\n${HINTS_HEADER}${renderPhrases(HINTS)}`
}

/** Renders the phrases as a list. Arguments appear as `{…}`. */
function renderPhrases(phrases: PhraseList): string {
  const argument = Object.assign(['{…}'], { slice: () => '{…}', toString: () => '{…}' }) as never // inserted as text
  const texts = Object.values(phrases).map(text =>
    typeof text === 'string' ? text : text(argument, argument),
  )
  return [...new Set(texts)].map(text => `- ${text}\n`).join('')
}

const TABLE_HEADER = `# Errors

Generated from \`src/errors/catalog.ts\`. OData answers \`{"error": {"code", "message", "target", "details"}}\`,
GraphQL the same in \`extensions\`. Codes and statuses are stable; messages may change. Text in \`{braces}\` comes from
the request or from the service: the lists after the table have what clients cannot guess. A write with bad data is
answered with status 400 and code 1111. Its \`details\` list all faults (1101 to 1108).

| Code | Status | Kind | Message | Target |
|---|---|---|---|---|`

const WORDS_HEADER = `
## Words in braces

\`{…}\` is a name or number of the request.
`
const HINTS_HEADER = `
### Hints

Sentences that follow the messages of Syntax, NoOverload and BadLiteral if one applies.

`

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
