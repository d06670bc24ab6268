// Hooks of Node's module loader that compile TypeScript with esbuild. Compiled files are cached in node_modules, by
// their content. If the project is read-only, they are compiled at each start.
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const require = createRequire(import.meta.url)
const CACHE = join(import.meta.dirname, '..', 'node_modules', '.cache', 'typescript')

const OPTIONS = {
  loader: 'ts',
  format: 'esm',
  target: 'es2023',
  sourcemap: 'inline',
  tsconfigRaw: { compilerOptions: { verbatimModuleSyntax: true, useDefineForClassFields: true } },
}
const VERSION = JSON.stringify([require('esbuild/package.json').version, OPTIONS])

/** Resolves a relative import of a .js file to the .ts file beside it, if there is one. TypeScript imports name the output. */
export function resolve(specifier, context, nextResolve) {
  if (/^\.{1,2}\/.*\.js$/.test(specifier)) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL)
    if (existsSync(url)) return { url: url.href, format: 'module', shortCircuit: true }
  }
  return nextResolve(specifier, context)
}

/** Compiles a TypeScript file. */
export function load(url, context, nextLoad) {
  if (!url.endsWith('.ts')) return nextLoad(url, context)
  return { format: 'module', source: compile(fileURLToPath(url)), shortCircuit: true }
}

function compile(path) {
  const source = readFileSync(path, 'utf8')
  const hash = createHash('sha256').update(VERSION).update(path).update(source).digest('hex')
  const cached = join(CACHE, `${hash}.js`)
  if (existsSync(cached)) return readFileSync(cached, 'utf8')
  const { code } = require('esbuild').transformSync(source, { ...OPTIONS, sourcefile: path })
  store(cached, code)
  return code
}

/** Writes a file atomically, because other processes read it. */
function store(path, text) {
  const unfinished = `${path}.${process.pid}`
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(unfinished, text)
    renameSync(unfinished, path)
  } catch {
    // The project is read-only.
  }
}
