import { closeSync, openSync } from 'node:fs'
import { connect } from 'node:net'

/**
 * Maximum length of a Unix socket address on any supported system: 104 bytes with the final zero byte on
 * macOS, 108 on Linux.
 */
const MAX_SOCKET_PATH_BYTES = 103

/** The socket name that PostgreSQL clients look for in a folder (`host=FOLDER`, port 5432). */
export const SOCKET_NAME = '.s.PGSQL.5432'

/** A short path of a folder, for sockets in it. */
export interface SocketFolder {
  readonly path: string
  close(): void
}

/**
 * Returns a path of the folder that is short enough for socket addresses. On Linux, every open folder has a
 * short path. On other systems a path that is too long is rejected.
 */
export function openSocketFolder(path: string): SocketFolder {
  if (Buffer.byteLength(path) + SOCKET_NAME.length + 10 <= MAX_SOCKET_PATH_BYTES)
    return { path, close: () => undefined }
  if (process.platform !== 'linux') throw new Error(`DATA_DIR is too long for a socket in it: ${path}`)
  const descriptor = openSync(path, 'r')
  return { path: `/proc/${process.pid}/fd/${descriptor}`, close: () => closeSync(descriptor) }
}

/**
 * Returns true if a living process listens on the socket. Only a refused connection means that there is none,
 * because a busy process may accept slowly.
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
