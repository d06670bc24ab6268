import { createHash } from 'node:crypto'
import { rmSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { REPLICATION_EXIT, ReplicationError } from '../failure.js'

/** Returns the process that listens on a socket, or undefined if there is none. */
const readHolder = (path: string): Promise<string | undefined> =>
  new Promise(resolve => {
    let text = ''
    const socket = connect(path)
    socket.setEncoding('utf8').on('data', data => {
      text += String(data)
    })
    socket.once('error', () => resolve(undefined))
    socket.once('close', () => resolve(text || undefined))
  })

const listen = (path: string): Promise<Server | undefined> =>
  new Promise(resolve => {
    const server = createServer(socket => socket.end(String(process.pid)))
    server.once('error', () => resolve(undefined))
    server.listen(path, () => resolve(server.unref()))
  })

/** Returns the address of a socket, the same for all processes of the machine, whatever their TMPDIR is. */
function addressOf(folder: string): string {
  const name = `replica-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`
  if (process.platform === 'linux') return `\0${name}` // a name without a file, which ends with its process
  return process.platform === 'win32' ? `\\\\.\\pipe\\${name}` : `/tmp/${name}.sock`
}

/**
 * Locks a folder for this process with a socket. The lock ends with the process, also after kill -9.
 * @throws ReplicationError if another process has it
 */
export async function lockFolder(folder: string): Promise<() => void> {
  const path = addressOf(folder)
  const server = (await listen(path)) ?? (await replaceStaleSocket(path))
  // Two processes may have found the same stale socket.
  const holder = await readHolder(path)
  if (server && holder === String(process.pid)) return () => server.close()
  throw new ReplicationError(
    `Target: another client writes to this folder: process ${holder ?? 'unknown'}.`,
    REPLICATION_EXIT.targetBusy,
  )
}

/** Replaces a socket on which no process listens. */
async function replaceStaleSocket(path: string): Promise<Server | undefined> {
  if (!path.startsWith('/') || (await readHolder(path)) !== undefined) return undefined
  rmSync(path, { force: true })
  return listen(path)
}
