import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isSocketListening } from './socket-path.js'

/** An exclusive lock of a folder. It is released when the process ends, also after a crash. */
export interface FolderLock {
  release(): Promise<void>
}

/**
 * Publishes a lock socket. It gets its name only when it listens, so a socket that refuses connections
 * belongs to a process that has ended.
 */
async function publishLockSocket(folder: string, name: string): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  server.listen(join(folder, `${name}.new`))
  await once(server, 'listening')
  await rename(join(folder, `${name}.new`), join(folder, name))
  return server
}

/**
 * Returns true if another living process has a lock socket in the folder. Names are never reused, so a dead
 * socket can be removed safely.
 */
async function isLockedByOther(folder: string, ownName: string): Promise<boolean> {
  const others = (await readdir(folder)).filter(name => name !== ownName && name.endsWith('.lock'))
  for (const name of others) {
    if (await isSocketListening(join(folder, name))) return true
    await rm(join(folder, name), { force: true })
  }
  return false
}

/**
 * Acquires the lock of a folder. Returns undefined if another process holds it or tries to acquire it.
 *
 * Node has no file locks, and a socket file can exist without its process. Each process therefore first
 * publishes its own listening socket, and then connects to those of other processes. If one of them listens,
 * the process closes its own. Of two processes, the later one always finds the socket of the other. Both may
 * fail to acquire the lock, but never do both acquire it.
 */
export async function acquireFolderLock(folder: string): Promise<FolderLock | undefined> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = `${randomUUID().slice(0, 8)}.lock`
  const server = await publishLockSocket(folder, name)
  const release = async (): Promise<void> => {
    await rm(join(folder, name), { force: true })
    await new Promise(resolve => server.close(resolve))
  }
  if (!(await isLockedByOther(folder, name))) return { release }
  await release()
  return undefined
}
