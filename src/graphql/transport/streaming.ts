import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RequestHandler } from 'express'
import type { ChangeService } from '../../service/changes.js'
import {
  StreamingOperations,
  type StreamingOperationsDependencies,
} from '../subscribe/streaming-operations.js'
import type { GraphQLEngine } from './handler.js'
import { createEventStreamHandler, type EventStreamDependencies } from './sse.js'
import { GraphQLWebSocketServer, type WebSocketServerDependencies } from './websocket-server.js'

/** Dependencies of the long-lived transports. */
export interface StreamingDependencies
  extends Omit<WebSocketServerDependencies & EventStreamDependencies, 'operations' | 'schema' | 'config'> {
  readonly engine: GraphQLEngine
  readonly changes: ChangeService
  readonly config: WebSocketServerDependencies['config'] &
    EventStreamDependencies['config'] &
    StreamingOperationsDependencies['config']
}

/** Operations over WebSockets and event streams. */
export interface StreamingTransports {
  /** Runs before the handlers of other requests. */
  readonly handleEventStream: RequestHandler
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

export function serveStreaming({ engine, changes, ...parts }: StreamingDependencies): StreamingTransports {
  const { schema, executor, documents, checkDocumentLimits, limits, model } = engine
  const operations = new StreamingOperations({
    schema,
    executor,
    documents,
    checkDocumentLimits,
    port: { changes, limits, model },
    config: parts.config,
  })
  const webSockets = new GraphQLWebSocketServer({ ...parts, schema, operations })
  return {
    handleEventStream: createEventStreamHandler({ ...parts, operations }),
    upgrade: (req, socket, head) => webSockets.upgrade(req, socket, head),
    close() {
      // WebSockets close first. Their close code shows clients that the service stops, not that their
      // subscription has ended.
      webSockets.close()
      operations.close()
    },
  }
}
