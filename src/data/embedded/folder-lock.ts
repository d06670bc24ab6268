import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { isSocketListening } from './socket-path.js'

/** Holds a folder for this process. It ends with the process, however that ends. */
export interface FolderLock {
  release(): Promise<void>
}

/**
 * The socket is published under its name when it listens already: one that refuses belongs to a process that
 * is gone.
 */
async function publishLockSocket(folder: string, name: string): Promise<Server> {
  const server = createServer(socket => socket.destroy())
  server.listen(join(folder, `${name}.new`))
  await once(server, 'listening')
  await rename(join(folder, `${name}.new`), join(folder, name))
  return server
}

/**
 * Whether a living process has a socket in the folder, other than `own`. Names are used once, so what is dead
 * can be removed by anybody.
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
 * Takes the folder for this process, or returns undefined while another one has it or tries to take it.
 *
 * Node has no file lock, and a socket file outlives its process. So everyone shows a listening socket of its
 * own first and looks for those of others afterwards; who sees a living one steps back. Of two processes the
 * one that looks last sees the other: both can step back, never both go on.
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
