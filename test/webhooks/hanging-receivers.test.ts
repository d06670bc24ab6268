import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { percentile, type TimedResponse } from '../support/load.js'
import {
  addWebhook,
  changeListing,
  eventsAfter,
  startSender,
  type TestSender,
  type TestWebhook,
  webhookServiceOf,
} from './setting.js'

const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))
/** The traps have 200 receivers and 1,000 changes. */
const RECEIVERS = Number(process.env['WEBHOOK_RECEIVERS'] ?? 20)
const CHANGES = Number(process.env['WEBHOOK_CHANGES'] ?? 30)
const HEALTHY = RECEIVERS / 5
const LONG = { timeout: 120_000 + 100 * CHANGES * (RECEIVERS / 20) }
/** Longer than the test, so that no attempt on a receiver that hangs ends. */
const ATTEMPT_MS = '30000'
const CLOSED_PORT = 'http://127.0.0.1:1/'

/** A server that accepts connections and sends no response. */
interface HangingServer {
  readonly port: number
  /** Connections that are open now, and the maximum of all times. */
  readonly open: () => number
  readonly maxOpen: () => number
  close(): Promise<void>
}

async function startHangingServer(onConnection: (socket: Socket) => void): Promise<HangingServer> {
  const sockets = new Set<Socket>()
  let maxOpen = 0
  const server = createServer(socket => {
    sockets.add(socket)
    maxOpen = Math.max(maxOpen, sockets.size)
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
    onConnection(socket)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    open: () => sockets.size,
    maxOpen: () => maxOpen,
    close: async () => {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** Sends a line of headers from time to time. */
function drip(socket: Socket): void {
  const timer = setInterval(() => socket.write('X-A: b\r\n'), 1000)
  socket.on('close', () => clearInterval(timer))
}

describe.runIf(DATABASE_KINDS.includes('server'))('receivers that hang beside others', LONG, () => {
  let database: TestDatabase
  let sender: TestSender
  const healthy: TestWebhook[] = []
  const hanging: HangingServer[] = []

  beforeAll(async () => {
    database = await openTestDatabase('server')
    await importFile(database, FIXTURE)
    sender = startSender(database, { WEBHOOK_TIMEOUT_MS: ATTEMPT_MS })
    for (let i = 0; i < HEALTHY; i++) healthy.push(await addWebhook(database, { resourceName: 'Property' }))
  }, LONG.timeout)
  afterAll(async () => {
    await sender?.close(0)
    await Promise.all([...hanging, ...healthy.map(({ receiver }) => receiver)].map(server => server.close()))
    await database?.close()
  })

  /** Makes changes and returns the time from each commit to its delivery, over all healthy receivers, in ms. */
  async function measureDelays(): Promise<readonly Pick<TimedResponse, 'ms'>[]> {
    const arrivals = healthy.map(({ receiver }) => {
      const times = new Map<number, number>()
      receiver.answer = ({ events }, res) => {
        for (const { EntityEventSequence: number } of events) times.set(number, performance.now())
        res.writeHead(204).end()
        return 204
      }
      return times
    })
    const [start = 0] = healthy.map(({ receiver }) => receiver.acknowledged().length)
    const committed: number[] = []
    for (let i = 0; i < CHANGES; i++) {
      await changeListing(database, i % 2 === 0 ? 'P01' : 'P02')
      committed.push(performance.now())
    }
    const delays = healthy.map(async ({ webhook, receiver }, i) => {
      const numbers = () => receiver.acknowledged().map(event => event.EntityEventSequence)
      const expected = await eventsAfter(database, webhook.Position)
      await expect.poll(() => numbers().length, LONG).toBe(expected.length)
      expect(numbers()).toEqual(expected)
      return expected
        .slice(start)
        .map((number, n) => ({ ms: (arrivals[i]?.get(number) ?? 0) - (committed[n] ?? 0) }))
    })
    return (await Promise.all(delays)).flat()
  }

  async function addHangingWebhooks(): Promise<void> {
    const [silent, dripping] = [
      await startHangingServer(() => undefined),
      await startHangingServer(socket => {
        socket.write('HTTP/1.1 200 OK\r\n')
        drip(socket)
      }),
    ]
    hanging.push(silent, dripping)
    const urls = [
      ...Array<string>(2 * HEALTHY).fill(`http://127.0.0.1:${silent.port}/`),
      ...Array<string>(HEALTHY / 2).fill(`https://127.0.0.1:${silent.port}/`),
      ...Array<string>(HEALTHY).fill(`http://127.0.0.1:${dripping.port}/`),
      ...Array<string>(HEALTHY / 2).fill(CLOSED_PORT),
    ]
    const clientId = healthy[0]?.clientId ?? ''
    for (const url of urls) await webhookServiceOf(database).add({ clientId, url, resourceName: 'Property' })
  }

  test('WHK-16, WHK-21: healthy receivers get every event in order while the attempts on the others last', async () => {
    // The sender learns of new subscriptions within its poll interval.
    await measureDelays()
    const alone = await measureDelays()
    await addHangingWebhooks()
    const beside = await measureDelays()
    // Every attempt on a receiver that hangs is made, none twice at the same time.
    for (const [i, server] of hanging.entries()) {
      const subscriptions = i === 0 ? 2.5 * HEALTHY : HEALTHY
      await expect.poll(server.maxOpen, LONG).toBe(subscriptions)
      expect(server.open()).toBeLessThanOrEqual(subscriptions)
    }
    const show = (delays: Awaited<ReturnType<typeof measureDelays>>) =>
      [0.5, 0.99].map(part => `${Math.round(percentile(delays, part))} ms`).join(', ')
    process.stdout.write(`Commit to delivery, p50 and p99: alone ${show(alone)}; beside ${show(beside)}\n`)
  })
})
