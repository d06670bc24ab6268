// The thread that PGlite runs in. PostgreSQL as WebAssembly blocks its thread while it works, and only the
// end of the thread can stop a statement. It is JavaScript because Node 20 reads no TypeScript, and tsx does
// not reach into threads.
// @ts-check
import { closeSync, existsSync, fsyncSync, openSync, renameSync, rmSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'

/** @typedef {import('./pglite-thread.js').PGliteThreadOptions} PGliteThreadOptions */
/** @typedef {import('./pglite-thread.js').PGliteThreadRequest} PGliteThreadRequest */
/** @typedef {import('./pglite-thread.js').PGliteThreadResponse} PGliteThreadResponse */
/**
 * What Emscripten keeps of an open file of the machine: `nfd` is its descriptor there, absent for a folder.
 * @typedef {{ nfd?: number, node: object }} OpenFile
 */

/** @param {string} path */
function syncFolder(path) {
  const descriptor = openSync(path, 'r')
  fsyncSync(descriptor)
  closeSync(descriptor)
}

/** @param {any} module Emscripten's, which has no types. */
function addFsync({ FS }) {
  const files = FS.filesystems.NODEFS
  files.stream_ops.fsync = (/** @type {OpenFile} */ file) => {
    if (file.nfd === undefined) syncFolder(files.realPath(file.node))
    else fsyncSync(file.nfd)
    return 0
  }
}

/**
 * Lets PGlite write through to the disk. Emscripten's view of the machine's files has no `fsync`: what
 * PostgreSQL takes for a written commit would be in the memory of the operating system only.
 * @type {import('@electric-sql/pglite').Extension}
 */
const fsyncExtension = {
  name: 'fsync',
  setup: async (_database, options) => ({
    emscriptenOpts: { ...options, preRun: [...(options.preRun ?? []), addFsync] },
  }),
}

/**
 * PGlite starts with fsync off (-F), the last word wins. `fdatasync`, the usual method, does nothing in
 * Emscripten and cannot be added.
 */
const DURABILITY_SETTINGS = { fsync: 'on', wal_sync_method: 'fsync' }

/** @param {PGliteThreadOptions['settings']} settings */
const toStartParams = settings => [
  ...PGlite.defaultStartParams,
  ...Object.entries({ ...settings, ...DURABILITY_SETTINGS }).flatMap(([name, value]) => [
    '-c',
    `${name}=${value}`,
  ]),
]

/**
 * Makes the database beside its place and moves it there whole, so that a start that is killed leaves no
 * half-made one.
 * @param {string} folder
 */
async function createDataFolder(folder) {
  const temporaryFolder = `${folder}.new`
  rmSync(temporaryFolder, { recursive: true, force: true })
  const database = await PGlite.create(temporaryFolder)
  await database.close()
  renameSync(temporaryFolder, folder)
}

/** @param {PGliteThreadOptions} setup */
async function openPGlite({ folder, settings }) {
  if (!existsSync(folder)) await createDataFolder(folder)
  return PGlite.create({
    dataDir: folder,
    extensions: { pg_trgm, fsyncExtension },
    startParams: toStartParams(settings),
  })
}

/** @param {PGliteThreadResponse} message */
const postResponse = message => parentPort?.postMessage(message)

const database = await openPGlite(workerData)

/** @param {PGliteThreadRequest} request */
async function handleRequest(request) {
  if (request.kind === 'run')
    postResponse({ kind: 'output', output: await database.execProtocolRaw(request.input) })
  else {
    await database.close()
    parentPort?.close()
  }
}

parentPort?.on('message', handleRequest)
postResponse({ kind: 'ready' })
