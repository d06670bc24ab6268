import type { ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import { authenticateRequest } from '../../http/auth/authenticate-request.js'
import { authorizationHeaderOf } from '../../http/auth/authorization-header.js'
import type { TokenVerifier } from '../../http/auth/bearer.js'
import { watchTokenExpiry } from '../../http/auth/token-expiry.js'
import { negotiateMediaType } from '../../http/negotiate.js'
import { markEndless } from '../../http/pipeline.js'
import { openRequestScope } from '../../http/request-scope.js'
import { toGraphQLError } from '../errors.js'
import type { RawExecutionResult } from '../execute/executor.js'
import { renderResult } from '../execute/raw-json.js'
import { type StreamingOperations, withoutHttpStatus } from '../subscribe/streaming-operations.js'
import type { ResponseStream } from '../subscribe/subscribe.js'
import { type ContextDependencies, createContext, MEDIA_TYPES, readRequestParams } from './http.js'

/** Dependencies of the event stream handler. */
export interface EventStreamDependencies extends ContextDependencies {
  readonly operations: StreamingOperations
  readonly verifier: TokenVerifier
  readonly config: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth' | 'keepAliveMs' | 'trustProxy'>
}

const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream'
const OFFERED_TYPES = [...MEDIA_TYPES, EVENT_STREAM_MEDIA_TYPE]
/** A comment, which every client ignores (HTML, 9.2.6). */
const KEEP_ALIVE_COMMENT = ':\n\n'

/**
 * Creates the handler of GraphQL over Server-Sent Events in distinct connections mode (graphql-sse,
 * PROTOCOL.md). It answers requests that prefer an event stream. The `graphql-sse` package is not used,
 * because it buffers the events of a slow client without a limit. An invalid request goes to the error
 * handler of the adapter. An invalid operation is a result.
 */
export function createEventStreamHandler(dependencies: EventStreamDependencies): RequestHandler {
  return (req, res, next) => {
    if (req.path === '/' && negotiateMediaType(req, OFFERED_TYPES) === EVENT_STREAM_MEDIA_TYPE)
      sendEventStream(req, res, dependencies).catch(next)
    else next()
  }
}

async function sendEventStream(
  req: Request,
  res: ServerResponse,
  { operations, verifier, config, ...contextParts }: EventStreamDependencies,
): Promise<void> {
  const authorization = authorizationHeaderOf(req)
  const verifiedToken = await authenticateRequest(req, verifier, config)
  const scope = openRequestScope(res, verifiedToken)
  const context = createContext(contextParts, verifiedToken.actor, scope, req)
  const params = await readRequestParams(req, config)
  const prepared = operations.prepare(() => params, context)
  const isPrepared = 'document' in prepared
  if (isPrepared && req.method !== 'POST' && prepared.operation.operation === 'mutation')
    fail({ kind: 'MethodNotAllowed', method: req.method, allow: ['POST'] })
  const stream = new EventStream(res, config.keepAliveMs)
  // HEAD gets only headers. The operation is not executed.
  if (req.method === 'HEAD') return void res.end()
  if (!isPrepared) return stream.complete({ errors: prepared })
  const stopTokenWatch = watchTokenExpiry(verifier, authorization, verifiedToken, error =>
    stream.complete({ errors: [withoutHttpStatus(toGraphQLError(error, context))] }),
  )
  const result = await operations.execute(prepared, context)
  if ('next' in result) await stream.pipe(result)
  else stream.complete(result)
  stopTokenWatch()
}

/** A response of `next` events and a `complete` event. */
class EventStream {
  readonly #res: ServerResponse
  readonly #closed: Promise<void>

  constructor(res: ServerResponse, keepAliveMs: number) {
    this.#res = res
    this.#closed = new Promise(resolve => res.once('close', resolve))
    // Neither the service nor a proxy may buffer events.
    res.writeHead(200, {
      'Content-Type': `${EVENT_STREAM_MEDIA_TYPE}; charset=utf-8`,
      'Cache-Control': 'private, no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    })
    res.write(KEEP_ALIVE_COMMENT)
    const timer = setInterval(
      () => res.writableNeedDrain || res.writableEnded || res.write(KEEP_ALIVE_COMMENT),
      keepAliveMs,
    )
    timer.unref()
    void this.#closed.then(() => clearInterval(timer))
  }

  /** Sends the only or the last result. */
  complete(result: RawExecutionResult): void {
    if (this.#res.writableEnded) return
    this.#writeNext(result)
    this.#res.end('event: complete\ndata: \n\n')
  }

  /**
   * Sends the results of a stream. The next result is requested when the client has received the previous
   * one. If the service ends the stream, no `complete` event is sent, so that the client reconnects.
   */
  async pipe(responseStream: ResponseStream): Promise<void> {
    markEndless(this.#res)
    void this.#closed.then(() => responseStream.return?.())
    for await (const result of responseStream) {
      if (result.errors) return this.complete(result)
      if (!this.#writeNext(result))
        await Promise.race([new Promise(resolve => this.#res.once('drain', resolve)), this.#closed])
    }
    if (!this.#res.writableEnded) this.#res.end()
  }

  /**
   * A line break would end a line of the event. JSON has line breaks only between tokens, so they are
   * removed.
   */
  #writeNext(result: RawExecutionResult): boolean {
    // The token may already have expired.
    return (
      this.#res.writableEnded ||
      this.#res.write(`event: next\ndata: ${renderResult(result).replaceAll('\n', ' ')}\n\n`)
    )
  }
}
