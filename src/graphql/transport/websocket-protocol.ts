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
import type { RequestScope } from '../../domain/request-scope.js'
import { toFailure } from '../../errors/catalog.js'
import { fail, ProblemError, problemsOf } from '../../errors/problem.js'
import { authorizationInPayload, authorizationOf } from '../../http/auth/authorization.js'
import type { TokenVerifier } from '../../http/auth/bearer.js'
import { watchTokenExpiry } from '../../http/auth/token-expiry.js'
import type { RateLimiter } from '../../http/rate-limit.js'
import { createOperationScope } from '../../http/request-scope.js'
import type { GraphQLContext } from '../context.js'
import { renderResult } from '../execute/raw-json.js'
import type { ExecutableOperation, StreamingOperations } from '../subscribe/operations.js'
import { type ContextParts, createContext } from './http.js'

/** What stands behind the protocol. */
export interface WebSocketProtocolParts extends ContextParts {
  readonly schema: GraphQLSchema
  readonly operations: StreamingOperations
  readonly verifier: TokenVerifier
  readonly meter: RateLimiter
  readonly config: Pick<Config, 'maxSocketOperations'>
}

/** One WebSocket, and who is at its other end once that is known. */
export interface WebSocketPeer {
  readonly socket: WebSocket
  readonly req: IncomingMessage
  /** Closes the connection, with a code of the protocol. */
  readonly close: (code: number, reason: string) => void
  readonly resultPlaceholders: ResultPlaceholders
  /** The scopes of the operations that run, by their ids. */
  readonly scopes: Map<string, RequestScope>
  session?: PeerSession
}

interface PeerSession {
  readonly authorization: string
  readonly clientId: string
  readonly createContextFor: (scope: RequestScope) => GraphQLContext
  readonly stopTokenWatch: () => void
}

type PeerContext = Context<ConnectionInitMessage['payload'], WebSocketPeer>

/** Time for a client to say who it is, in ms. */
const CONNECTION_INIT_TIMEOUT_MS = 5000
/** What the reason of a close may hold (RFC 6455, 5.5), in bytes. */
const MAX_CLOSE_REASON_BYTES = 123
/** Try again later: of the codes that everyone may use (IANA, WebSocket Close Code Number Registry). */
const TRY_AGAIN_LATER = 1013

/** The protocol graphql-transport-ws (graphql-ws, PROTOCOL.md) for our operations. */
export function createWebSocketProtocol(parts: WebSocketProtocolParts): Server<WebSocketPeer> {
  const start = ({ contextValue }: ExecutionArgs) => {
    const { prepared, context } = contextValue as OperationContextValue // what onSubscribe has returned
    // What a result holds is nothing to the package: `onNext` takes it.
    return parts.operations.execute(prepared, context) as Promise<
      ExecutionResult | AsyncIterable<ExecutionResult>
    >
  }
  return makeServer<ConnectionInitMessage['payload'], WebSocketPeer>({
    connectionInitWaitTimeout: CONNECTION_INIT_TIMEOUT_MS,
    onConnect: context => authenticate(context, parts),
    onSubscribe: (context, id, payload) => prepareOperation(context, id, payload, parts),
    onNext: ({ extra }, _id, _payload, _args, result) =>
      extra.resultPlaceholders.create(renderResult(result)),
    onComplete: ({ extra }, id) => {
      extra.scopes.delete(id)
    },
    onClose: ({ extra }) => {
      extra.session?.stopTokenWatch()
      for (const scope of extra.scopes.values()) scope.abort()
    },
    subscribe: start,
    execute: start,
  })
}

interface OperationContextValue {
  readonly prepared: ExecutableOperation
  readonly context: GraphQLContext
}

/**
 * False: it is closed already, with a reason. 4403 is the code after which clients ask for a new token and
 * come again.
 */
async function authenticate(
  { extra, connectionParams = {} }: PeerContext,
  { verifier, report, serviceRoot }: WebSocketProtocolParts,
): Promise<boolean> {
  const { req, close } = extra
  const closeWithError = (error: unknown) =>
    close(
      toCloseCode(error),
      toCloseReason(error, fault => report(fault, req)),
    )
  try {
    const authorization = authorizationInPayload(connectionParams) ?? authorizationOf(req) ?? ''
    const verifiedToken = await verifier.authenticate(authorization)
    const stopTokenWatch = watchTokenExpiry(verifier, authorization, verifiedToken, closeWithError)
    if (extra.socket.readyState !== extra.socket.OPEN) stopTokenWatch()
    extra.session = {
      authorization,
      createContextFor: scope => createContext({ report, serviceRoot }, verifiedToken.actor, scope, req),
      clientId: verifiedToken.clientId,
      stopTokenWatch,
    }
    return true
  } catch (error) {
    closeWithError(error)
    return false
  }
}

function prepareOperation(
  { extra, subscriptions }: PeerContext,
  id: string,
  payload: SubscribePayload,
  { schema, operations, meter, config }: WebSocketProtocolParts,
) {
  const { session } = extra
  // The package asks only for those that onConnect has let in.
  if (!session) throw new Error('An operation of nobody')
  const { authorization } = session
  const context = session.createContextFor(createOperationScope(session.clientId))
  const prepared = operations.prepare(() => {
    const { isExceeded: isLimitExceeded, resetSeconds } = meter.consume(authorization)
    if (isLimitExceeded) fail({ kind: 'TooManyRequests', retryAfter: resetSeconds })
    // Its own place is taken already.
    if (Object.keys(subscriptions).length > config.maxSocketOperations)
      fail({
        kind: 'BadRequest',
        reason: `a connection takes ${config.maxSocketOperations} operations at a time`,
      })
    return payload
  }, context)
  if (!('document' in prepared)) return prepared as GraphQLError[] // it is only read
  extra.scopes.set(id, context.scope)
  const { operationName } = payload
  return {
    schema,
    document: prepared.document,
    operationName: operationName ?? null,
    contextValue: { prepared, context } satisfies OperationContextValue,
  }
}

const toCloseCode = (error: unknown): number => {
  if (!(error instanceof ProblemError)) return CloseCode.InternalServerError
  return error.problems.some(p => p.kind === 'Unavailable') ? TRY_AGAIN_LATER : CloseCode.Forbidden
}

/** As much of a reason as there is room for: no character is cut in two. */
export const truncateCloseReason = (reason: string): string =>
  Buffer.from(reason)
    .subarray(0, MAX_CLOSE_REASON_BYTES)
    .toString('utf8')
    .replace(/\ufffd+$/, '')

/** The words of the catalogue. */
export function toCloseReason(error: unknown, report: (error: unknown) => string): string {
  const { message } = toFailure(problemsOf(error, report))
  return message
}

/**
 * Results for messages that a package writes with JSON.stringify, which would round numbers of more than 53
 * bits: the package writes a mark, and the result takes its place. Nobody outside knows the mark.
 */
export class ResultPlaceholders {
  readonly #marker = randomUUID()
  readonly #pattern = new RegExp(`\\{"data":\\{"${this.#marker}":(\\d+)\\}\\}`)
  readonly #results = new Map<number, string>()
  #count = 0

  /** Keeps a result, as JSON, and gives what is to be written for it. */
  create(json: string): { readonly data: Record<string, number> } {
    this.#count += 1
    this.#results.set(this.#count, json)
    return { data: { [this.#marker]: this.#count } }
  }

  /** The message with its result, if it has one. */
  substitute(message: string): string {
    return message.replace(this.#pattern, (_, count: string) => {
      const json = this.#results.get(Number(count)) ?? 'null'
      this.#results.delete(Number(count))
      return json
    })
  }
}
