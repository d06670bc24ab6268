import type { ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { WebSocketServer } from 'ws'
import { markEndless } from '../../../src/http/pipeline.js'
import { sendRaw, serve } from './exchange.js'

const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`
const LARGE_HEADER = `X-A: ${'x'.repeat(60_000)}\r\n`

/** Starts a server that answers on demand with the path of the request. */
async function serveOnDemand() {
  const begun: string[] = []
  const sockets = new Set<Socket>()
  let isOpen = false
  const held: ServerResponse[] = []
  const server = await serve((req, res) => {
    sockets.add(req.socket)
    begun.push(req.url ?? '')
    if (isOpen) res.end(`<${req.url}>`)
    else held.push(res)
  })
  const open = () => {
    isOpen = true
    for (const res of held) res.end(`<${res.req.url}>`)
  }
  const bytesRead = () => [...sockets].reduce((sum, socket) => sum + socket.bytesRead, 0)
  return { ...server, begun, open, bytesRead }
}

const openConnection = (port: number) => connect(port, '127.0.0.1').on('error', () => undefined)

/** Everything that a connection receives. */
function collect(socket: Socket): { text: string } {
  const received = { text: '' }
  socket.setEncoding('latin1').on('data', text => {
    received.text += text
  })
  return received
}

test('few bytes of the requests after a slow one are read ahead, and all requests get a response', async () => {
  const { port, open, bytesRead, begun } = await serveOnDemand()
  const socket = openConnection(port)
  const received = collect(socket)
  const paths = Array.from({ length: 200 }, (_, i) => `/${i}`)
  for (const path of paths) socket.write(get(path, LARGE_HEADER))
  await expect.poll(bytesRead).toBeGreaterThan(0)
  await pause(200)
  expect(begun).toEqual(['/0'])
  expect(bytesRead()).toBeLessThan(400_000)
  open()
  await expect.poll(() => received.text.match(/<.*?>/g)).toEqual(paths.map(path => `<${path}>`))
  socket.destroy()
})

test('the bodies of the requests that wait are not read either', async () => {
  const { port, open, bytesRead } = await serveOnDemand()
  const socket = openConnection(port)
  const received = collect(socket)
  const post = `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n${'x'.repeat(100_000)}`
  socket.write(post.repeat(50))
  await expect.poll(bytesRead).toBeGreaterThan(0)
  await pause(200)
  expect(bytesRead()).toBeLessThan(400_000)
  open()
  await expect.poll(() => received.text.match(/<\/>/g)?.length).toBe(50)
  socket.destroy()
})

test('a connection may close while reading from it is paused', async () => {
  const { port, open, begun } = await serveOnDemand()
  const socket = openConnection(port)
  socket.write(get('/', LARGE_HEADER).repeat(50))
  await expect.poll(() => begun.length).toBe(1)
  socket.resetAndDestroy()
  await pause(50)
  open()
  await pause(50)
  expect(begun.length).toBeLessThan(20)
})

test('waiting small requests on all connections have a common limit', async () => {
  const { port } = await serveOnDemand()
  const sockets = Array.from({ length: 120 }, () => openConnection(port))
  let closed = 0
  for (const socket of sockets) socket.once('close', () => closed++).write(get('/').repeat(95))
  // 94 requests of 4 KB wait on each: some 85 connections fill the 32 MB.
  await expect.poll(() => closed, { timeout: 10_000 }).toBeGreaterThan(20)
  await pause(100)
  expect(closed).toBeLessThan(50)
  for (const socket of sockets) socket.destroy()
})

test.each(['before', 'after'])(
  'a request that arrives %s a response that does not end begins ends the connection',
  async when => {
    const { port } = await serve(async (req, res) => {
      if (req.url !== '/endless') return res.end('served')
      await pause(50)
      res.write('begun')
      markEndless(res)
    })
    const socket = openConnection(port)
    const received = collect(socket)
    const closed = new Promise(resolve => socket.once('close', resolve))
    socket.write(get('/endless') + (when === 'before' ? get('/next') : ''))
    if (when === 'after') {
      await expect.poll(() => received.text).toContain('begun')
      socket.write(get('/next'))
    }
    await closed
    expect(received.text).not.toContain('served')
  },
)

test('after a response that was marked endless has ended, the connection accepts requests again', async () => {
  const { port } = await serve((req, res) => {
    if (req.url === '/endless') markEndless(res)
    res.end(`<${req.url}>`)
  })
  const socket = openConnection(port)
  const received = collect(socket)
  socket.write(get('/endless'))
  await expect.poll(() => received.text).toContain('</endless>')
  socket.write(get('/next'))
  await expect.poll(() => received.text).toContain('</next>')
  socket.destroy()
})

const H2C = 'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n'
const WEBSOCKET = [
  'Connection: Upgrade',
  'Upgrade: websocket',
  'Sec-WebSocket-Version: 13',
  'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
  '',
].join('\r\n')

/** Answers after some time, so that further requests wait. */
const serveSlowly = (upgrade?: (socket: Duplex) => void) =>
  serve(
    (req, res) => void setTimeout(() => res.end(`<${req.url}>`.padEnd(300_000)), 30),
    {},
    upgrade && { longLived: { upgrade: (_req, socket) => upgrade(socket), close: () => undefined } },
  )

test('an offer of HTTP/2 after other requests is ignored', async () => {
  const { port } = await serveSlowly()
  const text = await sendRaw(
    port,
    get('/1') + get('/2') + get('/3', H2C) + get('/4', H2C) + get('/5', 'Connection: close\r\n'),
  )
  expect(text.match(/<.*?>/g)).toEqual(['</1>', '</2>', '</3>', '</4>', '</5>'])
})

test('a WebSocket begins after the responses to the requests before it', async () => {
  const webSockets = new WebSocketServer({ noServer: true })
  const { port } = await serve(
    (req, res) => void setTimeout(() => res.end(`<${req.url}>`.padEnd(300_000)), 30),
    {},
    {
      longLived: {
        upgrade: (req, socket, head) =>
          webSockets.handleUpgrade(req, socket, head, webSocket =>
            webSocket.send('opened', () => webSocket.terminate()),
          ),
        close: () => undefined,
      },
    },
  )
  const text = await sendRaw(port, get('/1') + get('/2') + get('/socket', WEBSOCKET))
  expect(text.match(/<.*?>|HTTP\/1.1 101|opened/g)).toEqual(['</1>', '</2>', 'HTTP/1.1 101', 'opened'])
})

test.each([
  ['bytes that are no HTTP', 'nonsense\r\n\r\n'],
  ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'],
  [
    'a body that is malformed',
    'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nnonsense\r\n',
  ],
])('%s after other requests: their responses come first', async (_name, bytes) => {
  const { port } = await serveSlowly()
  const text = await sendRaw(port, get('/1') + get('/2') + bytes)
  expect(text.match(/<.*?>|HTTP\/1.1 \d+/g)).toEqual([
    'HTTP/1.1 200',
    '</1>',
    'HTTP/1.1 200',
    '</2>',
    'HTTP/1.1 400',
  ])
})

test('a client that disconnects before its upgrade does not affect others', async () => {
  let upgraded = 0
  const { port } = await serveSlowly(() => upgraded++)
  const socket = openConnection(port)
  socket.write(get('/1') + get('/socket', WEBSOCKET), () => socket.resetAndDestroy())
  await pause(100)
  expect(upgraded).toBe(0)
  expect(await sendRaw(port, get('/2', 'Connection: close\r\n'))).toContain('</2>')
})
