import { afterEach, describe, expect, test, vi } from 'vitest'
import { FairSemaphore, type PermitUse } from '../../../src/data/fair-semaphore.js'
import { RequestScope } from '../../../src/domain/request-scope.js'

const LONG_MS = 60_000

/** Requests of clients, and the order in which they got their permits. */
function startRequests(semaphore: FairSemaphore) {
  const served: string[] = []
  const request = (client: string, timeoutMs = LONG_MS) => {
    const scope = new RequestScope(client)
    const outcome = semaphore.tryAcquire(client)
      ? Promise.resolve('acquired' as const)
      : semaphore.acquire(scope, timeoutMs)
    void outcome.then(result => result === 'acquired' && served.push(client))
    return { scope, outcome }
  }
  /** Releases a permit of a client, and records the requests that are served then. */
  const release = async (client: string) => {
    semaphore.release(client)
    await new Promise(setImmediate)
  }
  return { served, request, release }
}

describe('FairSemaphore', () => {
  test('one client can take all permits but the reserve, which others get', async () => {
    const semaphore = new FairSemaphore({ permits: 4, reserved: 1 })
    const { request, served } = startRequests(semaphore)
    for (let i = 0; i < 10; i++) request('heavy')
    await new Promise(setImmediate)
    expect(served).toHaveLength(3)
    expect([semaphore.isAvailable('heavy'), semaphore.isAvailable('light')]).toEqual([false, true])
    request('light')
    await new Promise(setImmediate)
    expect(served.at(-1)).toBe('light')
    expect(semaphore.isAvailable('other')).toBe(false)
    expect(semaphore.waitingCount).toBe(7)
  })

  test('clients that wait are served round robin, not in the order of their requests', async () => {
    const semaphore = new FairSemaphore({ permits: 1, reserved: 0 })
    const { request, served, release } = startRequests(semaphore)
    for (let i = 0; i < 6; i++) request('a')
    for (let i = 0; i < 3; i++) request('b')
    request('c')
    await new Promise(setImmediate)
    const order: string[] = []
    for (let i = 0; i < 10; i++) {
      order.push(served[i] ?? '')
      await release(served[i] ?? '')
    }
    expect(order.join('')).toBe('aabcababaa')
  })

  test('a reserved permit is not given to clients that already hold one', async () => {
    const semaphore = new FairSemaphore({ permits: 2, reserved: 1 })
    const { request, served, release } = startRequests(semaphore)
    request('heavy')
    request('first')
    for (let i = 0; i < 5; i++) request('heavy')
    request('second')
    await new Promise(setImmediate)
    await release('first')
    expect(served).toEqual(['heavy', 'first', 'second'])
    await release('second')
    expect(served).toHaveLength(3)
    await release('heavy')
    expect(served).toEqual(['heavy', 'first', 'second', 'heavy'])
  })

  test('a waiter leaves the queue after its timeout, and when its request is aborted', async () => {
    const semaphore = new FairSemaphore({ permits: 1, reserved: 0 })
    const { request, served, release } = startRequests(semaphore)
    request('a')
    const late = request('b', 20)
    const aborted = request('c')
    request('d')
    expect(await late.outcome).toBe('timeout')
    aborted.scope.abort()
    expect(await aborted.outcome).toBe('aborted')
    expect(semaphore.waitingCount).toBe(1)
    await release('a')
    expect(served).toEqual(['a', 'd'])
    expect(late.scope.waitedMs).toBeGreaterThan(15)
  })

  test('writes take at most their part of the permits, and do not count as reads of their client', async () => {
    const semaphore = new FairSemaphore({ permits: 4, reserved: 1, maxWrites: 2 })
    const take = (client: string, use: PermitUse) => semaphore.tryAcquire(client, use)
    expect([take('a', 'write'), take('b', 'write'), take('c', 'write')]).toEqual([true, true, false])
    expect([take('a', 'read'), take('a', 'read'), take('b', 'read')]).toEqual([true, false, true])
    const waiting = semaphore.acquire(new RequestScope('c'), LONG_MS, 'write')
    expect([semaphore.waitingCount, semaphore.waitingReadCount]).toEqual([1, 0])
    semaphore.release('b', 'read')
    expect(take('d', 'read')).toBe(true)
    semaphore.release('a', 'write')
    expect(await waiting).toBe('acquired')
    expect(semaphore.waitingCount).toBe(0)
  })

  test('removes clients without permits and waiters', async () => {
    const semaphore = new FairSemaphore({ permits: 2, reserved: 1 })
    for (let i = 0; i < 1000; i++) {
      expect(semaphore.tryAcquire(`client ${i}`)).toBe(true)
      semaphore.release(`client ${i}`)
    }
    expect([semaphore.tryAcquire('a'), semaphore.tryAcquire('b'), semaphore.tryAcquire('c')]).toEqual([
      true,
      true,
      false,
    ])
  })
})

describe('RequestScope', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  test('waits at the same time count once, those after each other together', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const scope = new RequestScope('client')
    const now = performance.now()
    scope.startWait(now - 300)
    scope.startWait(now - 200)
    scope.endWait()
    scope.endWait()
    scope.startWait(performance.now() - 500)
    scope.endWait()
    expect(scope.waitedMs).toBe(800)
  })

  test('a part is aborted with its request, and has its own waiting time', () => {
    const scope = new RequestScope('client')
    scope.startWait(performance.now() - 1000)
    const part = scope.part()
    let aborted = 0
    part.add({ abort: () => aborted++ })
    expect([part.clientId, part.waitedMs]).toEqual(['client', 0])
    scope.abort()
    scope.abort()
    expect([aborted, part.isAborted]).toEqual([1, true])
  })

  test('a request that was aborted before does not wait', async () => {
    const semaphore = new FairSemaphore({ permits: 1, reserved: 0 })
    const { request } = startRequests(semaphore)
    request('client')
    const scope = new RequestScope('client')
    scope.abort()
    expect(await semaphore.acquire(scope)).toBe('aborted')
    expect(semaphore.waitingCount).toBe(0)
  })
})
