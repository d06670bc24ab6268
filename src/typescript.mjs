// node --import ./src/typescript.mjs FILE: runs TypeScript with tsx. tsx caches compiled files in the
// temporary folder, so that folder is set to one inside the project. If the project is read-only, nothing is
// cached, and the start takes a second longer.
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
