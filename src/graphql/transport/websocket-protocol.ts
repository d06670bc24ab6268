import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { ExecutionArgs, GraphQLError, GraphQLSchema } from 'graphql'
import {
  CloseCode,
  type ConnectionInitMessage,
  type Context,
  type ExecutionResult,
  makeServer,
  type Server,
  type SubscribePayload,
} from 'graphql-ws'
import type { WebSocket } from 'ws'
import type { Config } from '../../config/config.js'
import { toFailure } from '../../errors/catalog.js'
import { fail, ProblemError, problemsOf } from '../../errors/problem.js'
import type { Verifier } from '../../http/auth/bearer.js'
import { watchToken } from '../../http/auth/token-expiry.js'
import type { RateMeter } from '../../http/ratelimit.js'
import type { GraphQLContext } from '../context.js'
import { renderResult } from '../execute/raw-json.js'
import type { Live, Prepared } from '../subscribe/operations.js'
import type { Report } from './http.js'

/** What stands behind the protocol. */
export interface ProtocolParts {
  readonly schema: GraphQLSchema
  readonly live: Live
  readonly verifier: Verifier
  readonly meter: RateMeter
  readonly config: Pick<Config, 'maxSocketOperations'>
  readonly report: Report
}

/** One WebSocket, and who is at its other end once that is known. */
export interface Peer {
  readonly socket: WebSocket
  readonly req: IncomingMessage
  /** Closes the connection, with a code of the protocol. */
  readonly close: (code: number, reason: string) => void
  readonly outbox: Outbox
  admitted?: Admitted
}

interface Admitted {
  readonly authorization: string
  readonly context: GraphQLContext
  readonly endWatch: () => void
}

type PeerContext = Context<ConnectionInitMessage['payload'], Peer>

/** Time for a client to say who it is, in ms. */
const INIT_MS = 5000
/** What the reason of a close may hold (RFC 6455, 5.5), in bytes. */
const REASON_BYTES = 123
/** Try again later: of the codes that everyone may use (IANA, WebSocket Close Code Number Registry). */
const TRY_AGAIN_LATER = 1013

/** The protocol graphql-transport-ws (graphql-ws, PROTOCOL.md) for our operations. */
export function createProtocol(parts: ProtocolParts): Server<Peer> {
  const start = ({ contextValue }: ExecutionArgs) => {
    const { prepared, context } = contextValue as Starting // what onSubscribe has returned
    // What a result holds is nothing to the package: `onNext` takes it.
    return parts.live.start(prepared, context) as Promise<ExecutionResult | AsyncIterable<ExecutionResult>>
  }
  return makeServer<ConnectionInitMessage['payload'], Peer>({
    connectionInitWaitTimeout: INIT_MS,
    onConnect: context => admit(context, parts),
    onSubscribe: (context, _id, payload) => prepare(context, payload, parts),
    onNext: ({ extra }, _id, _payload, _args, result) => extra.outbox.hold(renderResult(result)),
    onClose: ({ extra }) => extra.admitted?.endWatch(),
    subscribe: start,
    execute: start,
  })
}

interface Starting {
  readonly prepared: Prepared
  readonly context: GraphQLContext
}

/**
 * False: it is closed already, with a reason. 4403 is the code after which clients ask for a new token and
 * come again.
 */
async function admit(
  { extra, connectionParams = {} }: PeerContext,
  { verifier, report }: ProtocolParts,
): Promise<boolean> {
  const { req, close } = extra
  const refuse = (error: unknown) =>
    close(
      toCode(error),
      toReason(error, fault => report(fault, req)),
    )
  try {
    const authorization = readAuthorization(connectionParams) ?? req.headers.authorization ?? ''
    const verified = await verifier.inspect(authorization)
    const endWatch = watchToken(verifier, authorization, verified, refuse)
    if (extra.socket.readyState !== extra.socket.OPEN) endWatch()
    extra.admitted = {
      authorization,
      context: { actor: verified.actor, report: error => report(error, req) },
      endWatch,
    }
    return true
  } catch (error) {
    refuse(error)
    return false
  }
}

/** Browsers send no header with a WebSocket. */
function readAuthorization(params: Readonly<Record<string, unknown>>): string | undefined {
  const [, value] = Object.entries(params).find(([name]) => name.toLowerCase() === 'authorization') ?? []
  return typeof value === 'string' ? value : undefined
}

function prepare(
  { extra, subscriptions }: PeerContext,
  payload: SubscribePayload,
  { schema, live, meter, config }: ProtocolParts,
) {
  const { admitted } = extra
  // The package asks only for those that onConnect has let in.
  if (!admitted) throw new Error('An operation of nobody')
  const { context, authorization } = admitted
  const prepared = live.prepare(() => {
    const { isOver, seconds } = meter.count(authorization)
    if (isOver) fail({ kind: 'TooManyRequests', retryAfter: seconds })
    // Its own place is taken already.
    if (Object.keys(subscriptions).length > config.maxSocketOperations)
      fail({
        kind: 'BadRequest',
        reason: `a connection takes ${config.maxSocketOperations} operations at a time`,
      })
    return payload
  }, context)
  if (!('document' in prepared)) return prepared as GraphQLError[] // it is only read
  const { operationName } = payload
  return {
    schema,
    document: prepared.document,
    operationName: operationName ?? null,
    contextValue: { prepared, context } satisfies Starting,
  }
}

const toCode = (error: unknown): number => {
  if (!(error instanceof ProblemError)) return CloseCode.InternalServerError
  return error.problems.some(p => p.kind === 'Unavailable') ? TRY_AGAIN_LATER : CloseCode.Forbidden
}

/** As much of a reason as there is room for: no character is cut in two. */
export const clipReason = (reason: string): string =>
  Buffer.from(reason)
    .subarray(0, REASON_BYTES)
    .toString('utf8')
    .replace(/\ufffd+$/, '')

/** The words of the catalogue. */
export function toReason(error: unknown, report: (error: unknown) => string): string {
  const { message } = toFailure(problemsOf(error, report))
  return message
}

/**
 * Results for messages that a package writes with JSON.stringify, which would round numbers of more than 53
 * bits: the package writes a mark, and the result takes its place. Nobody outside knows the mark.
 */
export class Outbox {
  readonly #mark = randomUUID()
  readonly #place = new RegExp(`\\{"data":\\{"${this.#mark}":(\\d+)\\}\\}`)
  readonly #results = new Map<number, string>()
  #count = 0

  /** Keeps a result, as JSON, and gives what is to be written for it. */
  hold(json: string): { readonly data: Record<string, number> } {
    this.#count += 1
    this.#results.set(this.#count, json)
    return { data: { [this.#mark]: this.#count } }
  }

  /** The message with its result, if it has one. */
  fill(message: string): string {
    return message.replace(this.#place, (_, count: string) => {
      const json = this.#results.get(Number(count)) ?? 'null'
      this.#results.delete(Number(count))
      return json
    })
  }
}
