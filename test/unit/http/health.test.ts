import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { type HealthChecks, serveHealth } from '../../../src/http/health.js'
import { request, serve } from './exchange.js'

describe('health', () => {
  const HIDDEN = { reasons: ['secret host name'], isOperator: async () => false }
  const start = async (
    isReady: () => Promise<boolean>,
    draining = false,
    isOperator: HealthChecks['isOperator'] = HIDDEN.isOperator,
  ) => {
    const handler = serveHealth({
      checkDatabase: async () => ({ isReady: await isReady(), reasons: HIDDEN.reasons, clockAheadMs: 0 }),
      isOperator,
      isDraining: () => draining,
      onClockAhead: () => expect.unreachable(),
      onReadiness: () => undefined,
    })
    return (await serve((req, res) => handler(req, res, () => res.writeHead(404).end()))).port
  }
  const probe = async (port: number, path = '/health/ready') => {
    const { status, body } = await request(port, 'GET', path)
    return [status, body === '' ? '' : JSON.parse(body).status]
  }

  test('ready, not ready, failing, hanging, draining', async () => {
    expect(await probe(await start(async () => true))).toEqual([200, 'ready'])
    expect(await probe(await start(async () => false))).toEqual([503, 'unavailable'])
    expect(await probe(await start(() => Promise.reject(new Error('secret host name'))))).toEqual([
      503,
      'unavailable',
    ])
    expect(await probe(await start(() => new Promise(() => {})))).toEqual([503, 'unavailable'])
    expect(await probe(await start(async () => true, true))).toEqual([503, 'draining'])
  })

  test('only an operator receives the reasons why the service is not ready', async () => {
    const isOperator = async (req: IncomingMessage) => req.headers.authorization === 'Bearer operator'
    const reasonsOf = async (port: number, headers: Readonly<Record<string, string>>) =>
      JSON.parse((await request(port, 'GET', '/health/ready', headers)).body).reasons as unknown
    const operator = { Authorization: 'Bearer operator' }
    const unready = await start(async () => false, false, isOperator)
    expect(await reasonsOf(unready, operator)).toEqual(['secret host name'])
    expect(await reasonsOf(unready, { Authorization: 'Bearer other' })).toBeUndefined()
    expect(await reasonsOf(unready, {})).toBeUndefined()
    const failing = await start(() => Promise.reject(new Error('no route')), false, isOperator)
    expect(await reasonsOf(failing, operator)).toEqual(['no route'])
    const hanging = await start(() => new Promise(() => {}), false, isOperator)
    expect(await reasonsOf(hanging, operator)).toEqual(['The database has not answered within 2000 ms.'])
    expect(await reasonsOf(await start(async () => true, false, isOperator), operator)).toBeUndefined()
  })

  test('live whatever the database does, HEAD without a body, other requests reach the adapter', async () => {
    const port = await start(() => new Promise(() => {}), true)
    expect(await probe(port, '/health/live?x')).toEqual([200, 'live'])
    expect(await request(port, 'HEAD', '/health/live')).toMatchObject({ status: 200, body: '' })
    expect((await request(port, 'POST', '/health/live')).status).toBe(404)
  })

  test('concurrent probes share one check of the database', async () => {
    let looks = 0
    const port = await start(async () => {
      looks += 1
      await new Promise(resolve => setTimeout(resolve, 200))
      return true
    })
    const probes = await Promise.all(Array.from({ length: 20 }, () => probe(port)))
    expect(new Set(probes.map(String))).toEqual(new Set(['200,ready']))
    // One before the first probe, and one or two for them.
    expect(looks).toBeLessThanOrEqual(3)
  })

  test('a clock that is ahead by more than a minute is logged once, and shown to each probe', async () => {
    const reported: number[] = []
    let clockAheadMs = 59_000
    const handler = serveHealth({
      checkDatabase: async () => ({ isReady: true, reasons: [], clockAheadMs }),
      isOperator: HIDDEN.isOperator,
      isDraining: () => false,
      onClockAhead: aheadMs => reported.push(aheadMs),
      onReadiness: () => undefined,
    })
    const { port } = await serve((req, res) => handler(req, res, () => res.writeHead(404).end()))
    const ready = async () => JSON.parse((await request(port, 'GET', '/health/ready')).body) as unknown
    expect(await ready()).toEqual({ status: 'ready' })
    clockAheadMs = 3_600_400
    expect(await ready()).toEqual({ status: 'ready', clockAheadSeconds: 3600 })
    expect(await ready()).toEqual({ status: 'ready', clockAheadSeconds: 3600 })
    clockAheadMs = 0
    expect(await ready()).toEqual({ status: 'ready' })
    clockAheadMs = 70_000
    expect(await ready()).toEqual({ status: 'ready', clockAheadSeconds: 70 })
    expect(reported).toEqual([3_600_400, 70_000])
  })

  test('FAI-08 the first result and each change are reported, with the reasons', async () => {
    const reported: unknown[] = []
    let isReady = false
    const handler = serveHealth({
      checkDatabase: async () => ({ isReady, reasons: isReady ? [] : ['no route'], clockAheadMs: 0 }),
      isOperator: HIDDEN.isOperator,
      isDraining: () => false,
      onClockAhead: () => expect.unreachable(),
      onReadiness: (...change) => reported.push(change),
    })
    const { port } = await serve((req, res) => handler(req, res, () => res.writeHead(404).end()))
    for (const next of [false, false, true, true, false]) {
      isReady = next
      await probe(port)
    }
    expect(reported).toEqual([
      [false, ['no route']],
      [true, []],
      [false, ['no route']],
    ])
  })
})
