import { pino } from 'pino'
import { afterEach, expect, test, vi } from 'vitest'
import { openTracing } from '../../../../src/http/tracing/tracing.js'
import { startTraceReceiver } from '../../../support/clients/trace-receiver.js'

afterEach(() => vi.unstubAllEnvs())

const DELIVERY = {
  webhookId: 'W1',
  clientId: 'C1',
  host: 'receiver.example',
  status: 503,
  isDelivered: false,
  attempt: 2,
  events: 3,
  durationMs: 5,
}

/** Starts to export to a collector. The packages read the environment of the process. */
async function open(endpoint: string, variables: Readonly<Record<string, string>> = {}) {
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', endpoint)
  vi.stubEnv('OTEL_EXPORTER_OTLP_PROTOCOL', 'http/json')
  vi.stubEnv('OTEL_BSP_SCHEDULE_DELAY', '50')
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
  const lines: string[] = []
  const tracing = await openTracing(process.env, {
    databaseName: 'listings',
    entitySets: { listings: [], administration: [] },
    https: false,
    logger: pino({}, { write: (line: string) => void lines.push(line) }),
  })
  return { tracing, lines: (message: string) => lines.filter(line => line.includes(message)) }
}

test('a delivery that failed is exported as an error', async () => {
  const receiver = await startTraceReceiver()
  const { tracing } = await open(receiver.endpoint)
  const traceId = tracing?.addDelivery(DELIVERY)
  await tracing?.close()
  expect(receiver.spans).toMatchObject([
    {
      traceId,
      name: 'POST webhook',
      status: { code: 2 },
      attributes: { 'error.type': '503', 'http.request.resend_count': 1, 'messaging.batch.message_count': 3 },
    },
  ])
  receiver.close()
})

test.each([
  ['http://127.0.0.1:1', /ECONNREFUSED|time/i, '500'], // a slow machine may reach the limit of time first
  ['a collector that refuses', /Bad Request/, '10000'],
])(
  'OBS-14 failed exports to %s are reported once, and the end is not delayed',
  async (address, cause, timeout) => {
    const receiver = await startTraceReceiver(400)
    const { tracing, lines } = await open(address.startsWith('http') ? address : receiver.endpoint, {
      OTEL_EXPORTER_OTLP_TIMEOUT: timeout,
    })
    for (let i = 0; i < 2; i++) {
      tracing?.addDelivery(DELIVERY)
      await expect.poll(() => lines('traces were not exported'), { timeout: 20_000 }).toHaveLength(1)
    }
    expect(JSON.parse(lines('traces were not exported')[0] ?? '{}')).toMatchObject({
      cause: expect.stringMatching(cause),
    })
    const closingAt = performance.now()
    await tracing?.close()
    expect(performance.now() - closingAt).toBeLessThan(10_000)
    expect(lines('traces were not exported')).toHaveLength(1)
    receiver.close()
  },
)

test('OBS-14 with invalid variables the service starts without traces', async () => {
  const { tracing, lines } = await open('http://127.0.0.1:1', { OTEL_TRACES_SAMPLER: 'sometimes' })
  expect(tracing).toBeUndefined()
  expect(lines('no traces: OTEL_TRACES_SAMPLER')).toHaveLength(1)
})
