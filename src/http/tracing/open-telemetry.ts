import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { type Attributes, type Context, ROOT_CONTEXT, SpanKind, trace } from '@opentelemetry/api'
import { ExportResultCode, parseTraceParent } from '@opentelemetry/core'
import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BasicTracerProvider, BatchSpanProcessor, type SpanExporter } from '@opentelemetry/sdk-trace-base'
import type { Logger } from 'pino'
import { messageOf } from '../../errors/problem.js'
import { descriptionOf, isAborted, splitTarget } from '../log.js'
import { createRouteReader } from '../metrics/route.js'
import { addStageListener, setOperationListenerFactory } from '../timing/stage-listeners.js'
import { RequestSampler } from './request-sampler.js'
import { RequestSpan, type SpanDependencies, setFailure } from './request-span.js'
import type { TraceSettings } from './trace-settings.js'
import type { TracedDelivery, Tracing, TracingOptions } from './tracing.js'

// The only module that loads OpenTelemetry, with those that it imports.

const SERVICE_NAME = 'listing-service'
/** Maximum time for the last export when the service stops, in ms. */
const CLOSE_TIMEOUT_MS = 2000
/** Failed exports are logged at most once in this time, in ms. */
const REPORT_INTERVAL_MS = 60_000
/** Methods that a span names (OpenTelemetry, HTTP spans). Others are `_OTHER`, and `HTTP` in the name of the span. */
const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH'])

/** Opens the exporter that the standard variables describe. It reads those of the endpoint and the queue itself. */
export async function openExport(settings: TraceSettings, options: TracingOptions): Promise<Tracing> {
  const { OTLPTraceExporter } =
    settings.protocol === 'http/json'
      ? await import('@opentelemetry/exporter-trace-otlp-http')
      : await import('@opentelemetry/exporter-trace-otlp-proto')
  const provider = new BasicTracerProvider({
    resource: createResource(),
    sampler: new RequestSampler(settings.sampling),
    spanProcessors: [new BatchSpanProcessor(reportFailures(new OTLPTraceExporter(), options.logger))],
  })
  options.logger.info({ protocol: settings.protocol, ...settings.sampling }, 'traces are exported')
  return new OpenTelemetryTracing(provider, options)
}

/** The service, as OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES describe it. */
const createResource = (): Resource =>
  defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SERVICE_NAME, 'process.pid': process.pid }))
    .merge(detectResources({ detectors: [envDetector] }))

/** Logs exports that fail. Their spans are lost. */
function reportFailures(exporter: SpanExporter, logger: Logger): SpanExporter {
  let reportedAt = Number.NEGATIVE_INFINITY
  const report = (error: Error | undefined): void => {
    if (performance.now() - reportedAt < REPORT_INTERVAL_MS) return
    reportedAt = performance.now()
    logger.warn({ cause: error && messageOf(error) }, 'traces were not exported')
  }
  return {
    export: (spans, onResult) =>
      exporter.export(spans, result => {
        if (result.code !== ExportResultCode.SUCCESS) report(result.error)
        onResult(result)
      }),
    shutdown: () => exporter.shutdown(),
    ...(exporter.forceFlush && { forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve() }),
  }
}

/** Traces by OpenTelemetry, with the attributes of its semantic conventions. No attribute is part of a URL. */
class OpenTelemetryTracing implements Tracing {
  readonly #provider: BasicTracerProvider
  readonly #dependencies: SpanDependencies
  readonly #readRoute: ReturnType<typeof createRouteReader>
  readonly #scheme: string

  constructor(provider: BasicTracerProvider, { databaseName, entitySets, https }: TracingOptions) {
    this.#provider = provider
    this.#dependencies = { tracer: provider.getTracer(SERVICE_NAME), databaseName }
    this.#readRoute = createRouteReader(entitySets)
    this.#scheme = https ? 'https' : 'http'
    this.traceRequest = this.traceRequest.bind(this)
  }

  traceRequest(req: IncomingMessage, res: ServerResponse, next: () => void): void {
    const { path } = splitTarget(req.url ?? '')
    if (!path.startsWith('/health/')) this.#startRequest(req, res, this.#readRoute(path).template)
    next()
  }

  traceConnection(req: IncomingMessage): void {
    const parent = readParent(req)
    setOperationListenerFactory(req, description => {
      const attributes = { ...toAttributes(description), 'network.protocol.name': 'websocket' }
      const span = new RequestSpan(this.#dependencies, { name: 'GraphQL operation', parent, attributes })
      description.trace_id = span.traceId
      return span
    })
  }

  addDelivery({ durationMs, ...delivery }: TracedDelivery): string {
    const endTime = Date.now()
    const attributes = {
      'http.request.method': 'POST',
      'http.request.resend_count': delivery.attempt - 1,
      'server.address': delivery.host,
      'messaging.batch.message_count': delivery.events,
      'listing.webhook': delivery.webhookId,
      'listing.client': delivery.clientId,
      ...(delivery.status !== undefined && { 'http.response.status_code': delivery.status }),
    }
    const options = { kind: SpanKind.CLIENT, startTime: endTime - durationMs, attributes }
    const span = this.#dependencies.tracer.startSpan('POST webhook', options, ROOT_CONTEXT)
    if (!delivery.isDelivered) setFailure(span, String(delivery.status ?? 'no answer'))
    span.end(endTime)
    return span.spanContext().traceId
  }

  async close(): Promise<void> {
    const timeout = new AbortController()
    const closed = this.#provider.shutdown().catch(() => undefined)
    await Promise.race([closed, wait(CLOSE_TIMEOUT_MS, undefined, { signal: timeout.signal })])
    timeout.abort()
  }

  #startRequest(req: IncomingMessage, res: ServerResponse, route: string | undefined): void {
    const { method = '' } = req
    const isKnown = METHODS.has(method)
    const name = isKnown ? method : 'HTTP'
    const span = new RequestSpan(this.#dependencies, {
      name: route === undefined ? name : `${name} ${route}`,
      parent: readParent(req),
      attributes: {
        'http.request.method': isKnown ? method : '_OTHER',
        'url.scheme': this.#scheme,
        ...(route !== undefined && { 'http.route': route }),
      },
    })
    descriptionOf(req).trace_id = span.traceId
    if (!span.isRecording) return
    addStageListener(req, span)
    res.on('close', () => {
      const { statusCode } = res
      const attributes = { 'http.response.status_code': statusCode, ...toAttributes(descriptionOf(req)) }
      const failure = statusCode >= 500 ? String(statusCode) : undefined
      span.end({ ...attributes, ...(isAborted(res) && { 'listing.aborted': true }) }, failure)
    })
  }
}

/** Returns the parts of a log line that a trace names too. */
function toAttributes({ id, client, feed, operation }: ReturnType<typeof descriptionOf>): Attributes {
  return {
    ...(id !== undefined && { 'listing.request_id': id }),
    ...(client !== undefined && { 'listing.client': client }),
    ...(feed !== undefined && { 'listing.feed': feed }),
    ...(operation !== undefined && { 'listing.operation': operation }),
  }
}

/** Returns the context that `traceparent` of a request names. The header tracestate is not read. */
function readParent({ headers: { traceparent } }: IncomingMessage): Context {
  const parent = typeof traceparent === 'string' ? parseTraceParent(traceparent) : null
  return parent ? trace.setSpanContext(ROOT_CONTEXT, { ...parent, isRemote: true }) : ROOT_CONTEXT
}
