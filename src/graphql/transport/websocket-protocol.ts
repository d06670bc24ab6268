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
import type { ClientAllowance, ClientLimiter } from '../../domain/clients/limiter.js'
import type { RequestScope } from '../../domain/request-scope.js'
import { toFailure } from '../../errors/catalog.js'
import { fail, ProblemError, problemsOf } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { describeCaller, describeClaim } from '../../http/auth/authenticate-request.js'
import { authorizationHeaderOf, authorizationInPayload } from '../../http/auth/authorization-header.js'
import type { TokenVerifier, VerifiedToken } from '../../http/auth/bearer.js'
import { clientNetwork } from '../../http/auth/client-address.js'
import { watchTokenExpiry } from '../../http/auth/token-expiry.js'
import type { LoggedPart } from '../../http/log.js'
import type { RateLimiter } from '../../http/rate-limit/rate-limit.js'
import { createOperationScope } from '../../http/request-scope.js'
import type { GraphQLContext } from '../context.js'
import { renderResult } from '../execute/raw-json.js'
import type { ExecutableOperation, StreamingOperations } from '../subscribe/streaming-operations.js'
import { type ContextDependencies, createContext } from './http.js'
import { SocketOperation } from './socket-operation.js'

/** Dependencies of the WebSocket protocol. */
export interface WebSocketProtocolDependencies extends ContextDependencies {
  readonly schema: GraphQLSchema
  readonly operations: StreamingOperations
  readonly verifier: TokenVerifier
  readonly meter: RateLimiter
  readonly limits: ClientLimiter
  readonly config: Pick<Config, 'maxSocketOperations' | 'trustProxy'>
  /** Logs an operation when it has ended. */
  readonly logOperation: (operation: LoggedPart) => void
}

/** One WebSocket, and the identity of its client after `connection_init`. */
export interface WebSocketPeer {
  readonly socket: WebSocket
  readonly req: IncomingMessage
  /** Closes the connection with a code of the protocol. */
  readonly close: (code: number, reason: string) => void
  readonly resultPlaceholders: ResultPlaceholders
  /** The operations that run, by their ids. */
  readonly running: Map<string, SocketOperation>
  session?: PeerSession
}

interface PeerSession {
  readonly token: VerifiedToken
  readonly createContextFor: (scope: RequestScope) => GraphQLContext
  readonly stopTokenWatch: () => void
}

type PeerContext = Context<ConnectionInitMessage['payload'], WebSocketPeer>

/** Maximum wait for `connection_init`, in ms. */
const CONNECTION_INIT_TIMEOUT_MS = 5000
/** Maximum length of a close reason (RFC 6455, 5.5), in bytes. */
const MAX_CLOSE_REASON_BYTES = 123
/** Close code Try Again Later (IANA, WebSocket Close Code Number Registry). */
const TRY_AGAIN_LATER = 1013

/** Creates the server side of the protocol graphql-transport-ws (graphql-ws, PROTOCOL.md). */
export function createWebSocketProtocol(dependencies: WebSocketProtocolDependencies): Server<WebSocketPeer> {
  const start = ({ contextValue }: ExecutionArgs) => {
    // `contextValue` was returned by onSubscribe.
    const { prepared, context } = contextValue as OperationContextValue
    // The package only passes results on to `onNext`.
    return dependencies.operations.execute(prepared, context) as Promise<
      ExecutionResult | AsyncIterable<ExecutionResult>
    >
  }
  const { logOperation } = dependencies
  return makeServer<ConnectionInitMessage['payload'], WebSocketPeer>({
    connectionInitWaitTimeout: CONNECTION_INIT_TIMEOUT_MS,
    onConnect: context => authenticate(context, dependencies),
    onSubscribe: (context, id, payload) => prepareOperation(context, id, payload, dependencies),
    onNext: ({ extra }, id, _payload, _args, result) => {
      extra.running.get(id)?.addResult(result.errors)
      return extra.resultPlaceholders.create(renderResult(result))
    },
    onError: ({ extra }, id, _payload, errors) => finishOperation(extra, id, logOperation, errors),
    onComplete: ({ extra }, id) => finishOperation(extra, id, logOperation),
    onClose: ({ extra }) => {
      extra.session?.stopTokenWatch()
      for (const { scope } of extra.running.values()) scope.abort()
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
 * Authenticates a connection. Returns false if the connection was closed with a reason. After close code
 * 4403, clients get a new token and reconnect.
 */
async function authenticate(
  { extra, connectionParams = {} }: PeerContext,
  { verifier, report, serviceRoot, config }: WebSocketProtocolDependencies,
): Promise<boolean> {
  const { req, close } = extra
  const closeWithError = (error: unknown) =>
    close(
      toCloseCode(error),
      toCloseReason(error, fault => report(fault, req)),
    )
  try {
    const authorization = authorizationInPayload(connectionParams) ?? authorizationHeaderOf(req) ?? ''
    const verifiedToken = await verifier
      .authenticate(authorization, clientNetwork(req, config))
      .catch((error: unknown) => {
        describeClaim(req, verifier.findClaimedClient(authorization))
        throw error
      })
    describeCaller(req, verifiedToken)
    const stopTokenWatch = watchTokenExpiry(verifier, authorization, verifiedToken, closeWithError)
    if (extra.socket.readyState !== extra.socket.OPEN) stopTokenWatch()
    extra.session = {
      token: verifiedToken,
      createContextFor: scope => createContext({ report, serviceRoot }, verifiedToken.actor, scope, req),
      stopTokenWatch,
    }
    return true
  } catch (error) {
    closeWithError(error)
    return false
  }
}

async function prepareOperation(
  peer: PeerContext,
  id: string,
  payload: SubscribePayload,
  { schema, operations, meter, limits, config, logOperation }: WebSocketProtocolDependencies,
) {
  const { extra } = peer
  const { session } = extra
  // The package only calls this after onConnect has accepted the client.
  if (!session) throw new Error('The client of an operation is unknown')
  const { client } = session.token
  const allowance = client && limits.allowanceOf(client)
  const context = session.createContextFor(createOperationScope(extra.req, session.token, allowance))
  extra.running.set(id, new SocketOperation(context.scope))
  // This subscription is already counted. Others may begin while the limits are checked.
  const isFull = Object.keys(peer.subscriptions).length > config.maxSocketOperations
  const refusal = await takeRequest(session.token, meter, allowance)
  const prepared = operations.prepare(() => {
    if (refusal) throw refusal
    if (isFull)
      fail({
        kind: 'BadRequest',
        reason: REASONS.tooManySocketOperations(config.maxSocketOperations),
      })
    return payload
  }, context)
  if (!('document' in prepared)) {
    const errors = prepared as GraphQLError[] // the package does not modify it
    // The package calls no listener if the client has ended the operation in the meantime.
    if (!(id in peer.subscriptions)) finishOperation(extra, id, logOperation, errors)
    return errors
  }
  if (extra.socket.readyState !== extra.socket.OPEN) context.scope.abort()
  const { operationName } = payload
  return {
    schema,
    document: prepared.document,
    operationName: operationName ?? null,
    contextValue: { prepared, context } satisfies OperationContextValue,
  }
}

/** Logs an operation that has ended. */
function finishOperation(
  { running }: WebSocketPeer,
  id: string,
  logOperation: WebSocketProtocolDependencies['logOperation'],
  errors?: readonly GraphQLError[],
): void {
  const operation = running.get(id)
  if (!running.delete(id) || !operation) return
  operation.setErrors(errors)
  logOperation(operation.end())
}

/** Counts an operation as one request. Returns the error if a limit refuses it. */
async function takeRequest(
  { name }: VerifiedToken,
  meter: RateLimiter,
  allowance: ClientAllowance | undefined,
): Promise<unknown> {
  const { isExceeded, resetSeconds } = meter.consumeFor(name)
  if (isExceeded) {
    allowance?.countRefusal()
    return new ProblemError({ kind: 'TooManyRequests', retryAfter: resetSeconds })
  }
  try {
    await allowance?.takeRequests(1)
    return undefined
  } catch (error) {
    return error
  }
}

const toCloseCode = (error: unknown): number => {
  if (!(error instanceof ProblemError)) return CloseCode.InternalServerError
  return error.problems.some(p => p.kind === 'Unavailable') ? TRY_AGAIN_LATER : CloseCode.Forbidden
}

/** Shortens a close reason to the maximum length, without splitting a character. */
export const truncateCloseReason = (reason: string): string =>
  Buffer.from(reason)
    .subarray(0, MAX_CLOSE_REASON_BYTES)
    .toString('utf8')
    .replace(/\ufffd+$/, '')

/** Returns the close reason for an error: its message from the catalog. */
export function toCloseReason(error: unknown, report: (error: unknown) => string): string {
  const { message } = toFailure(problemsOf(error, report))
  return message
}

/**
 * Inserts results into messages that a package writes with JSON.stringify, which would round numbers of more
 * than 53 bits. The package writes a placeholder, which is then replaced by the result. Placeholders are
 * random, so that a client cannot forge one.
 */
export class ResultPlaceholders {
  readonly #marker = randomUUID()
  readonly #pattern = new RegExp(`\\{"data":\\{"${this.#marker}":(\\d+)\\}\\}`)
  readonly #results = new Map<number, string>()
  #count = 0

  /** Stores a result as JSON and returns the placeholder to write. */
  create(json: string): { readonly data: Record<string, number> } {
    this.#count += 1
    this.#results.set(this.#count, json)
    return { data: { [this.#marker]: this.#count } }
  }

  /** Returns the message with the result in place of its placeholder. */
  substitute(message: string): string {
    return message.replace(this.#pattern, (_, count: string) => {
      const json = this.#results.get(Number(count)) ?? 'null'
      this.#results.delete(Number(count))
      return json
    })
  }
}
