import { afterEach, describe, expect, test, vi } from 'vitest'
import { ChangeService } from '../../src/service/changes.js'
import { ReadService } from '../../src/service/reading.js'
import { startTestApp } from '../support/app.js'
import { openSocketClient, startSubscription, TRANSPORTS } from '../support/clients/subscriber.js'
import { DATABASE_KINDS, type TestDatabase } from '../support/database.js'
import { createDrafts } from '../support/drafts.js'

afterEach(() => vi.restoreAllMocks())

const SUBSCRIPTION = 'subscription { propertyChanged { ListingKey property { City } } }'

/** Makes every read wait for a lock. Returns the function that releases it. */
async function blockReads({ withClient }: TestDatabase): Promise<() => Promise<void>> {
  let release = (): void => undefined
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  let session: Promise<void> | undefined
  await new Promise<void>((resolve, reject) => {
    session = withClient(async client => {
      await client.query('begin')
      await client.query('lock table "Property", "EntityEvent" in access exclusive mode')
      resolve()
      await released
    })
    session.catch(reject)
  })
  return () => {
    release()
    return session ?? Promise.resolve()
  }
}

/** Blocks the reads of a service just before one of its methods runs. Resolves when it has begun to wait. */
function blockBefore<T extends object>(
  database: TestDatabase,
  service: T,
  method: keyof T & string,
  isBlocked: (args: readonly unknown[]) => boolean = () => true,
): Promise<() => Promise<void>> {
  const original = service[method] as (...args: unknown[]) => Promise<unknown> // the methods that are used return promises
  return new Promise((resolve, reject) => {
    const replacement = async function (this: unknown, ...args: unknown[]) {
      if (!isBlocked(args)) return original.apply(this, args)
      const unblock = await blockReads(database)
      const result = original.apply(this, args)
      resolve(unblock)
      return result
    }
    vi.spyOn(service as Record<string, () => unknown>, method).mockImplementation(function (
      this: unknown,
      ...args: unknown[]
    ) {
      const result = replacement.apply(this, args)
      result.catch(reject)
      return result
    })
  })
}

async function startApp() {
  const lines: string[] = []
  const app = await startTestApp({
    kind: 'server',
    env: { SHUTDOWN_TIMEOUT_MS: '600000', LOG_LEVEL: 'info' },
    fixture: 'fixture.json',
    onLogLine: line => lines.push(line),
  })
  return { app, lines }
}

/** Stops a service whose reads are blocked, and checks how a stream of a client ends. */
async function checkStop(
  close: () => Promise<void>,
  unblock: () => Promise<void>,
  end: Promise<unknown>,
  isWebSocket: boolean,
): Promise<void> {
  const closed = close()
  if (isWebSocket) await expect(end).rejects.toMatchObject({ code: 1001 })
  else await expect(end).rejects.toThrow(/connection|terminated/i)
  await unblock()
  await closed
}

describe.runIf(DATABASE_KINDS.includes('server'))('a service that stops', { timeout: 120_000 }, () => {
  test.each(TRANSPORTS)(
    'ends a subscription by %s that reads a change, without a result',
    async transport => {
      const { app, lines } = await startApp()
      const blocked = blockBefore(app.database, ChangeService.prototype, 'findListings', ([keys]) =>
        Array.isArray(keys) ? keys.length > 0 : false,
      )
      const follow = vi.spyOn(ChangeService.prototype, 'subscribe')
      const end = startSubscription(app, SUBSCRIPTION, { transport }).next()
      end.catch(() => undefined)
      await expect.poll(() => follow.mock.calls.length, { timeout: 60_000 }).toBe(1)
      await createDrafts(app, 'Testville', [{}])
      await checkStop(app.close, await blocked, end, transport === 'WebSocket')
      expect(lines.filter(line => line.includes('CANCEL') || line.includes('"level":50'))).toEqual([])
    },
  )

  test.each(TRANSPORTS)(
    'ends a subscription by %s that is being opened, without a result',
    async transport => {
      const { app } = await startApp()
      const blocked = blockBefore(app.database, ChangeService.prototype, 'latestSequence')
      const end = startSubscription(app, SUBSCRIPTION, { transport }).next()
      end.catch(() => undefined)
      await checkStop(app.close, await blocked, end, transport === 'WebSocket')
    },
  )

  test('closes a WebSocket with 1001 while its query runs', async () => {
    const { app } = await startApp()
    const blocked = blockBefore(app.database, ReadService.prototype, 'findWindow')
    const client = openSocketClient(app.base, app.tokenFor())
    const end = client.iterate({ query: '{ properties(first: 1) { nodes { City } } }' }).next()
    end.catch(() => undefined)
    await checkStop(app.close, await blocked, end, true)
  })
})
