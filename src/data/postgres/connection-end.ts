import { setTimeout as wait } from 'node:timers/promises'
import type { Client, ClientBase, Pool } from 'pg'

/** The part of pg's client that its types leave out. */
interface PgSocketClient {
  readonly connection: { readonly stream: { destroy(): void } }
}

/** Time that a server has to close a connection after the message that ends it, in ms. */
const END_TIMEOUT_MS = 5000

/** Closes the socket of a connection immediately. A statement that runs on it fails. */
function destroySocket(client: ClientBase): void {
  const { connection } = client as unknown as PgSocketClient // as its source has it
  connection.stream.destroy()
}

/** Ends a connection. If the server does not close it in time, its socket is closed here. */
export async function endClient(client: Client): Promise<void> {
  const timer = setTimeout(destroySocket, END_TIMEOUT_MS, client)
  try {
    await client.end()
  } finally {
    clearTimeout(timer)
  }
}

/** The open connections of a pool. */
export class PoolConnections {
  readonly #clients = new Set<ClientBase>()

  constructor(pool: Pool) {
    pool.on('connect', client => {
      this.#clients.add(client)
      client.once('end', () => this.#clients.delete(client))
    })
  }

  destroy(): void {
    for (const client of this.#clients) destroySocket(client)
  }
}

/**
 * Waits for work that ends connections, for at most `timeoutMs`. Then the sockets are closed, so that statements
 * of a server that no longer answers fail.
 */
export async function endWithin(
  work: Promise<unknown>,
  timeoutMs: number,
  destroySockets: () => void,
): Promise<void> {
  const controller = new AbortController()
  const { signal } = controller
  const limit = wait(timeoutMs, undefined, { signal }).then(() => {
    destroySockets()
    return wait(END_TIMEOUT_MS, undefined, { signal })
  })
  limit.catch(() => undefined)
  try {
    await Promise.race([work, limit])
  } finally {
    controller.abort()
  }
}
