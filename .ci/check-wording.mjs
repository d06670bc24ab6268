// Checks the English of comments, of texts for people in src (messages, descriptions, output of commands), of
// test titles, of the descriptions in schema.prisma, and of the documentation:
// - a comment or description begins with a verb or a noun phrase, never with What, How, Whether or Who;
// - phrases of FORBIDDEN do not occur;
// - a name in backticks in a comment occurs in the code, and a file that a comment of src names exists.
// Prints file, line and phrase of each violation, and the number of files read. Ends with 1 after a violation.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '..')

const FOLDERS = ['src', 'prisma', 'test', 'bench', 'examples', '.ci']
const GENERATED = ['src/data/prisma/client/', 'src/model/generated.ts', 'src/model/generated-admin.ts']

/** Each phrase, and the words that replace it. */
const FORBIDDEN = [
  [/\b(stands?|stood|standing)\b/, 'is, occurs, appears'],
  [/\b(is|are|be|been|was|were) told\b/, 'receives, reads'],
  [/\bso many\b/, 'the number'],
  [/\bof which there (is|are)\b/, 'a count'],
  [/\bby itself\b/, 'alone, automatically'],
  [/\bdear(er|est)?\b/, 'expensive'],
  [/\b(goes|go|going|went|gone) on\b/, 'continues'],
  [/\b(leads?|leading|led) nowhere\b/, 'does not exist'],
  [/\bmade of (it|them)\b/, 'the noun for the result'],
  [/\bbehind\b/, 'after'],
  [/\bdoors?\b/, 'adapter'],
  [/\blanes?\b/, 'engine'],
  [/\bways?\b/, 'path, method, direction'],
  [/\broom\b/, 'module, space'],
  [/\bhouses?\b/, 'the noun'],
  [/\bkept\b/, 'stored, retained'],
  [/\bmend(s|ed|ing)?\b/, 'fix, repair'],
  [/\bwalk(s|ed|ing)?\b/, 'traverse, read'],
  [/\banew\b/, 'again'],
  [/\bwhoever\b/i, 'every reader, every writer'],
  [/\bfor ever\b/, 'without a limit'],
  [/\bon (its|their) own account\b/, 'separately'],
  [/\bat once\b/, 'immediately, together, at the same time'],
  [/\b(breaks?|broken|broke) off\b/, 'is aborted, is interrupted'],
  [/\bhangs? up\b/, 'closes the connection'],
  [/\b(goes|went|going|go|gone) away\b/, 'disconnects, becomes unavailable'],
  [/\bhas gone\b/, 'has disconnected, no longer exists'],
  [/\bharm(s|ed)?\b/, 'affects'],
  [/\bsomebody\b/i, 'a client, a reader'],
  [/\bin vain\b/, 'unused, without effect'],
  [/\bagain and again\b/, 'repeatedly'],
  [
    /\b(metres?|licences?|neighbour\w*|behaviours?|colours?|cancelled|cancelling|catalogues?)\b/,
    'American spelling',
  ],
]
const QUESTION = /^(What|How|Whether|Who)\b/

/** Uses of a forbidden word in its ordinary meaning. */
const ALLOWED = [
  /\bbehind an? (reverse )?proxy\b/g,
  /\breplication walks?\b/g,
  /\bopen houses?\b/gi,
  /\bby the way\b/g,
]
/** Words that a folder uses in their ordinary meaning: the sample data describes buildings. */
const ALLOWED_IN = [
  ['src/sample/', /\b(rooms?|houses?|doors?|walk(-in|ing)?|stands?|well kept)\b/gi],
  // Entities, and a workload of the benchmark.
  ['docs/', /\brooms?\b/g],
  ['README.md', /\brooms?\b/g],
  ['CHANGELOG.md', /\brooms?\b/g],
  ['prisma/schema.prisma', /\b(rooms?|house number)\b/gi],
  ['docs/performance.md', /\bwalk\b/g],
  ['docs/benchmark.md', /\bwalk\b/g],
  ['docs/techniques.md', /\bwalk\b/g],
]

/** Names in backticks that do not come from the code, such as the commands and functions of other programs. */
const FOREIGN_NAMES = new Set(['fdatasync', 'DBState'])

const isIn = (path, list) => list.some(start => path.startsWith(start))

const paths = FOLDERS.flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/')),
).filter(path => !path.includes('node_modules/'))

const sources = paths
  .filter(path => /\.(ts|mjs|cjs)$/.test(path) && !isIn(path, GENERATED))
  .map(path => ({ path, text: readFileSync(join(root, path), 'utf8') }))

/** All comments of a file, by position. */
function commentsOf({ path, text }) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest)
  const found = new Map()
  const add = ranges => {
    for (const range of ranges ?? []) found.set(range.pos, range)
  }
  const visit = node => {
    add(ts.getLeadingCommentRanges(text, node.pos))
    add(ts.getTrailingCommentRanges(text, node.end))
    for (const child of node.getChildren(source)) visit(child)
  }
  visit(source)
  return [...found.values()].sort((a, b) => a.pos - b.pos)
}

/** The text of a comment without its marks, on one line. */
const proseOf = comment =>
  comment
    .replace(/^\/\*+|\*+\/$/g, '')
    .replace(/^\s*(\*|\/\/)/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim()

/** Merges `//` comments on consecutive lines, so that a phrase is found across a line break. */
function mergeLines(text, comments) {
  const groups = []
  for (const { pos, end } of comments) {
    const last = groups.at(-1)
    const isContinuation = last && text.startsWith('//', pos) && /^\n[ \t]*$/.test(text.slice(last.end, pos))
    if (isContinuation) last.end = end
    else groups.push({ pos, end })
  }
  return groups
}

const withoutComments = ({ text, comments }) =>
  comments.reduceRight((rest, { pos, end }) => rest.slice(0, pos) + rest.slice(end), text)

const files = sources.map(source => ({ ...source, comments: commentsOf(source) }))

/** Every word that is not in a comment, and the name of every file and folder. */
const codeWords = new Set(
  [
    ...files.map(withoutComments),
    ...paths
      .filter(path => /\.(prisma|sql|json|md)$/.test(path))
      .map(path => readFileSync(join(root, path), 'utf8')),
    ...GENERATED.filter(path => path.endsWith('.ts')).map(path => readFileSync(join(root, path), 'utf8')),
    readFileSync(join(root, 'package.json'), 'utf8'),
  ].flatMap(text => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
)
const fileNames = new Set(paths.map(path => basename(path)))

function* wordingViolations(path, prose) {
  const exceptions = [...ALLOWED, ...ALLOWED_IN.filter(([start]) => path.startsWith(start)).map(([, e]) => e)]
  const remaining = exceptions.reduce((text, exception) => text.replace(exception, ''), prose)
  for (const [phrase, better] of FORBIDDEN) {
    const found = phrase.exec(remaining)?.[0]
    if (found) yield `'${found}' (better: ${better})`
  }
}

function* questionViolations(prose, kind) {
  const question = QUESTION.exec(prose)?.[0]
  if (question) yield `a ${kind} begins with '${question}'`
}

function* commentViolations(path, prose) {
  yield* questionViolations(prose, 'comment')
  yield* wordingViolations(path, prose)
  for (const [, name] of prose.matchAll(/`([A-Za-z_$][\w$]*)(?:\(\))?`/g))
    if (!codeWords.has(name) && !FOREIGN_NAMES.has(name)) yield `\`${name}\` does not occur in the code`
  for (const [name] of prose.matchAll(/(?<![\w/-])[\w-]+\.(ts|mjs)\b/g))
    if (path.startsWith('src/') && !fileNames.has(name)) yield `there is no file ${name}`
}

/** Templates whose text is SQL, and functions whose text is not for people. */
const SQL_TAGS = /^(sql|gql|raw|String\.raw|prisma\.\$queryRaw)/

/** Yields the strings with several words: in src all but SQL, in test the titles. */
function* textsOf({ path, text }) {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true)
  const isTitle = node => {
    const call =
      ts.isCallExpression(node.parent) && node.parent.arguments[0] === node ? node.parent : undefined
    return call && /^(test|describe|it)\b/.test(call.expression.getText(source))
  }
  const isWanted = node =>
    path.startsWith('src/') ? !isSql(node) : path.startsWith('test/') && isTitle(node)
  const isSql = node =>
    (ts.isTaggedTemplateExpression(node.parent) && SQL_TAGS.test(node.parent.tag.getText(source))) ||
    /^\s*(select|insert|update|delete|with|begin|create|alter|set|from|where|lock|lateral|case|exists)\b(?![^"]*[.!?]$)/.test(
      node.getText(source).slice(1),
    )
  const visit = function* (node) {
    const isText = ts.isStringLiteralLike(node) || ts.isTemplateExpression(node)
    if (isText && isWanted(node)) {
      const words = node
        .getText(source)
        .slice(1, -1)
        .replace(/\$\{[^}]*\}/g, '…')
        .replace(/`[^`]*`/g, '')
      if (/\w \w.* \w/.test(words)) yield { pos: node.getStart(source), words }
    }
    for (const child of node.getChildren(source)) yield* visit(child)
  }
  yield* visit(source)
}

const lineAt = (text, pos) => text.slice(0, pos).split('\n').length

/** Yields the lines of a page without code, each with its number. */
function* proseLines(text) {
  let isCode = false
  for (const [i, line] of text.split('\n').entries()) {
    if (line.startsWith('```')) isCode = !isCode
    else if (!isCode && !/^ {4}/.test(line))
      yield [
        i + 1,
        line
          .replace(/`[^`]*`/g, '')
          .replace(/\]\([^)]*\)/g, ']')
          .replace(/https?:\S+/g, ''),
      ]
  }
}

const DESCRIPTION = /^\s*\/\/\/ (?!@)(.*)$/

function* sourceViolations(source) {
  const { path, text, comments } = source
  for (const { pos, end } of mergeLines(text, comments))
    for (const found of commentViolations(path, proseOf(text.slice(pos, end))))
      yield [path, lineAt(text, pos), found]
  for (const { pos, words } of textsOf(source))
    for (const found of wordingViolations(path, words)) yield [path, lineAt(text, pos), found]
}

function* pageViolations([path, text]) {
  for (const [line, prose] of proseLines(text))
    for (const found of wordingViolations(path, prose)) yield [path, line, found]
}

/** Yields the comments of files in which they begin with `#`. */
function* hashCommentViolations(path) {
  for (const [i, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    const prose = /^\s*# ?(.*)$/.exec(line)?.[1] ?? ''
    for (const found of [...questionViolations(prose, 'comment'), ...wordingViolations(path, prose)])
      yield [path, i + 1, found]
  }
}

function* schemaViolations() {
  for (const [i, line] of readFileSync(join(root, SCHEMA), 'utf8').split('\n').entries()) {
    const prose = DESCRIPTION.exec(line)?.[1] ?? ''
    for (const found of [...questionViolations(prose, 'description'), ...wordingViolations(SCHEMA, prose)])
      yield [SCHEMA, i + 1, found]
  }
}

const SCHEMA = 'prisma/schema.prisma'
const pages = [
  'README.md',
  'CHANGELOG.md',
  ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`),
].map(path => [path, readFileSync(join(root, path), 'utf8')])

let count = 0
const deployFiles = readdirSync(join(root, 'deploy')).map(name => `deploy/${name}`)
const violations = [
  ...deployFiles.flatMap(path => [...hashCommentViolations(path)]),
  ...files.flatMap(file => [...sourceViolations(file)]),
  ...pages.flatMap(page => [...pageViolations(page)]),
]
for (const [path, line, violation] of [...violations, ...schemaViolations()]) {
  count++
  console.log(`${path}:${line}: ${violation}`)
}
console.log(`${files.length + pages.length + deployFiles.length + 1} files, ${count} violations`)
process.exitCode = count === 0 ? 0 : 1
