// The thread that PGlite runs in. PostgreSQL as WebAssembly blocks its thread while it works, and only the
// end of the thread can stop a statement. It is JavaScript because Node 20 reads no TypeScript, and our hooks do
// not reach into threads.
// @ts-check
import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { join } from 'node:path'
import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { pg_trgm } from '@electric-sql/pglite/contrib/pg_trgm'
import { syncFolder } from './sync-folder.mjs'

/** @typedef {import('./pglite-thread.js').PGliteThreadOptions} PGliteThreadOptions */
/** @typedef {import('./pglite-thread.js').PGliteThreadRequest} PGliteThreadRequest */
/** @typedef {import('./pglite-thread.js').PGliteThreadResponse} PGliteThreadResponse */
/**
 * Options of the thread.
 * @typedef {PGliteThreadOptions & { pgliteWasmModule: WebAssembly.Module }} PGliteWorkerData
 */
/**
 * An open file of the host in Emscripten. `nfd` is its file descriptor, absent for a folder.
 * @typedef {{ nfd?: number, node: object }} OpenFile
 */

/**
 * Files that were synced before the start, with their modification times. During recovery PostgreSQL syncs
 * every file of the folder twice, one by one: 2,200 calls, which took 4 of the 5 s of a restart.
 * @type {ReadonlyMap<string, number>}
 */
let syncedFiles = new Map()

/** @param {string} path @param {number} descriptor */
function syncUnlessSynced(path, descriptor) {
  if (syncedFiles.size === 0 || syncedFiles.get(path) !== fstatSync(descriptor).mtimeMs) fsyncSync(descriptor)
}

/** @param {string} path */
function syncDirectory(path) {
  const descriptor = openSync(path, 'r')
  syncUnlessSynced(path, descriptor)
  closeSync(descriptor)
}

/** @param {any} module Emscripten module, which has no types */
function addFsync({ FS }) {
  const files = FS.filesystems.NODEFS
  files.stream_ops.fsync = (/** @type {OpenFile} */ file) => {
    const path = files.realPath(file.node)
    if (file.nfd === undefined) syncDirectory(path)
    else syncUnlessSynced(path, file.nfd)
    return 0
  }
}

/**
 * Adds `fsync` to PGlite. The file system of Emscripten does not have it, so committed data would only be in
 * the memory of the operating system.
 * @type {import('@electric-sql/pglite').Extension}
 */
const fsyncExtension = {
  name: 'fsync',
  setup: async (_database, options) => ({
    emscriptenOpts: { ...options, preRun: [...(options.preRun ?? []), addFsync] },
  }),
}

/**
 * PGlite starts with fsync off (-F). The last setting applies. `fdatasync`, the default method, does nothing
 * in Emscripten and cannot be added.
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
 * Creates the database in a temporary folder and renames it when complete, so that an interrupted start
 * leaves no partial database.
 * @param {PGliteWorkerData} options
 */
async function createDataFolder({ folder, pgliteWasmModule }) {
  const temporaryFolder = `${folder}.new`
  rmSync(temporaryFolder, { recursive: true, force: true })
  const database = await PGlite.create({ dataDir: temporaryFolder, pgliteWasmModule })
  await database.close()
  await syncFolder(temporaryFolder)
  renameSync(temporaryFolder, folder)
}

/** State of a database that was shut down, in the control file (`DBState` in pg_control.h of PostgreSQL). */
const DB_SHUTDOWNED = 1
const STATE_OFFSET = 16

/** @param {string} folder */
const needsRecovery = folder =>
  readFileSync(join(folder, 'global', 'pg_control')).readInt32LE(STATE_OFFSET) !== DB_SHUTDOWNED

/** @param {PGliteWorkerData} options */
async function openPGlite(options) {
  const { folder, settings, pgliteWasmModule } = options
  if (!existsSync(folder)) await createDataFolder(options)
  if (needsRecovery(folder)) syncedFiles = await syncFolder(folder)
  const database = await PGlite.create({
    dataDir: folder,
    pgliteWasmModule,
    extensions: { pg_trgm, fsyncExtension },
    startParams: toStartParams(settings),
  })
  syncedFiles = new Map()
  return database
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
