import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'

const HEAP_MB = 512
const CONNECTIONS = 12
const REQUESTS = 1000

let environment: TestEnvironment
let service: StartedService
beforeAll(async () => {
  environment = await createTestEnvironment(DATABASE_KINDS[0] ?? 'embedded')
  service = await startService(environment, { NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}` })
})
afterAll(async () => {
  await service.stop('SIGKILL')
  await environment.remove()
})

const authorization = `Authorization: Bearer ${FULL_ACCESS_TOKEN}`
const content = JSON.stringify({ query: 'subscription { propertyChanged { ListingKey } }' })
const SUBSCRIPTION = [
  'POST /graphql HTTP/1.1',
  'Host: a',
  authorization,
  'Accept: text/event-stream',
  'Content-Type: application/json',
  `Content-Length: ${content.length}`,
  '',
  content,
].join('\r\n')
const LARGE_REQUEST = `GET /odata HTTP/1.1\r\nHost: a\r\n${authorization}\r\nX-A: ${'x'.repeat(60_000)}\r\n\r\n`

/** Writes the requests as fast as the service reads them, until it reads no more or the connection ends. */
async function sendPipeline(socket: Socket): Promise<void> {
  socket.write(SUBSCRIPTION)
  for (let i = 0; i < REQUESTS && !socket.destroyed; i++)
    if (!socket.write(LARGE_REQUEST)) await settled(socket)
}

const settled = (socket: Socket): Promise<void> =>
  new Promise(resolve => {
    const settle = () => {
      clearTimeout(timer)
      socket.off('drain', settle).off('close', settle)
      resolve()
    }
    const timer = setTimeout(settle, 2000)
    socket.on('drain', settle).on('close', settle)
  })

test('requests that wait after event streams do not fill the memory', { timeout: 120_000 }, async () => {
  const port = await service.process.port
  const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').resume())
  for (const socket of sockets) socket.on('error', () => undefined)
  await Promise.all(sockets.map(sendPipeline))
  // A process that ends writes its remaining output first.
  await new Promise(resolve => setTimeout(resolve, 1000))
  expect(service.process.output.err).not.toContain('out of memory')
  expect(await service.send('/odata/Property?$top=1')).toMatchObject({ status: 200 })
  for (const socket of sockets) socket.destroy()
})
