// Checks that the documentation names only what exists:
// - npm scripts and local files of commands, settings, and links to other pages and their headings;
// - source files, and for "`name` in `file`" that the file contains the name;
// - options of npm scripts, by the sources of the command line.
// Prints page, line and name of each violation, and the number of pages. Ends with 1 after a violation.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const root = resolve(import.meta.dirname, '..')
const read = path => readFileSync(join(root, path), 'utf8')
const list = folder =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(entry => relative(root, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))

const pages = ['README.md', 'CHANGELOG.md', ...readdirSync(join(root, 'docs')).map(name => `docs/${name}`)]
const files = ['src', 'prisma', 'test', 'bench', 'examples', 'deploy', 'schema', '.ci', 'docs'].flatMap(list)
const scripts = JSON.parse(read('package.json')).scripts
const settings = new Set(read('src/config/settings.ts').match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)*\b/g))
/** Variables that other programs read. */
const FOREIGN_VARIABLES = new Set(['NODE_EXTRA_CA_CERTS'])
/** Words in capitals that the code defines besides the settings. */
const codeWords = new Set(
  files
    .filter(
      path => /\.(ts|mjs|sql|graphql|yaml|conf|service|md)$|\/run$/.test(path) && !path.startsWith('docs/'),
    )
    .flatMap(path => read(path).match(/\b[A-Z][A-Z0-9]*(_[A-Z0-9]+)+\b/g) ?? []),
)
const cliSource = list('src/cli').map(read).join('\n')

/** Returns the files that a name in the documentation can mean: a path from the root, from src, or its end. */
const filesNamed = name => files.filter(path => path === name || path.endsWith(`/${name}`))

/** Returns the anchor that GitHub gives a heading. */
const anchorOf = heading =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(' ', '-')
const anchorsOf = path =>
  new Set([...read(path).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading)))

function* commandViolations(line) {
  for (const [, name] of line.matchAll(/\bnpm run (?:-s )?([a-z][\w:-]*)/g))
    if (!Object.hasOwn(scripts, name)) yield `there is no script ${name}`
  const [, script, options] = /\bnpm run (?:-s )?([a-z][\w:-]*) -- (.*)/.exec(line) ?? []
  if (script === 'bench' || script?.startsWith('test:')) return
  for (const [option] of (options ?? '').split(/[`|#]/, 1)[0].matchAll(/--[a-z][\w-]+/g)) {
    const name = option.slice(2)
    if (!cliSource.includes(option) && !new RegExp(`\\b${name}'?: [{[]`).test(cliSource))
      yield `npm run ${script} has no option ${option}`
  }
}

function* nameViolations(line) {
  for (const [, name] of line.matchAll(/`([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)(?:=[^`]*)?`/g))
    if (!settings.has(name) && !codeWords.has(name) && !FOREIGN_VARIABLES.has(name))
      yield `${name} occurs neither in the settings nor in the code`
  for (const [, path] of line.matchAll(/`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs|prisma))`/g))
    if (filesNamed(path).length === 0) yield `there is no file ${path}`
  for (const [, name, path] of line.matchAll(/`([A-Za-z_]\w+)` in `((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs))`/g)) {
    const found = filesNamed(path)
    if (found.length > 0 && !found.some(file => new RegExp(`\\b${name}\\b`).test(read(file))))
      yield `${name} is not in ${path}`
  }
}

function* linkViolations(page, line) {
  for (const [, target] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^[a-z]+:/.test(target)) continue
    const [path, anchor] = target.split('#')
    const file = path === '' ? page : relative(root, resolve(root, dirname(page), path))
    if (!existsSync(join(root, file))) yield `the link ${target} has no target`
    else if (anchor && !anchorsOf(file).has(anchor)) yield `${file} has no heading #${anchor}`
  }
}

let count = 0
for (const page of pages)
  for (const [i, line] of read(page).split('\n').entries())
    for (const violation of [
      ...commandViolations(line),
      ...nameViolations(line),
      ...linkViolations(page, line),
    ]) {
      count++
      console.log(`${page}:${i + 1}: ${violation}`)
    }
console.log(`${pages.length} pages, ${count} violations`)
process.exitCode = count === 0 ? 0 : 1
