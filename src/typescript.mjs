// node --import ./src/typescript.mjs FILE: runs TypeScript as it stands, by tsx. That keeps what it has
// compiled in the folder for temporary files, which for it is one of the project: nothing is left outside.
// Where the project cannot be written to, nothing is kept, and starting takes a second longer.
import { accessSync, constants, mkdirSync } from 'node:fs'
import { join } from 'node:path'

const cache = join(import.meta.dirname, '..', 'node_modules', '.cache', 'tsx')

function isWritable(folder) {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

const { TMPDIR } = process.env
if (isWritable(cache)) process.env.TMPDIR = cache
else process.env.TSX_DISABLE_CACHE = '1'
await import('tsx')
if (TMPDIR === undefined) delete process.env.TMPDIR
else process.env.TMPDIR = TMPDIR
