import { existsSync } from 'node:fs'
import { chmod, mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { BlockingSessionListener } from '../blocking-session.js'
import { acquireFolderLock, type FolderLock } from './folder-lock.js'
import { PGliteThread, type PGliteThreadOptions } from './pglite-thread.js'
import { SessionServer } from './server.js'
import { isSocketListening, openSocketFolder, SOCKET_NAME, type SocketFolder } from './socket-path.js'

/** Address of a running embedded database. */
export interface EmbeddedDatabase {
  /** A folder that PostgreSQL clients accept as host. Its socket is `.s.PGSQL.5432`. */
  readonly host: string
  /** True if this process runs the database. */
  readonly isOwner: boolean
  /** Returns true while a session holds the engine, so that others wait. */
  isBusy(): boolean
  close(): Promise<void>
}

/** A `service` runs the database itself. A `command` connects to a running one if possible. */
export type ProcessKind = 'service' | 'command'

/** Thrown if another process uses the folder. */
export class FolderInUseError extends Error {
  constructor(folder: string) {
    super(
      `The database in ${folder} is in use: another service or command runs on this DATA_DIR. Stop it first, or set another DATA_DIR.`,
    )
  }
}

/**
 * Maximum wait in ms: of a command for a service that is starting or stopping, and of a service for one that
 * is stopping.
 */
const OPEN_TIMEOUT_MS = { service: 3_000, command: 30_000 } as const

const SERVER_SETTINGS: PGliteThreadOptions['settings'] = {
  timezone: 'UTC',
  plan_cache_mode: 'force_custom_plan',
  jit: 'off',
}

/**
 * Opens the embedded database of a folder, and creates it if it does not exist. The process that runs it
 * serves others on a Unix socket in the folder.
 * @throws FolderInUseError if another process uses the folder and does not answer, or if a service is to run a
 * database that is already running
 */
export async function openEmbeddedDatabase(
  dataDir: string,
  processKind: ProcessKind,
  acquireTimeoutMs: number,
  onBlocked: BlockingSessionListener,
): Promise<EmbeddedDatabase> {
  const folder = resolve(dataDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const socketFolder = openSocketFolder(folder)
  try {
    return await connectOrStart({ folder, socketFolder, acquireTimeoutMs, onBlocked }, processKind)
  } catch (error) {
    socketFolder.close()
    throw error
  }
}

/** Returns true if a process runs the embedded database of a folder. Creates and starts nothing. */
export async function isEmbeddedDatabaseRunning(dataDir: string): Promise<boolean> {
  const folder = resolve(dataDir)
  if (!existsSync(folder)) return false
  const socketFolder = openSocketFolder(folder)
  return isSocketListening(join(socketFolder.path, SOCKET_NAME)).finally(socketFolder.close)
}

/** Options of the engine and its server. */
interface StartOptions {
  readonly folder: string
  readonly socketFolder: SocketFolder
  readonly acquireTimeoutMs: number
  readonly onBlocked: BlockingSessionListener
}

async function connectOrStart(options: StartOptions, processKind: ProcessKind): Promise<EmbeddedDatabase> {
  const { folder, socketFolder } = options
  const deadline = Date.now() + OPEN_TIMEOUT_MS[processKind]
  while (Date.now() < deadline) {
    if (processKind === 'command' && (await isSocketListening(join(socketFolder.path, SOCKET_NAME)))) {
      const close = async () => socketFolder.close()
      return { host: socketFolder.path, isOwner: false, isBusy: () => false, close }
    }
    const lock = await acquireFolderLock(socketFolder.path)
    if (lock) return startPGlite(options, lock)
    // Processes that start at the same time can all fail to acquire the lock. A random delay separates their
    // next attempts.
    await wait(50 + Math.random() * 200)
  }
  throw new FolderInUseError(folder)
}

async function startPGlite(
  { folder, socketFolder, acquireTimeoutMs, onBlocked }: StartOptions,
  lock: FolderLock,
): Promise<EmbeddedDatabase> {
  const pglite = new PGliteThread({ folder: join(folder, 'postgres'), settings: SERVER_SETTINGS })
  const path = join(socketFolder.path, SOCKET_NAME)
  try {
    await pglite.start()
    // This process holds the lock, so an existing socket was left by a process that has ended.
    await rm(path, { force: true })
    const server = await SessionServer.listen({ path, pglite, acquireTimeoutMs, onBlocked })
    const close = async (): Promise<void> => {
      await server.close()
      await pglite.close()
      await lock.release()
      socketFolder.close()
    }
    return { host: socketFolder.path, isOwner: true, isBusy: () => server.isBusy(), close }
  } catch (error) {
    await pglite.close()
    await lock.release()
    throw error
  }
}
