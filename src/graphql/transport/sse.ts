import type { ServerResponse } from 'node:http'
import type { Request, RequestHandler } from 'express'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import type { Verifier } from '../../http/auth/bearer.js'
import { watchToken } from '../../http/auth/token-expiry.js'
import { createNegotiator } from '../../http/negotiate.js'
import type { GraphQLContext } from '../context.js'
import { toGraphQLError } from '../errors.js'
import type { Result } from '../execute/executor.js'
import { renderResult } from '../execute/raw-json.js'
import { type Live, toTold } from '../subscribe/operations.js'
import type { Results } from '../subscribe/subscribe.js'
import { MEDIA_TYPES, type Report, readOperation } from './http.js'

/** What event streams are made of. */
export interface StreamParts {
  readonly live: Live
  readonly verifier: Verifier
  readonly config: Pick<Config, 'maxQueryLength' | 'maxBodyBytes' | 'maxDepth' | 'keepAliveMs'>
  readonly report: Report
}

const MEDIA_TYPE = 'text/event-stream'
const preferredType = createNegotiator([...MEDIA_TYPES, MEDIA_TYPE])
/** A comment, that every client leaves aside (HTML, 9.2.6). */
const SIGN_OF_LIFE = ':\n\n'

/**
 * GraphQL over Server-Sent Events, in the mode of distinct connections (graphql-sse, PROTOCOL.md): a request
 * that prefers an event stream is answered with one. Own code, since the package keeps what a slow client has
 * not taken, without a bound. What is wrong with the request itself goes on to the error handler of the
 * adapter; what is wrong with the operation is a result.
 */
export function streamEvents(parts: StreamParts): RequestHandler {
  return (req, res, next) => {
    if (req.path === '/' && preferredType(req) === MEDIA_TYPE) answer(req, res, parts).catch(next)
    else next()
  }
}

async function answer(
  req: Request,
  res: ServerResponse,
  { live, verifier, config, report }: StreamParts,
): Promise<void> {
  const { authorization } = req.headers
  const verified = await verifier.inspect(authorization)
  const context: GraphQLContext = { actor: verified.actor, report: error => report(error, req) }
  const sent = await readOperation(req, config)
  const prepared = live.prepare(() => sent, context)
  const isPrepared = 'document' in prepared
  if (isPrepared && req.method === 'GET' && prepared.operation.operation === 'mutation')
    fail({ kind: 'MethodNotAllowed', method: 'GET', allow: ['POST'] })
  const stream = new EventStream(res, config.keepAliveMs)
  if (!isPrepared) return stream.finish({ errors: prepared })
  const endWatch = watchToken(verifier, authorization, verified, error =>
    stream.finish({ errors: [toTold(toGraphQLError(error, context))] }),
  )
  const begun = await live.start(prepared, context)
  if ('next' in begun) await stream.carry(begun)
  else stream.finish(begun)
  endWatch()
}

/** An answer of `next` events and a `complete` event. */
class EventStream {
  readonly #res: ServerResponse
  readonly #closed: Promise<void>

  constructor(res: ServerResponse, keepAliveMs: number) {
    this.#res = res
    this.#closed = new Promise(resolve => res.once('close', resolve))
    // Neither the service nor a proxy may hold an event back to send it with others.
    res.writeHead(200, {
      'Content-Type': `${MEDIA_TYPE}; charset=utf-8`,
      'Cache-Control': 'private, no-cache, no-transform',
      'X-Accel-Buffering': 'no',
    })
    res.write(SIGN_OF_LIFE)
    const timer = setInterval(
      () => res.writableNeedDrain || res.writableEnded || res.write(SIGN_OF_LIFE),
      keepAliveMs,
    )
    timer.unref()
    void this.#closed.then(() => clearInterval(timer))
  }

  /** The only result, or the last one. */
  finish(result: Result): void {
    if (this.#res.writableEnded) return
    this.#next(result)
    this.#res.end('event: complete\ndata: \n\n')
  }

  /**
   * Asks for a result when the one before has been taken. Results that end without a fault are ended by the
   * service, and the client may come again: nothing is complete.
   */
  async carry(results: Results): Promise<void> {
    void this.#closed.then(() => results.return?.())
    for await (const result of results) {
      if (result.errors) return this.finish(result)
      if (!this.#next(result))
        await Promise.race([new Promise(resolve => this.#res.once('drain', resolve)), this.#closed])
    }
    if (!this.#res.writableEnded) this.#res.end()
  }

  /** A line break in JSON stands between its tokens only, and a line of an event ends with one. */
  #next(result: Result): boolean {
    // The end of the token may have come first.
    return (
      this.#res.writableEnded ||
      this.#res.write(`event: next\ndata: ${renderResult(result).replaceAll('\n', ' ')}\n\n`)
    )
  }
}
