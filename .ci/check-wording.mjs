// Checks the English of comments:
// - a comment begins with a verb or a noun phrase, never with What, How, Whether or Who;
// - phrases of FORBIDDEN do not occur;
// - a name in backticks occurs in the code, and a file that a comment of src names exists.
// Prints file, line and phrase of each violation, and the number of files read. Ends with 1 after a violation.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join, relative, resolve } from 'node:path'
import ts from 'typescript'

const root = resolve(import.meta.dirname, '..')

const FOLDERS = ['src', 'prisma', 'test', 'bench', '.ci']
const GENERATED = ['src/data/prisma/client/', 'src/model/generated.ts']

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
]
const QUESTION = /^(What|How|Whether|Who)\b/

/** Uses of a forbidden word in its ordinary meaning. */
const ALLOWED = [/\bbehind an? (reverse )?proxy\b/g, /\breplication walks?\b/g, /\bopen houses?\b/g]
/** Words that a folder uses in their ordinary meaning: the sample data describes buildings. */
const ALLOWED_IN = [['src/sample/', /\b(rooms?|houses?)\b/g]]

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
    readFileSync(join(root, 'src/model/generated.ts'), 'utf8'),
    readFileSync(join(root, 'package.json'), 'utf8'),
  ].flatMap(text => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
)
const fileNames = new Set(paths.map(path => basename(path)))

function* violations(path, prose) {
  const question = QUESTION.exec(prose)?.[0]
  if (question) yield `a comment begins with '${question}'`
  const exceptions = [...ALLOWED, ...ALLOWED_IN.filter(([start]) => path.startsWith(start)).map(([, e]) => e)]
  const remaining = exceptions.reduce((text, exception) => text.replace(exception, ''), prose)
  for (const [phrase, better] of FORBIDDEN) {
    const found = phrase.exec(remaining)?.[0]
    if (found) yield `'${found}' (better: ${better})`
  }
  for (const [, name] of prose.matchAll(/`([A-Za-z_$][\w$]*)(?:\(\))?`/g))
    if (!codeWords.has(name) && !FOREIGN_NAMES.has(name)) yield `\`${name}\` does not occur in the code`
  for (const [name] of prose.matchAll(/(?<![\w/-])[\w-]+\.(ts|mjs)\b/g))
    if (path.startsWith('src/') && !fileNames.has(name)) yield `there is no file ${name}`
}

const checked = files
let count = 0
for (const { path, text, comments } of checked)
  for (const { pos, end } of mergeLines(text, comments))
    for (const violation of violations(path, proseOf(text.slice(pos, end)))) {
      count++
      console.log(`${path}:${text.slice(0, pos).split('\n').length}: ${violation}`)
    }

console.log(`${checked.length} files, ${count} violations`)
process.exitCode = count === 0 ? 0 : 1
