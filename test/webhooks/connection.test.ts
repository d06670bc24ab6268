import { execFileSync } from 'node:child_process'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { mkdtempSync, readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { postToReceiver, type ReceiverResponse } from '../../src/service/webhooks/post.js'
import { type Receiver, startReceiver } from './receiver.js'

// A name server cannot be set for getaddrinfo, so its answers are replaced. Connections are real.
vi.mock('node:dns/promises', { spy: true })

const receivers: Receiver[] = []
afterEach(async () => {
  vi.mocked(lookup).mockReset()
  await Promise.all(receivers.splice(0).map(receiver => receiver.close()))
})

const start = async (): Promise<Receiver> => {
  const receiver = await startReceiver()
  receivers.push(receiver)
  return receiver
}

const post = (url: string, allowsPrivate: boolean, timeoutMs = 10_000): Promise<ReceiverResponse> =>
  postToReceiver({
    url,
    headers: {},
    body: '{"value":[]}',
    allowsPrivate,
    timeoutMs,
    signal: new AbortController().signal,
  })

/** Returns a key and a certificate that no authority has signed. */
function createCertificate(): readonly [key: Buffer, certificate: Buffer] {
  const folder = mkdtempSync(join(tmpdir(), 'listing-tls-'))
  const [key, certificate] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-subj',
      '/CN=receiver.example',
      '-keyout',
      key,
      '-out',
      certificate,
    ],
    { stdio: 'ignore' },
  )
  return [readFileSync(key), readFileSync(certificate)]
}

/** Answers lookups with these addresses, one list after the other. */
const resolveTo = (...lists: readonly (readonly string[])[]): void => {
  for (const list of lists) {
    const addresses = list.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    // The overload with `all` is the one that is used.
    vi.mocked(lookup).mockResolvedValueOnce(addresses as unknown as Awaited<ReturnType<typeof lookup>>)
  }
}

test('WHK-12: an address of this network is not called, as a literal and as a name', async () => {
  const receiver = await start()
  const { port } = new URL(receiver.url)
  for (const host of ['127.0.0.1', '127.1', '[::ffff:127.0.0.1]', 'localhost'])
    expect(await post(`http://${host}:${port}/`, false)).toMatchObject({
      status: undefined,
      reason: expect.stringMatching(/private address, which is not allowed/),
    })
  expect(receiver.deliveries).toEqual([])
  expect(await post(receiver.url, true)).toMatchObject({ status: 204 })
})

test('WHK-13: the addresses of a name are checked at each connection', async () => {
  const receiver = await start()
  const { port } = new URL(receiver.url)
  const url = `http://receiver.example:${port}/`
  for (const list of [['93.184.216.34', '127.0.0.1'], ['93.184.216.34', '::1'], ['169.254.169.254']]) {
    resolveTo(list)
    expect(await post(url, false)).toMatchObject({ reason: expect.stringMatching(/which is not allowed/) })
  }
  // Allowed at first, then at an address of a metadata service.
  resolveTo(['127.0.0.1'], ['169.254.169.254'])
  expect(await post(url, true)).toMatchObject({ status: 204 })
  expect(await post(url, true)).toMatchObject({
    reason: expect.stringMatching(/169.254.169.254 is a reserved/),
  })
  expect(receiver.deliveries).toHaveLength(1)
  expect(receiver.deliveries[0]?.headers.host).toBe(`receiver.example:${port}`)
})

test('WHK-13: a name that does not resolve and a closed port are failed attempts', async () => {
  expect(await post('http://no-such-name.invalid/', true)).toMatchObject({
    reason: expect.stringMatching(/ENOTFOUND|EAI_AGAIN/),
  })
  expect(await post('http://127.0.0.1:1/', true)).toMatchObject({
    reason: expect.stringMatching(/ECONNREFUSED/),
  })
})

test('WHK-16: one deadline applies to the handshake and the headers, however slowly bytes arrive', async () => {
  const server = createServer(socket => {
    const drip = setInterval(() => socket.write('HTTP/1.1 200 OK\r\nX-A: b\r\n'), 100)
    socket.on('close', () => clearInterval(drip)).on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    for (const protocol of ['http', 'https']) {
      const answer = await post(`${protocol}://127.0.0.1:${port}/`, true, 700)
      expect(answer.status).toBeUndefined()
    }
    const silent = createServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const { port: silentPort } = silent.address() as AddressInfo
    expect(await post(`https://127.0.0.1:${silentPort}/`, true, 700)).toEqual({
      status: undefined,
      reason: 'no answer within 0.7 s',
    })
    silent.close()
  } finally {
    server.close()
  }
})

test('WHK-18: a certificate that cannot be verified is a failed attempt with a readable reason', async () => {
  const { createServer: createTlsServer } = await import('node:https')
  const [key, cert] = createCertificate()
  const server = createTlsServer({ key, cert }, (_, res) => res.end()).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  try {
    expect(await post(`https://127.0.0.1:${port}/`, true)).toMatchObject({
      reason: expect.stringMatching(/self-signed certificate/),
    })
  } finally {
    server.close()
  }
})
