import { chmod, mkdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type Lock, takeLock } from './folder-lock.js'
import { Engine, type EngineSetup } from './pglite-thread.js'
import { SessionServer } from './server.js'
import { type Address, isAnswered, openAddress, SOCKET_NAME } from './socket-path.js'

/** The place where the embedded database answers. */
export interface Embedded {
  /** A folder, as PostgreSQL clients take it for a host: the socket in it is `.s.PGSQL.5432`. */
  readonly host: string
  /** Whether this process runs the database; otherwise another one does. */
  readonly own: boolean
  close(): Promise<void>
}

/** A `service` runs the database itself; a `command` goes to the one that runs already, if there is one. */
export type Role = 'service' | 'command'

/** The folder is taken. */
export class FolderInUse extends Error {
  constructor(folder: string) {
    super(
      `The database in ${folder} is in use: another service or command runs on this DATA_DIR. Stop it first, or set another DATA_DIR.`,
    )
  }
}

/**
 * How long a command waits for a service that is just starting (or stopping), and a service for one that is
 * stopping. In ms.
 */
const PATIENCE_MS = { service: 3_000, command: 30_000 } as const

const SETTINGS: EngineSetup['settings'] = {
  timezone: 'UTC',
  plan_cache_mode: 'force_custom_plan',
  jit: 'off',
}

/**
 * Opens the embedded database of a folder, made at the first call. Whoever runs it serves it to the others on
 * a Unix socket in the folder.
 * @throws FolderInUse when it is taken and does not answer, or is to be run by a service and another process
 * runs it already.
 */
export async function openEmbedded(dataDir: string, role: Role, waitMs: number): Promise<Embedded> {
  const folder = resolve(dataDir)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await chmod(folder, 0o700)
  const address = openAddress(folder)
  try {
    return await findOrRun(folder, address, role, waitMs)
  } catch (error) {
    address.close()
    throw error
  }
}

async function findOrRun(folder: string, address: Address, role: Role, waitMs: number): Promise<Embedded> {
  const deadline = Date.now() + PATIENCE_MS[role]
  while (Date.now() < deadline) {
    if (role === 'command' && (await isAnswered(join(address.folder, SOCKET_NAME)))) {
      return { host: address.folder, own: false, close: async () => address.close() }
    }
    const lock = await takeLock(address.folder)
    if (lock) return run(folder, address, lock, waitMs)
    // Two that start at once step back from each other: not for the same time again.
    await wait(50 + Math.random() * 200)
  }
  throw new FolderInUse(folder)
}

async function run(folder: string, address: Address, lock: Lock, waitMs: number): Promise<Embedded> {
  const engine = new Engine({ folder: join(folder, 'postgres'), settings: SETTINGS })
  const path = join(address.folder, SOCKET_NAME)
  try {
    await engine.start()
    // The lock is ours: what has this name is left of a process that is gone.
    await rm(path, { force: true })
    const server = await SessionServer.listen(path, engine, waitMs)
    const close = async (): Promise<void> => {
      await server.close()
      await engine.close()
      await lock.release()
      address.close()
    }
    return { host: address.folder, own: true, close }
  } catch (error) {
    await engine.close()
    await lock.release()
    throw error
  }
}
