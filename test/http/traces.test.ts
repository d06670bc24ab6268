import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { importFile } from '../../src/data/import/import.js'
import { openSocketClient } from '../support/clients/subscriber.js'
import {
  type ReceivedSpan,
  startTraceReceiver,
  type TraceReceiver,
} from '../support/clients/trace-receiver.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { addWebhook, changeListing, webhookServiceOf } from '../webhooks/setting.js'

// OpenTelemetry: the service as a process, and a collector that takes OTLP/HTTP.

const FIXTURE = fileURLToPath(new URL('../cases/fixture.json', import.meta.url))
const CLIENT_TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const CLIENT_SPAN = '00f067aa0ba902b7'
const SERVER_KIND = 2
const CLIENT_KIND = 3
const ERROR_STATUS = 2
const POLL = { timeout: 40_000 }
const NAMES_QUERY =
  'query ListingNames($city: String) { properties(filter: { City: { eq: $city } }, first: 1) { nodes { ListingKey } } }'
const SECRET_CITY = 'Marked City'

const exporting = (endpoint: string, env: Readonly<Record<string, string>> = {}) => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
  OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
  OTEL_BSP_SCHEDULE_DELAY: '100',
  ...env,
})

describe.each(DATABASE_KINDS)('traces on the %s database', { timeout: 60_000 }, kind => {
  let receiver: TraceReceiver
  let place: TestEnvironment
  let service: StartedService
  let isRemoved = false
  beforeAll(async () => {
    receiver = await startTraceReceiver()
    place = await createTestEnvironment(kind)
    const env = {
      OTEL_SERVICE_NAME: 'listings of the tests',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    }
    service = await startService(
      place,
      exporting(receiver.endpoint, { ...env, LOG_LEVEL: 'debug', WEBHOOK_PRIVATE_ADDRESSES: 'on' }),
    )
  }, 240_000)
  afterAll(async () => {
    service?.process.child.kill('SIGKILL')
    await service?.process.exit
    if (!isRemoved) await place?.remove()
    receiver?.close()
  })

  /** Sends a request with a trace of its own. Returns the spans of the trace once the one of the request is there. */
  async function traceOf(traceId: string, send: () => Promise<unknown>): Promise<readonly ReceivedSpan[]> {
    await send()
    const found = () => receiver.spans.filter(span => span.traceId === traceId)
    await expect.poll(() => found().some(({ kind }) => kind === SERVER_KIND), POLL).toBe(true)
    return found()
  }
  let traceCount = 0
  const newTraceId = () => (++traceCount).toString(16).padStart(32, 'a')
  const get = (traceId: string, path: string, headers: Readonly<Record<string, string | null>> = {}) =>
    traceOf(traceId, () =>
      service.send(path, { headers: { traceparent: `00-${traceId}-${CLIENT_SPAN}-01`, ...headers } }),
    )
  const post = (traceId: string, path: string, body: unknown) =>
    traceOf(traceId, () =>
      service.send(path, {
        method: 'POST',
        headers: { traceparent: `00-${traceId}-${CLIENT_SPAN}-01` },
        body,
      }),
    )
  const serverSpanOf = (spans: readonly ReceivedSpan[]) => spans.find(span => span.kind === SERVER_KIND)

  test('a read by OData has a span with its route and status, and its stages below', async () => {
    const path = `/odata/Property?$filter=City eq '${SECRET_CITY}'&$top=1`
    const spans = await get(CLIENT_TRACE, path)
    const server = serverSpanOf(spans)
    expect(server).toMatchObject({ name: 'GET /odata/Property', parentSpanId: CLIENT_SPAN })
    expect(server?.status.code ?? 0).toBe(0)
    expect(server?.attributes).toMatchObject({
      'http.request.method': 'GET',
      'http.route': '/odata/Property',
      'http.response.status_code': 200,
      'url.scheme': 'http',
      'listing.operation': 'Property records',
    })
    const children = spans.filter(span => span.parentSpanId === server?.spanId)
    expect(children.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['parse', 'plan', 'SELECT Property']),
    )
    const statement = children.find(({ name }) => name === 'SELECT Property')
    expect(statement?.kind).toBe(CLIENT_KIND)
    expect(statement?.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.namespace': expect.stringMatching(kind === 'server' ? /^listing_/ : /^postgres$/),
      'db.query.summary': 'SELECT Property',
    })
    for (const { startTimeUnixNano, endTimeUnixNano } of children) {
      expect(BigInt(startTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(server?.startTimeUnixNano ?? 0))
      expect(BigInt(endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(startTimeUnixNano))
      expect(BigInt(endTimeUnixNano)).toBeLessThanOrEqual(BigInt(server?.endTimeUnixNano ?? 0))
    }
    expect(receiver.resource()).toMatchObject({
      'service.name': 'listings of the tests',
      'deployment.environment.name': 'test',
    })
  })

  test('a GraphQL operation has its name and type', async () => {
    const traceId = newTraceId()
    const body = { query: NAMES_QUERY, variables: { city: SECRET_CITY } }
    const spans = await post(traceId, '/graphql', body)
    expect(serverSpanOf(spans)).toMatchObject({
      name: 'POST /graphql',
      attributes: {
        'http.route': '/graphql',
        'http.response.status_code': 200,
        'graphql.operation.name': 'ListingNames',
        'graphql.operation.type': 'query',
      },
    })
    expect(spans.map(({ name }) => name)).toEqual(expect.arrayContaining(['parse', 'SELECT Property']))
  })

  test('an operation on a WebSocket has a trace of its own', async () => {
    const client = openSocketClient(service.base, FULL_ACCESS_TOKEN)
    const results = client.iterate({ query: 'query Counted { properties { totalCount } }' })
    expect((await results.next()).value).toMatchObject({ data: { properties: { totalCount: 0 } } })
    await client.dispose()
    const found = () => receiver.spans.find(span => span.attributes['graphql.operation.name'] === 'Counted')
    await expect.poll(found, POLL).toMatchObject({ name: 'GraphQL operation', kind: SERVER_KIND })
    const line = await logLineOf(text => text.includes('"msg":"operation"'))
    expect(line).toMatchObject({ operation: 'Counted', trace_id: found()?.traceId })
  })

  test('a delivery of a webhook has a trace, which its log line names', async () => {
    const database = await place.connect()
    const webhook = await addWebhook(database)
    await importFile(database, FIXTURE)
    await changeListing(database, 'P01')
    const found = () => receiver.spans.find(span => span.attributes['listing.webhook'] === webhook.id)
    await expect.poll(found, POLL).toMatchObject({
      name: 'POST webhook',
      kind: CLIENT_KIND,
      attributes: {
        'http.request.method': 'POST',
        'http.response.status_code': 204,
        'http.request.resend_count': 0,
        'listing.client': webhook.clientId,
        'server.address': '127.0.0.1',
      },
    })
    const line = await logLineOf(text => text.includes(found()?.traceId ?? 'no trace'))
    expect(line).toMatchObject({ msg: 'webhook', webhook: webhook.id })
    await webhookServiceOf(database).remove(webhook.id)
    await webhook.receiver.close()
    await database.close()
  })

  test('a refused request is no error of the service, and its path is not shown', async () => {
    const unknown = newTraceId()
    const record = serverSpanOf(await get(unknown, "/odata/Property('none')"))
    expect(record).toMatchObject({
      name: 'GET /odata/Property({key})',
      attributes: { 'http.route': '/odata/Property({key})', 'http.response.status_code': 404 },
    })
    const refused = serverSpanOf(await get(newTraceId(), '/odata/Property', { Authorization: null }))
    expect(refused?.attributes).toMatchObject({ 'http.response.status_code': 401 })
    const other = serverSpanOf(await get(newTraceId(), '/wp-admin/1'))
    expect(other).toMatchObject({ name: 'GET', attributes: { 'http.response.status_code': 404 } })
    expect(other?.attributes).not.toHaveProperty('http.route')
    for (const span of [record, refused, other]) expect(span?.status.code ?? 0).toBe(0)
    const line = await logLineOf(text => text.includes(unknown))
    expect(line).toMatchObject({ msg: 'request', trace_id: unknown, status: 404 })
  })

  test('OBS-14 a malformed or huge traceparent starts a trace of its own; probes have none', async () => {
    const before = receiver.spans.length
    for (const traceparent of [`00-${'0'.repeat(32)}-${CLIENT_SPAN}-01`, 'x'.repeat(10_000), 'a, b'])
      expect((await service.send('/odata/$metadata', { headers: { traceparent } })).status).toBe(200)
    await service.send('/health/live', { headers: { traceparent: `00-${newTraceId()}-${CLIENT_SPAN}-01` } })
    await get(newTraceId(), '/odata/')
    const metadata = receiver.spans.slice(before).filter(({ name }) => name === 'GET /odata/$metadata')
    expect(metadata).toHaveLength(3)
    for (const span of metadata) expect(span.parentSpanId ?? '').toBe('')
    expect(receiver.text()).not.toContain('/health')
  })

  test('an export has one span, with all statements below', async () => {
    const exported = await get(newTraceId(), '/odata/Property', { Accept: 'application/x-ndjson' })
    expect(serverSpanOf(exported)).toMatchObject({ name: 'GET /odata/Property' })
    expect(exported.filter(({ name }) => name === 'SELECT Property').length).toBeGreaterThan(0)
  })

  test('each request of a batch has a span, with its statements below, and so has a change set', async () => {
    const change = (id: string) => ({ id, atomicityGroup: 'g', method: 'DELETE', url: `Property('${id}')` })
    const requests = [
      { id: '1', method: 'GET', url: 'Property?$top=1' },
      { id: '2', method: 'GET', url: 'Office/$count' },
      change('none1'),
      change('none2'),
    ]
    const spans = await post(newTraceId(), '/odata/$batch', { requests })
    const server = serverSpanOf(spans)
    expect(server).toMatchObject({ name: 'POST /odata/$batch' })
    const childrenOf = (parent: ReceivedSpan | undefined) =>
      spans.filter(({ parentSpanId }) => parentSpanId === parent?.spanId)
    const steps = childrenOf(server).filter(({ attributes }) => attributes['listing.requests'] !== undefined)
    expect(
      steps.map(({ name, attributes }) => [
        name,
        attributes['http.response.status_code'],
        attributes['listing.requests'],
      ]),
    ).toEqual([
      ['Property records', 200, 1],
      ['Office count', 200, 1],
      ['change set', 424, 2],
    ])
    const [records, count] = steps
    expect(childrenOf(records).map(({ name }) => name)).toContain('SELECT Property')
    expect(childrenOf(count).map(({ name }) => name)).toContain('SELECT Office')
  })

  test('OBS-02 spans show no token, no URL and no value', async () => {
    await get(newTraceId(), `/odata/Property?access_token=${FULL_ACCESS_TOKEN}`)
    await get(newTraceId(), `/odata/${FULL_ACCESS_TOKEN}`)
    await get(newTraceId(), `/odata/Property('${SECRET_CITY}')`)
    const secrets = [
      FULL_ACCESS_TOKEN.split('.')[2] ?? '',
      SECRET_CITY,
      encodeURIComponent(SECRET_CITY),
      'access_token',
    ]
    for (const secret of secrets) expect(receiver.text()).not.toContain(secret)
  })

  test.runIf(kind === 'server')(
    'an unavailable database is an error, and the rest is exported at the end',
    async () => {
      await place.remove()
      isRemoved = true
      const server = serverSpanOf(await get(newTraceId(), '/odata/Property?$top=1'))
      expect(server).toMatchObject({
        status: { code: ERROR_STATUS },
        attributes: { 'http.response.status_code': 503, 'error.type': '503' },
      })
    },
  )

  /** Waits for a line of the log. */
  async function logLineOf(isWanted: (text: string) => boolean): Promise<unknown> {
    const find = () => service.process.output.out.split('\n').find(isWanted)
    await expect.poll(find, POLL).toBeDefined()
    return JSON.parse(find() ?? '{}')
  }
})

describe('the start and the end of tracing', { timeout: 240_000 }, () => {
  const started: StartedService[] = []
  let place: TestEnvironment
  beforeAll(async () => {
    place = await createTestEnvironment(DATABASE_KINDS[0] ?? 'embedded')
  })
  afterAll(async () => {
    for (const { process } of started) {
      process.child.kill('SIGKILL')
      await process.exit
    }
    await place?.remove()
  })
  async function start(env: Readonly<Record<string, string>>): Promise<StartedService> {
    const service = await startService(place, env)
    started.push(service)
    return service
  }

  test('OBS-14 spans that wait are exported at the end; a parent that is not sampled is followed', async () => {
    const receiver = await startTraceReceiver()
    const service = await start(exporting(receiver.endpoint, { OTEL_BSP_SCHEDULE_DELAY: '600000' }))
    const [sampled, unsampled] = ['a', 'b'].map(digit => digit.repeat(32))
    for (const traceparent of [`00-${sampled}-${CLIENT_SPAN}-01`, `00-${unsampled}-${CLIENT_SPAN}-00`])
      await service.send('/odata/Property', { headers: { traceparent } })
    expect(receiver.spans).toEqual([])
    expect(await service.stop('SIGTERM')).toBe(0)
    await expect.poll(() => receiver.spans.some(({ traceId }) => traceId === sampled), POLL).toBe(true)
    expect(receiver.text()).not.toContain(unsampled)
    receiver.close()
  })

  test('OBS-14 without the packages the service runs, and logs one line about them', async () => {
    const hidden = `export const resolve = (name, context, next) => {
      if (!name.startsWith('@opentelemetry/')) return next(name, context)
      throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' })
    }`
    const register = `import { register } from 'node:module'; register(${JSON.stringify(`data:text/javascript,${encodeURIComponent(hidden)}`)})`
    const service = await start({
      ...exporting('http://127.0.0.1:9'),
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(register)}`,
    })
    expect((await service.send('/odata/Property')).status).toBe(200)
    expect(await service.stop('SIGTERM')).toBe(0)
    const lines = service.process.output.out.split('\n').filter(line => line.includes('no traces'))
    expect(lines).toEqual([expect.stringContaining('npm install --include=optional')])
    expect(service.process.output.out).not.toContain('trace_id')
  })
})
