import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { RequestHandler } from 'express'
import type { Following } from '../../service/changes.js'
import { Live, type LiveParts } from '../subscribe/operations.js'
import type { Engine } from './handler.js'
import { type StreamParts, streamEvents } from './sse.js'
import { type SocketParts, SocketServer } from './websocket-server.js'

/** What long-lived answers are made of. */
export interface LongLivedParts extends Omit<SocketParts & StreamParts, 'live' | 'schema' | 'config'> {
  readonly engine: Engine
  readonly following: Following
  readonly config: SocketParts['config'] & StreamParts['config'] & LiveParts['config']
}

/** Operations over WebSockets and event streams. */
export interface LongLivedGraphQL {
  /** Stands before the handlers of other requests. */
  readonly streamEvents: RequestHandler
  upgrade(req: IncomingMessage, socket: Duplex, head: Buffer): void
  close(): void
}

export function serveLongLived({ engine, following, ...parts }: LongLivedParts): LongLivedGraphQL {
  const { schema, executor, screen, limits } = engine
  const live = new Live({ schema, executor, screen, port: { following, limits }, config: parts.config })
  const sockets = new SocketServer({ ...parts, schema, live })
  return {
    streamEvents: streamEvents({ ...parts, live }),
    upgrade: (req, socket, head) => sockets.upgrade(req, socket, head),
    close() {
      // Clients are told first that it is the service that goes, not the subscription that has ended.
      sockets.close()
      live.close()
    },
  }
}
