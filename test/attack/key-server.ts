import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A key server that works for a while, then is silent, then endless, then closes every connection. */
export interface KeyServer {
  readonly url: string
  readonly keyId: string
  readonly privateKey: KeyObject
  /** A key that the server does not have. */
  readonly unknownKey: KeyObject
  /** Starts the outages. */
  fail(): void
  /** Number of requests so far. */
  readonly requestCount: () => number
  close(): void
}

const MODES = ['healthy', 'silent', 'endless', 'closing'] as const
const MODE_MS = 4000
const KEY_ID = 'known'

export async function startKeyServer(): Promise<KeyServer> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const unknownKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey
  const keySet = JSON.stringify({
    keys: [null, { ...publicKey.export({ format: 'jwk' }), kid: KEY_ID, alg: 'ES256', use: 'sig' }],
  })
  let requestCount = 0
  let failsSince = Number.POSITIVE_INFINITY
  const mode = () => MODES[Math.floor(Math.max(0, performance.now() - failsSince) / MODE_MS) % MODES.length]
  const server = createServer((req, res) => {
    requestCount += 1
    const current = mode()
    if (current === 'healthy') res.end(keySet)
    else if (current === 'endless') writeEndlessly(res)
    else if (current === 'closing') req.socket.destroy()
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo // of a server that listens on a port
  return {
    url: `http://127.0.0.1:${port}/keys`,
    keyId: KEY_ID,
    privateKey,
    unknownKey,
    fail: () => {
      failsSince = performance.now()
    },
    requestCount: () => requestCount,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** Writes as fast as the client reads, until it closes the connection. */
function writeEndlessly(res: ServerResponse): void {
  const chunk = ' '.repeat(65_536)
  const write = () => {
    while (!res.destroyed && res.write(chunk));
  }
  res.on('drain', write)
  write()
}
