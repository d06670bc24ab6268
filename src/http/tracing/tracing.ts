import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Logger } from 'pino'
import { messageOf } from '../../errors/problem.js'
import type { EntitySetNames } from '../metrics/route.js'
import { readTraceSettings } from './trace-settings.js'

/** An attempt to deliver a webhook. */
export interface TracedDelivery {
  readonly webhookId: string
  readonly clientId: string
  /** Name of the receiver. */
  readonly host: string
  readonly status: number | undefined
  readonly isDelivered: boolean
  readonly attempt: number
  readonly events: number
  readonly durationMs: number
}

/** Exports requests and deliveries as traces. */
export interface Tracing {
  /** Starts the span of a request. It ends with the response. */
  traceRequest(req: IncomingMessage, res: ServerResponse, next: () => void): void
  /** Prepares a WebSocket: each of its operations is a trace. */
  traceConnection(req: IncomingMessage): void
  /** Adds the trace of a delivery that has ended. Returns its id. */
  addDelivery(delivery: TracedDelivery): string
  /** Exports the remaining spans, within a limit of time. */
  close(): Promise<void>
}

/** The parts of the service that a trace names. */
export interface TracingOptions {
  /** Name of the database in PostgreSQL. */
  readonly databaseName: string | undefined
  readonly entitySets: EntitySetNames
  readonly https: boolean
  readonly logger: Logger
}

/**
 * Starts to export traces if the standard variables of OpenTelemetry ask for it. The packages are optional, and are
 * loaded only then. A setting that cannot be used costs the traces, not the start.
 */
export async function openTracing(
  env: NodeJS.ProcessEnv,
  options: TracingOptions,
): Promise<Tracing | undefined> {
  const { logger } = options
  const settings = readTraceSettings(env)
  if (!settings) return undefined
  if ('fault' in settings) {
    logger.warn(`no traces: ${settings.fault}`)
    return undefined
  }
  try {
    const { openExport } = await import('./open-telemetry.js')
    return await openExport(settings, options)
  } catch (error) {
    logger.warn(`no traces: ${describeFailure(error)}`)
    return undefined
  }
}

function describeFailure(error: unknown): string {
  const isAbsent = error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND'
  return isAbsent
    ? 'OpenTelemetry is configured, but its packages are not installed: npm install --include=optional'
    : messageOf(error)
}
