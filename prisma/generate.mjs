// Generates the Prisma client (src/data/prisma/client) and the model (src/model/generated.ts) from schema.prisma,
// and the model of administration (src/model/generated-admin.ts) from admin.prisma, if they are older than their
// sources.
import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const home = dirname(fileURLToPath(import.meta.url))
const require = createRequire(import.meta.url)
const packageFolder = dirname(require.resolve('prisma/package.json'))
const prisma = join(packageFolder, 'build', 'index.js')

const timeOf = path => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
const sources = readdirSync(home)
  .filter(name => /\.(prisma|ts|mjs)$/.test(name))
  .map(name => join(home, name))
const outputs = [
  '../src/data/prisma/client/client.ts',
  '../src/model/generated.ts',
  '../src/model/generated-admin.ts',
].map(name => join(home, name))
const isFresh = Math.min(...outputs.map(timeOf)) > Math.max(...[...sources, prisma].map(timeOf))

if (!isFresh || process.argv.includes('--force')) {
  // Files that Prisma caches for the user and compiles from the generator remain in the project.
  const scratch = join(packageFolder, '..', '.cache', 'prisma')
  mkdirSync(scratch, { recursive: true })
  // The schema engine is not used here. Any existing file prevents its download.
  const env = {
    ...process.env,
    HOME: scratch,
    XDG_CONFIG_HOME: scratch,
    XDG_CACHE_HOME: scratch,
    TMPDIR: scratch,
    PATH: `${join(packageFolder, '..', '.bin')}${delimiter}${process.env.PATH ?? ''}`,
    PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
    CHECKPOINT_DISABLE: '1',
    PRISMA_HIDE_UPDATE_MESSAGE: '1',
  }
  process.exitCode = 0
  for (const schema of ['schema.prisma', 'admin.prisma']) {
    const args = [prisma, 'generate', '--no-hints', '--schema', join('prisma', schema)]
    const run = spawnSync(process.execPath, args, { cwd: dirname(home), env, encoding: 'utf8' })
    if (run.status !== 0) process.stderr.write(`${run.stdout}${run.stderr}`)
    process.exitCode ||= run.status ?? 1
  }
}
