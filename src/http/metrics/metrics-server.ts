import cluster from 'node:cluster'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AggregatorRegistry, Registry } from 'prom-client'
import type { Config } from '../../config/config.js'

const METRICS_PATH = '/metrics'

/** Renders the metrics of one process, or the sums of all workers. */
type MetricsReader = () => Promise<string>

type MetricsServerSettings = Pick<Config, 'metricsHost' | 'metricsPort'>

/** The server of METRICS_PORT. */
export interface MetricsServer {
  readonly port: number
  close(): void
}

/** Returns the reader of one process. */
const readRegistry =
  (registry: Registry): MetricsReader =>
  () =>
    registry.metrics()

/**
 * Returns the reader of the supervisor of WORKERS, which requests the metrics of the workers and adds them
 * up.
 */
export function createClusterReader(): MetricsReader {
  const aggregator = new AggregatorRegistry()
  return () => aggregator.clusterMetrics()
}

/** Serves the metrics of this process, or lets the supervisor of the workers read them. */
export async function serveMetrics(
  registry: Registry,
  config: MetricsServerSettings,
): Promise<MetricsServer | undefined> {
  if (!cluster.isWorker) return startMetricsServer(config, readRegistry(registry))
  AggregatorRegistry.setRegistries([registry])
  new AggregatorRegistry() // its constructor listens to the supervisor
  return undefined
}

/**
 * Serves GET /metrics on METRICS_HOST and METRICS_PORT, without a token. Concurrent scrapes share one result.
 */
export async function startMetricsServer(
  { metricsHost: host, metricsPort: port }: MetricsServerSettings,
  read: MetricsReader,
): Promise<MetricsServer> {
  let pending: Promise<string> | undefined
  const readOnce: MetricsReader = () => {
    pending ??= read().finally(() => {
      pending = undefined
    })
    return pending
  }
  const server = createServer((req, res) => void respond(req, res, readOnce))
  await listen(server, host, port)
  return {
    port: (server.address() as AddressInfo).port, // of a TCP server
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function listen(server: Server, host: string, port: number | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    // `exclusive`: a worker would share the port with the others.
    server.listen({ host, port, exclusive: true }, () => resolve())
  })
}

async function respond(
  { method, url = '' }: IncomingMessage,
  res: ServerResponse,
  read: MetricsReader,
): Promise<void> {
  if (url.split('?')[0] !== METRICS_PATH) return void res.writeHead(404).end()
  if (method !== 'GET' && method !== 'HEAD') return void res.writeHead(405, { Allow: 'GET, HEAD' }).end()
  const text = await read().catch(() => undefined)
  if (text === undefined) return void res.writeHead(503, { 'Retry-After': '5' }).end()
  res
    .writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE, 'Cache-Control': 'no-store' })
    .end(text)
}
