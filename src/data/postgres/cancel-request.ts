import type { EventEmitter } from 'node:events'
import { Client, type ClientBase, type ClientConfig } from 'pg'

/** The parts of pg's client that its types leave out. */
interface PgBackendKey {
  readonly processID: number
  readonly secretKey: number
}
interface PgUnconnectedClient {
  readonly host: string
  readonly port: number
  readonly connection: PgCancelConnection
}
interface PgCancelConnection extends EventEmitter {
  readonly ssl: unknown
  readonly sslNegotiation: string
  readonly stream: { destroy(): void }
  connect(portOrPath: number | string, host?: string): void
  requestSsl(): void
  cancel(processId: number, secretKey: number): void
}

/** Maximum duration of a cancel request, in ms. */
const CANCEL_TIMEOUT_MS = 2000

/**
 * Asks the server to end the statement that runs on a connection (PostgreSQL documentation, "Canceling
 * Requests in Progress"). The request has its own connection, which the server closes after it has signaled
 * the session. Only then may another statement be sent on the canceled connection.
 * @returns false if the request failed. The signal may still arrive, so the connection must not be used
 * again.
 */
export function sendCancelRequest(target: ClientBase, config: ClientConfig): Promise<boolean> {
  const { processID, secretKey } = target as unknown as PgBackendKey // as its source has it
  const { connection, host, port } = new Client(config) as unknown as PgUnconnectedClient // as its source has it
  return new Promise(resolve => {
    let isSent = false
    const settle = (isDone: boolean) => {
      clearTimeout(timer)
      connection.stream.destroy()
      resolve(isDone)
    }
    const send = () => {
      connection.cancel(processID, secretKey)
      isSent = true
    }
    const timer = setTimeout(settle, CANCEL_TIMEOUT_MS, false)
    connection.on('connect', () => {
      if (!connection.ssl) send()
      else if (connection.sslNegotiation !== 'direct') connection.requestSsl()
    })
    connection.on('sslconnect', send)
    connection.on('error', () => settle(false))
    connection.on('end', () => settle(isSent))
    if (host.startsWith('/')) connection.connect(`${host}/.s.PGSQL.${port}`)
    else connection.connect(port, host)
  })
}
