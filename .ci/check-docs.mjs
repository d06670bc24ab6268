// Checks that the documentation names only what exists:
// - npm scripts, and their options by the sources of the command line;
// - settings and other words in capitals;
// - for "`name` in `file`", the name in that file.
// Links and paths are checked by test/unit/docs/links.test.ts.
// Prints page, line and name of each violation, and the number of pages. Ends with 1 after a violation.
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'

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
  for (const [, name, path] of line.matchAll(/`([A-Za-z_]\w+)` in `((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs))`/g)) {
    const found = filesNamed(path)
    if (found.length > 0 && !found.some(file => new RegExp(`\\b${name}\\b`).test(read(file))))
      yield `${name} is not in ${path}`
  }
}

let count = 0
for (const page of pages)
  for (const [i, line] of read(page).split('\n').entries())
    for (const violation of [...commandViolations(line), ...nameViolations(line)]) {
      count++
      console.log(`${page}:${i + 1}: ${violation}`)
    }
console.log(`${pages.length} pages, ${count} violations`)
process.exitCode = count === 0 ? 0 : 1
