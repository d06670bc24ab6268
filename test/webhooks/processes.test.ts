import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../../src/data/database.js'
import { importFile } from '../../src/data/import/import.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createTestEnvironment, type TestEnvironment } from '../support/process.js'
import { type ServiceProcess, spawnService } from '../support/service-process.js'
import type { Answer, Receiver } from './receiver.js'
import { addWebhook, changeListing, eventsAfter, type TestWebhook, webhookServiceOf } from './setting.js'

const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))
/** The trap has 10,000 changes, three processes and a kill every ten seconds: 10000, 3 and 20. */
const CHANGES = Number(process.env['WEBHOOK_CHANGES'] ?? 300)
const PROCESSES = Number(process.env['WEBHOOK_PROCESSES'] ?? 2)
const KILLS = Number(process.env['WEBHOOK_KILLS'] ?? 1)
const MAX_WAIT_MS = 60_000 + 50 * CHANGES

/** Fails every seventh request, and responds slowly, so that a kill interrupts running attempts. */
const failSeventh: Answer = async (_, res, i) => {
  await new Promise(resolve => setTimeout(resolve, 20 * (i % 5)))
  const status = i % 7 === 3 ? 503 : 200
  res.writeHead(status, { 'Retry-After': '1' }).end()
  return res.destroyed ? undefined : status
}

const changeListings = async (database: Database, from: number, to: number): Promise<void> => {
  for (let i = from; i < to; i++) await changeListing(database, i % 2 === 0 ? 'P01' : 'P02')
}

describe.runIf(DATABASE_KINDS.includes('server'))(`${PROCESSES} processes on PostgreSQL`, () => {
  let environment: TestEnvironment
  let database: Database
  const processes: ServiceProcess[] = []
  const start = () => {
    const started = spawnService({
      ...environment.env,
      WEBHOOK_PRIVATE_ADDRESSES: 'on',
      POOL_SIZE: '4',
      SHUTDOWN_TIMEOUT_MS: '1000',
    })
    processes.push(started)
    return started
  }

  beforeAll(async () => {
    environment = await createTestEnvironment('server')
    database = await environment.connect()
    await importFile(database, FIXTURE)
  }, 60_000)
  afterAll(async () => {
    for (const { child } of processes) child.kill('SIGKILL')
    await database?.close()
    await environment?.remove()
  })

  test(
    'WHK-05, WHK-07: after kill -9 of a process no event is lost, the order is the same, and events are repeated as documented',
    async () => {
      const webhooks: TestWebhook[] = []
      for (let i = 0; i < 3; i++) webhooks.push(await addWebhook(database, { resourceName: 'Property' }))
      for (const { receiver } of webhooks) receiver.answer = failSeventh
      const running = Array.from({ length: PROCESSES }, start)
      await Promise.all(running.map(({ port }) => port))
      for (let i = 0; i <= KILLS; i++) {
        await changeListings(
          database,
          Math.ceil((i * CHANGES) / (KILLS + 1)),
          Math.ceil(((i + 1) * CHANGES) / (KILLS + 1)),
        )
        if (i === KILLS) break
        running.shift()?.child.kill('SIGKILL')
        running.push(start())
      }
      for (const webhook of webhooks) {
        const expected = await eventsAfter(database, webhook.webhook.Position)
        expect(expected).toHaveLength(CHANGES)
        const last = () => webhook.receiver.acknowledged().at(-1)?.EntityEventSequence
        await expect.poll(last, { timeout: MAX_WAIT_MS, interval: 100 }).toBe(expected.at(-1))
        expectOrder(webhook.receiver, expected)
      }
      // A stop ends the leases immediately, so that another process need not wait for them to expire.
      for (const { port, child, exit } of running) {
        await port
        child.kill('SIGTERM')
        expect(await exit).toBe(0)
      }
      for (const { LeaseOwner } of await webhookServiceOf(database).list()) expect(LeaseOwner).toBeNull()
      await Promise.all(webhooks.map(({ receiver }) => receiver.close()))
    },
    MAX_WAIT_MS + 120_000,
  )
})

/**
 * Checks that the accepted messages hold all events in their order. What was accepted before may come again only as a
 * whole message under its id, next to the message that it repeats: its sender ended before it recorded the response.
 */
function expectOrder({ deliveries, maxOpen }: Receiver, expected: readonly number[]): void {
  const bodies = new Map<string, string>()
  for (const { id, body } of deliveries) expect(bodies.set(id, bodies.get(id) ?? body).get(id)).toBe(body)
  const accepted = deliveries.filter(({ status }) => status === 200)
  const numbers = accepted
    .filter(({ id }, i) => accepted[i - 1]?.id !== id)
    .flatMap(({ events }) => events.map(event => event.EntityEventSequence))
  expect(numbers).toEqual(expected)
  // The request of a process that was killed may be open while the next process repeats it.
  expect(maxOpen).toBeLessThanOrEqual(2)
}
