import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RunningServer, startServer } from '../../src/app.js'
import { readConfig } from '../../src/config/config.js'
import type { Database } from '../../src/data/database.js'
import { createSender, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, clientServiceOf, freePort, READING_CLIENT, type TestClient } from '../support/partners.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { webhookServiceOf } from '../webhooks/setting.js'

// Metrics for Prometheus, and deploy/grafana-dashboard.json. promtool and prometheus check them where they are
// installed.

/** The table of metrics in the docs: name, and the labels it may have. A name that ends in … is a prefix. */
const DOCUMENTED = readDocumentedMetrics(
  readFileSync(new URL('../../docs/operations.md', import.meta.url), 'utf8'),
)

interface Panel {
  readonly title: string
  readonly targets: readonly { readonly expr: string }[]
}

const QUERIES = (
  JSON.parse(readFileSync(new URL('../../deploy/grafana-dashboard.json', import.meta.url), 'utf8')) as {
    readonly panels: readonly Panel[]
  }
).panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const))
const SECRET_PARTS = [FULL_ACCESS_TOKEN, FULL_ACCESS_TOKEN.split('.')[2] ?? '', 'a secret of the tests']

const findProgram = (name: string): string | undefined =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map(folder => join(folder, name))
    .find(path => {
      try {
        accessSync(path, constants.X_OK)
        return true
      } catch {
        return false
      }
    })
const PROMTOOL = findProgram('promtool')
const PROMETHEUS = findProgram('prometheus')

const scrape = (port: number | undefined, init?: RequestInit) =>
  fetch(`http://127.0.0.1:${port}/metrics`, init)
const scrapeText = async (port: number | undefined) => (await scrape(port)).text()

/** The series of a scrape: name with labels, and value. */
const seriesOf = (text: string): ReadonlyMap<string, number> =>
  new Map(
    text
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
      .map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  )

/** The metrics of a scrape, with the labels that their series have. */
function metricsOf(text: string): ReadonlyMap<string, ReadonlySet<string>> {
  const names = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name)
  const keys = [...seriesOf(text).keys()]
  return new Map(
    names.map(name => [
      name,
      new Set(
        keys
          .filter(key => new RegExp(`^${name}(_bucket|_sum|_count)?(\\{|$)`).test(key))
          .flatMap(key => [...key.matchAll(/(\w+)="/g)].map(([, label = '']) => label))
          .filter(label => label !== 'le'),
      ),
    ]),
  )
}

function readDocumentedMetrics(page: string): ReadonlyMap<string, readonly string[]> {
  const [, table = ''] = /\n## Metrics\n.*?\n\|---\|---\|---\|\n(.*?)\n\n/s.exec(page) ?? []
  return new Map(
    table.split('\n').flatMap(row => {
      const [, names = '', labels = ''] = row.split('|')
      const ofMetric = labels.trim() === '' ? [] : labels.trim().split(', ')
      return [...names.matchAll(/`([^`]+)`/g)].map(([, name = '']) => [name, ofMetric] as const)
    }),
  )
}

const countOf = (series: ReadonlyMap<string, number>, labels: string) =>
  series.get(`listing_http_request_duration_seconds_count{${labels}}`)

/** A scrape during which the database has answered in time. */
async function completeScrape(port: number | undefined): Promise<string> {
  let text = ''
  await expect
    .poll(async () => {
      text = await scrapeText(port)
      return ['listing_log_position ', 'listing_webhooks{', 'listing_import_records_total{'].filter(
        name => !text.includes(`\n${name}`),
      )
    })
    .toEqual([])
  return text
}

describe.each(DATABASE_KINDS)('metrics on the %s database', kind => {
  let place: TestEnvironment
  let server: RunningServer
  let send: TestApp['send']
  let partner: Partner
  beforeAll(async () => {
    place = await createTestEnvironment(kind)
    const config = readConfig({
      ...place.env,
      SAMPLE_DATA: 'on',
      PORT: '0',
      METRICS_PORT: '0',
      METRICS_CLIENTS: 'on',
      WEBHOOK_PRIVATE_ADDRESSES: 'on',
    })
    server = await startServer(config, pino({ level: 'silent' }), () => undefined)
    send = createSender(`http://127.0.0.1:${server.port}`, `Bearer ${FULL_ACCESS_TOKEN}`)
    const database = await place.connect()
    partner = await addPartner(database)
    await database.close()
  }, 120_000)
  afterAll(async () => {
    await server?.close()
    await place?.remove()
  })

  test('requests by adapter, entity, route and status; rows; pools; plan cache; log', async () => {
    for (const path of [
      '/odata/Property?$top=3',
      '/odata/Property?$top=3',
      "/odata/Property('none')",
      '/odata/Media/$count',
    ])
      await send(path)
    await send('/graphql', {
      method: 'POST',
      body: { query: '{ properties(first: 2) { nodes { ListingKey } } }' },
    })
    await send('/health/live')
    // A request is observed once its response has been written to the connection.
    const graphql = 'adapter="graphql",entity="",route="operation",status="200"'
    await expect.poll(async () => countOf(seriesOf(await scrapeText(server.metricsPort)), graphql)).toBe(1)
    const series = seriesOf(await completeScrape(server.metricsPort))
    expect(countOf(series, 'adapter="odata",entity="Property",route="collection",status="200"')).toBe(2)
    expect(countOf(series, 'adapter="odata",entity="Property",route="record",status="404"')).toBe(1)
    expect(countOf(series, 'adapter="odata",entity="Media",route="count",status="200"')).toBe(1)
    expect([...series.keys()].filter(name => name.includes('health'))).toEqual([])
    expect(series.get('listing_rows_total{entity="Property"}')).toBe(8)
    expect(series.get('listing_pool_size_connections{pool="custom"}')).toBeGreaterThan(0)
    expect(series.get('listing_pool_used_connections{pool="custom"}')).toBe(0)
    expect(series.get('listing_log_position')).toBeGreaterThan(500)
    expect(series.get('listing_subscriptions')).toBe(0)
    expect(series.get('listing_subscriptions_behind{events="1"}')).toBe(0)
    expect(series.get('listing_statement_duration_seconds_count')).toBeGreaterThan(3)
    expect(series.get('listing_lock_wait_seconds_total')).toBe(0)
    expect(series.get('listing_timeouts_total{wait="connection"}')).toBe(0)
    expect([...series.keys()].some(name => name.startsWith('listing_plan_cache_hits_total{'))).toBe(true)
    expect(series.get('process_resident_memory_bytes')).toBeGreaterThan(0)
  })

  test('a client by its id, its limits, its webhook, and an import', async () => {
    const { client } = partner
    const headers = { Authorization: basic(client) }
    // A process reads a new client within two seconds.
    await expect.poll(async () => (await send('/odata/', { headers })).status).not.toBe(401)
    await expect.poll(async () => (await send('/odata/', { headers })).status).toBe(429)
    const read = async () => seriesOf(await scrapeText(server.metricsPort))
    const labels = `class="public",client="${client.id}"`
    await expect
      .poll(async () => (await read()).get(`listing_client_requests_total{${labels}}`))
      .toBeGreaterThan(1)
    await expect
      .poll(async () =>
        (await read()).get(`listing_limit_refusals_total{limit="requestsPerMinute",${labels}}`),
      )
      .toBeGreaterThan(0)
    await expect
      .poll(async () => (await read()).get('listing_webhook_attempts_total{result="failed"}'))
      .toBeGreaterThan(0)
    const series = seriesOf(await completeScrape(server.metricsPort))
    expect(series.get('listing_webhooks{state="active"}')).toBe(1)
    expect(series.get(`listing_webhook_lag_events{webhook="${partner.webhookId}"}`)).toBeGreaterThan(0)
    // The sample listings of the start were imported.
    expect(series.get('listing_import_records_total{entity="Property",change="created"}')).toBe(500)
    expect(series.get('listing_import_last_change_timestamp_seconds{entity="Property"}')).toBeGreaterThan(
      1.7e9,
    )
  })

  test('the docs list every metric with its labels, and no other', async () => {
    const printed = metricsOf(await completeScrape(server.metricsPort))
    const isPrefix = (name: string) => name.endsWith('…')
    const prefixes = [...DOCUMENTED.keys()].filter(isPrefix).map(name => name.slice(0, -1))
    const own = [...printed].filter(([name]) => !prefixes.some(prefix => name.startsWith(prefix)))
    expect(own.map(([name]) => name).toSorted()).toEqual(
      [...DOCUMENTED.keys()].filter(name => !isPrefix(name)).toSorted(),
    )
    for (const prefix of prefixes) expect([...printed.keys()].join()).toContain(prefix)
    // Each has a series by now.
    for (const [name, labels] of own)
      expect([name, [...labels].toSorted()]).toEqual([name, DOCUMENTED.get(name)?.toSorted()])
  })

  test('OBS-01 requests without a token cannot add series', async () => {
    const strange = (i: number) => [
      `/wp-admin/${i}`, `/odata/Stranger${i}`, `/odata/Property('${i}')`, `/odata/Property?x${i}=1`, `/graphql/${i}`,
    ] // biome-ignore format: paths
    const visit = async (from: number) => {
      for (let i = from; i < from + 5; i++)
        for (const path of strange(i)) {
          await send(path)
          await send(path, { headers: { Authorization: null } })
        }
      await send('/odata/Property', { method: `PURGE` })
    }
    // Those of Node.js have a series for each kind of garbage collection that has run.
    const ownSeries = async () =>
      [...seriesOf(await completeScrape(server.metricsPort)).keys()].filter(name =>
        name.startsWith('listing_'),
      )
    for (const from of [0, 50]) await visit(from) // the last request of a visit may not be observed yet
    const before = await ownSeries()
    await visit(100)
    expect(await ownSeries()).toEqual(before)
  })

  test('OBS-03 are on a port of their own only, for GET and HEAD', async () => {
    const onPublicPort = await send('/metrics')
    expect(onPublicPort.status).toBe(404)
    const head = await scrape(server.metricsPort, { method: 'HEAD' })
    expect([head.status, head.headers.get('content-type')]).toEqual([
      200,
      'text/plain; version=0.0.4; charset=utf-8',
    ])
    expect((await scrape(server.metricsPort, { method: 'POST' })).status).toBe(405)
    expect((await fetch(`http://127.0.0.1:${server.metricsPort}/odata/Property`)).status).toBe(404)
  })

  test('OBS-02 show no secret', async () => {
    await send(`/odata/Property?access_token=${FULL_ACCESS_TOKEN}`)
    await send(`/odata/${FULL_ACCESS_TOKEN}`)
    const text = await scrapeText(server.metricsPort)
    for (const secret of SECRET_PARTS) expect(text).not.toContain(secret)
  })

  test.runIf(PROMTOOL)('promtool reports no error', async () => {
    const input = await scrapeText(server.metricsPort)
    expect(execFileSync(PROMTOOL ?? '', ['check', 'metrics'], { input }).toString()).toBe('')
  })

  test('every query of the dashboard names metrics that exist', async () => {
    const names = new Set(
      [...seriesOf(await completeScrape(server.metricsPort)).keys()].map(key => key.split('{')[0]),
    )
    for (const [title, expr] of QUERIES)
      for (const name of expr.match(/\b(?:listing|process|nodejs)_\w+/g) ?? [])
        expect(names, title).toContain(name)
  })

  test.runIf(PROMETHEUS && kind === DATABASE_KINDS[0])(
    'every query of the dashboard returns data',
    { timeout: 120_000 },
    async () => {
      const prometheus = await startPrometheus(server.metricsPort ?? 0)
      try {
        const traffic = setInterval(() => void send('/odata/Property?$top=1'), 300)
        for (const [title, expr] of QUERIES)
          await expect
            .poll(() => prometheus.resultsOf(expr), {
              message: `${title}: ${expr}`,
              timeout: 60_000,
              interval: 1000,
            })
            .toBeGreaterThan(0)
        clearInterval(traffic)
      } finally {
        await prometheus.stop()
      }
    },
  )
})

describe.runIf(DATABASE_KINDS.includes('server'))('metrics of WORKERS', () => {
  test('are those of all workers together', { timeout: 120_000 }, async () => {
    const place = await createTestEnvironment('server')
    const service = await startService(place, { WORKERS: '2', METRICS_PORT: '0' })
    const port = Number(await service.process.waitForOutput(/"port":(\d+),"msg":"metrics"/))
    await service.process.waitForOutput(/("msg":"listening".*){2}/s)
    await Promise.all(Array.from({ length: 30 }, () => service.send('/odata/Property?$top=1')))
    const listings = 'adapter="odata",entity="Property",route="collection",status="200"'
    await expect.poll(async () => countOf(seriesOf(await scrapeText(port)), listings)).toBe(30)
    const series = seriesOf(await scrapeText(port))
    expect(series.get('listing_pool_size_connections{pool="custom"}')).toBe(10)
    expect(series.get('listing_log_position')).toBeGreaterThanOrEqual(0)
    // Without METRICS_CLIENTS no series names a client.
    expect(series.get('listing_client_requests_total{class="staff"}')).toBe(30)
    // OBS-05: without the database the position is absent, and the rest is answered.
    await place.remove()
    const withoutDatabase = seriesOf(await scrapeText(port))
    expect(countOf(withoutDatabase, listings)).toBe(30)
    expect(withoutDatabase.has('listing_log_position')).toBe(false)
    await service.stop('SIGTERM')
  })
})

/** A client with a limit, and a webhook of another client whose receiver does not answer. */
interface Partner {
  readonly client: TestClient
  readonly webhookId: string
}

async function addPartner(database: Database): Promise<Partner> {
  const clients = clientServiceOf(database)
  const { client, secret } = await clients.add({
    ...READING_CLIENT,
    Name: 'Limited',
    AudienceClass: 'public',
    RequestsPerMinute: 1,
  })
  const receiver = await clients.add({ ...READING_CLIENT, Name: 'Receiver' })
  const { webhook } = await webhookServiceOf(database).add({
    clientId: receiver.client.ClientId,
    url: `http://127.0.0.1:${await freePort()}/`,
    from: '0',
  })
  return { client: { id: client.ClientId, secret }, webhookId: webhook.WebhookId }
}

interface RunningPrometheus {
  /** Returns the number of series of a query result, or -1 for an error. */
  resultsOf(query: string): Promise<number>
  stop(): Promise<void>
}

async function startPrometheus(metricsPort: number): Promise<RunningPrometheus> {
  const folder = await mkdtemp(join(tmpdir(), 'listing-prometheus-'))
  const file = join(folder, 'prometheus.yml')
  await writeFile(
    file,
    `global: { scrape_interval: 1s, scrape_timeout: 1s }\nscrape_configs:\n  - job_name: listing\n    static_configs: [{ targets: ['127.0.0.1:${metricsPort}'] }]\n`,
  )
  const port = await freePort()
  const child: ChildProcess = spawn(
    PROMETHEUS ?? '',
    [`--config.file=${file}`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=127.0.0.1:${port}`],
    { stdio: 'ignore' },
  )
  const resultsOf = async (query: string): Promise<number> => {
    const url = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(query)}`
    const answer = (await fetch(url).then(
      response => response.json(),
      () => undefined,
    )) as { readonly data?: { readonly result: readonly unknown[] } } | undefined
    return answer?.data?.result.length ?? -1
  }
  const stop = async () => {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    await rm(folder, { recursive: true, force: true })
  }
  return { resultsOf, stop }
}
