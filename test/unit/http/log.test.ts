import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { withCause } from '../../../src/errors/problem.js'
import { logRequests, requestId, setFailureReason } from '../../../src/http/log.js'
import { request, serve } from './exchange.js'

describe('log', () => {
  const start = async (status = 200) => {
    const lines: string[] = []
    const handler = logRequests(pino({ level: 'debug', base: null }, { write: line => lines.push(line) }), {
      trustProxy: 0,
    })
    const away = withCause({ kind: 'Unavailable', reason: 'database' }, new Error('connect ECONNREFUSED'))
    const { port } = await serve((req, res) =>
      handler(req, res, () => {
        if (status === 503) setFailureReason(req, away)
        res.writeHead(status).end(requestId(req))
      }),
    )
    return { port, lines, records: () => lines.map(line => JSON.parse(line)) }
  }

  test('a closed event stream is no warning', async () => {
    const lines: { level: number; aborted?: boolean }[] = []
    const logger = pino({ level: 'debug', base: null }, { write: line => lines.push(JSON.parse(line)) })
    const handler = logRequests(logger, { trustProxy: 0 })
    const { port } = await serve((req, res) =>
      handler(req, res, () =>
        res.writeHead(200, { 'Content-Type': req.headers.accept ?? '' }).write('data: 1\n\n'),
      ),
    )
    const openAndClose = async (accept: string) => {
      const controller = new AbortController()
      const response = await fetch(`http://127.0.0.1:${port}/`, {
        headers: { accept },
        signal: controller.signal,
      })
      await response.body?.getReader().read()
      controller.abort()
    }
    await openAndClose('text/event-stream; charset=utf-8')
    await expect.poll(() => lines).toHaveLength(1)
    await openAndClose('application/json')
    await expect.poll(() => lines).toHaveLength(2)
    expect(lines.map(({ level, aborted }) => [level, aborted])).toEqual([
      [30, undefined],
      [40, true],
    ])
  })

  test('one line per request, without tokens, queries and bodies', async () => {
    const { port, lines, records } = await start()
    await request(
      port,
      'POST',
      "/odata/Property('K')?access_token=TOKEN-IN-URL&$top=1",
      { Authorization: 'Bearer TOKEN', 'Content-Type': 'application/json' },
      '{"a":"BODY"}',
    )
    await request(port, 'GET', 'http://user:TOKEN@host/odata?x')
    expect(records()).toMatchObject([
      {
        level: 30,
        msg: 'request',
        method: 'POST',
        path: "/odata/Property('K')",
        queryLength: 32,
        status: 200,
        ms: expect.any(Number),
        bytes: expect.any(Number),
        id: expect.any(String),
      },
      { path: '/odata', queryLength: 1 },
    ])
    expect(records()[0].bytes).toBeGreaterThan(0)
    expect(lines.join()).not.toMatch(/TOKEN|BODY/)
  })

  test('a well-formed id of the client is used, otherwise one is created', async () => {
    const { port, records } = await start()
    const kept = await request(port, 'GET', '/', { 'X-Request-Id': '0190c5b4-7e1f-trace.1' })
    expect(kept.headers['x-request-id']).toBe('0190c5b4-7e1f-trace.1')
    for (const sent of ['short', 'x'.repeat(200), 'with blank in it', '{"level":60}']) {
      const made = (await request(port, 'GET', '/', { 'X-Request-Id': sent })).headers['x-request-id']
      expect(made).toMatch(/^[0-9a-f-]{36}$/)
      expect(records().at(-1).id).toBe(made)
    }
  })

  test.each([
    [200, 30],
    [404, 40],
    [501, 40],
    [503, 50],
  ])('status %d has level %d', async (status, level) => {
    const { port, records } = await start(status)
    await request(port, 'GET', '/odata')
    expect(records()[0].level).toBe(level)
    expect(records()[0].reason).toBe(status === 503 ? 'connect ECONNREFUSED' : undefined)
  })

  test('probes are logged at a low level', async () => {
    const { port, records } = await start()
    await request(port, 'GET', '/health/live')
    expect(records()[0].level).toBe(20)
  })
})
