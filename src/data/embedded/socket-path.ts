import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'

/**
 * What the address of a Unix socket holds on the least generous system: 104 bytes with the closing zero on
 * macOS, 108 on Linux.
 */
const MAX_SOCKET_PATH_BYTES = 103

/** The name that PostgreSQL clients look for in a folder (`host=FOLDER`, port 5432). */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** A short name of a folder, for sockets in it. */
export interface SocketFolder {
  readonly path: string
  close(): void
}

/**
 * Names a folder so that the sockets in it have addresses of a length that the system takes. Linux has a
 * short name for every folder that a process has open; elsewhere a long path is refused, with a message for a
 * person.
 */
export function openSocketFolder(path: string): SocketFolder {
  if (Buffer.byteLength(path) + SOCKET_NAME.length + 10 <= MAX_SOCKET_PATH_BYTES)
    return { path, close: () => undefined }
  if (process.platform !== 'linux') throw new Error(`DATA_DIR is too long for a socket in it: ${path}`)
  const descriptor = openSync(path, 'r')
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) }
}

/**
 * Whether a living process listens on the socket. Only a refusal says that there is none: a busy one may be
 * slow to accept.
 */
export const isSocketListening = (path: string): Promise<boolean> =>
  new Promise(resolve => {
    const socket = connect(path)
    const settle = (isListening: boolean) => {
      socket.destroy()
      resolve(isListening)
    }
    socket.once('connect', () => settle(true))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      settle(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
