import type { ServerResponse } from 'node:http'
import type { Request } from 'express'
import type { Config } from '../config/config.js'
import type { ClientLimiter } from '../domain/clients/limiter.js'
import type { RequestScope } from '../domain/request-scope.js'
import { authenticateRequest } from '../http/auth/authenticate-request.js'
import { authorizationHeaderOf } from '../http/auth/authorization-header.js'
import type { TokenVerifier, VerifiedToken } from '../http/auth/bearer.js'
import { callerOf } from '../http/auth/caller.js'
import { clientNetwork } from '../http/auth/client-address.js'
import { verifySameRights } from '../http/auth/token-expiry.js'
import { baseUrl } from '../http/base-url.js'
import { checkMediaType, readBody, readJsonObject } from '../http/body.js'
import type { LoggedPart } from '../http/log.js'
import { lowerRemaining } from '../http/rate-limit/rate-limit.js'
import { allowanceOf } from '../http/rate-limit/request-allowance.js'
import { openRequestScope } from '../http/request-scope.js'
import type { Entity } from '../model/model.js'
import type { PlanCache } from '../query/plan-cache.js'
import type { AdminService } from '../service/admin/administration.js'
import { type RecordWriter, writerFor } from '../service/admin/record-writer.js'
import type { DeltaService } from '../service/deltas.js'
import type { DigestService } from '../service/digest.js'
import type { ExportService } from '../service/export.js'
import type { ReadService } from '../service/reading.js'
import type { WriteService } from '../service/writing.js'
import { type BatchConfig, handleBatch } from './batch/batch.js'
import type { BatchContext, BatchIdentity } from './batch/batch-executor.js'
import { dispatchRequest, parseRequest } from './dispatch.js'
import {
  ADMIN_SERVICE,
  LISTING_SERVICE,
  type ODataRequest,
  type ODataService,
  type ODataServices,
  type RequestBody,
} from './protocol/request.js'
import {
  type ODataResponse,
  type StreamedODataResponse,
  sendResponse,
  toODataErrorResponse,
} from './protocol/response.js'
import { negotiateVersion } from './protocol/version.js'
import { operationOf } from './url/operation.js'

/** The services that all requests share. */
interface SharedServices extends Omit<ODataServices, 'writerOf'> {
  readonly administration: AdminService
}

/** Dependencies of the adapter. */
export interface ODataHandlerOptions extends SharedServices {
  readonly config: BatchConfig & Pick<Config, 'publicUrl' | 'trustProxy' | 'maxBodyBytes'>
  readonly service: ODataService
  readonly verifier: TokenVerifier
  readonly limits: ClientLimiter
  readonly plans: PlanCache
  /** Logs an error and returns the id of its log entry. */
  readonly report: (error: unknown, req: Request) => string
  /** Logs a request of a batch. */
  readonly logBatchRequest: (request: LoggedPart) => void
}

type ODataHandler = (req: Request, res: ServerResponse) => Promise<void>

/** Returns the handlers of the services, each with its path. */
export const createODataHandlers = (
  options: Omit<ODataHandlerOptions, 'service'>,
): readonly (readonly [path: string, handler: ODataHandler])[] =>
  [LISTING_SERVICE, ADMIN_SERVICE].map(service => [service.path, createODataHandler({ ...options, service })])

/** Answers every request below the service root, including all errors. Nothing is passed on to Express. */
function createODataHandler(options: ODataHandlerOptions): ODataHandler {
  return async (req, res) => {
    try {
      await sendResponse(res, await handleRequestOrError(req, res, options), negotiateVersion(req.headers))
    } catch (error) {
      // A failed response closes the connection, so that a partial response is not mistaken for a complete
      // one.
      options.report(error, req)
      res.destroy()
    }
  }
}

async function handleRequestOrError(
  req: Request,
  res: ServerResponse,
  options: ODataHandlerOptions,
): Promise<ODataResponse | StreamedODataResponse> {
  try {
    return await handleRequest(req, res, options)
  } catch (error) {
    return toODataErrorResponse(error, fault => options.report(fault, req))
  }
}

/** The order of the checks limits disclosure: without a token a client learns nothing about the resources. */
async function handleRequest(
  req: Request,
  res: ServerResponse,
  options: ODataHandlerOptions,
): Promise<ODataResponse | StreamedODataResponse> {
  const { config, plans, service } = options
  const { method, headers } = req
  const authorization = authorizationHeaderOf(req)
  const authenticated = authenticateRequest(req, options.verifier, config)
  const token = authenticated instanceof Promise ? await authenticated : authenticated
  const { actor } = token
  const scope = openRequestScope(res, token)
  const root = `${baseUrl(req, config)}${service.path}/`
  const { rawPath, rawQuery } = parseRequestTarget(req.originalUrl, service)
  const body = requestBodyOf(req, config.maxBodyBytes)
  const parsed = scope.measure('parse', () =>
    parseRequest({ method, service, root, headers, actor, scope, plans, rawPath, rawQuery, ...body }, config),
  )
  scope.description.operation = operationOf(parsed.path)
  if (parsed.path.kind !== 'batch' || method !== 'POST')
    return dispatchRequest(
      parsed,
      new ScopedServices(scope, options, () => verifySameRights(options.verifier, authorization, token)),
    )
  const batchBody = {
    json: () => readJsonObject(req, config.maxBatchBytes),
    bytes: () => readBody(req, config.maxBatchBytes),
  }
  return handleBatch(parsed.request, batchBody, {
    config,
    identify: createBatchIdentifier(req, token, options),
    onParsed: count => lowerRemaining(res, count - 1),
    servicesFor: stages => new ScopedServices(scope.part(scope.description, stages), options),
    report: error => options.report(error, req),
    onRequest: ({ caller = callerOf(token), ...request }) => {
      const { id, address, trace_id } = scope.description
      options.logBatchRequest({
        id,
        ...caller,
        address,
        ...(trace_id !== undefined && { trace_id }),
        ...request,
      })
    },
  })
}

/**
 * Returns the function that identifies the client of each request of a batch. The batch itself has already
 * been counted as the first request of its client.
 */
function createBatchIdentifier(
  req: Request,
  token: VerifiedToken,
  { verifier, limits, config }: ODataHandlerOptions,
): BatchContext['identify'] {
  let countedCount = 1
  const allowance = allowanceOf(req)
  const enclosing: BatchIdentity = {
    actor: token.actor,
    caller: callerOf(token),
    takeRequests(count) {
      const uncounted = Math.max(0, count - countedCount)
      countedCount = Math.max(0, countedCount - count)
      return uncounted === 0 ? undefined : allowance?.takeRequests(uncounted)
    },
  }
  return async authorization => {
    if (authorization === undefined) return enclosing
    const ownToken = await verifier.authenticate(authorization, clientNetwork(req, config))
    const { actor, client } = ownToken
    return {
      actor,
      caller: callerOf(ownToken),
      takeRequests: count => client && limits.allowanceOf(client).takeRequests(count),
    }
  }
}

/**
 * Creates the services of one request, whose statements share connections fairly and end when it is aborted.
 */
class ScopedServices implements ODataServices {
  /** @param verifyToken fails when the token is no longer accepted. Undefined in a batch, which has no exports. */
  constructor(
    private readonly scope: RequestScope,
    private readonly services: SharedServices,
    private readonly verifyToken?: () => Promise<unknown>,
  ) {}

  get exports(): ExportService | undefined {
    return this.verifyToken && this.services.exports?.forRequest(this.scope, this.verifyToken)
  }

  get reading(): ReadService {
    return this.services.reading.forRequest(this.scope)
  }

  get digests(): DigestService {
    return this.services.digests.forRequest(this.scope)
  }

  get deltas(): DeltaService {
    return this.services.deltas.forRequest(this.scope)
  }

  get writing(): WriteService {
    return this.services.writing.forRequest(this.scope)
  }

  writerOf(of: Entity): RecordWriter {
    return writerFor(of, this.services, this.scope)
  }
}

const requestBodyOf = (req: Request, limit: number): RequestBody => ({
  readBody() {
    return readJsonObject(req, limit)
  },
  async readText() {
    checkMediaType(req.headers['content-type'], 'text/plain')
    return (await readBody(req, limit)).toString('latin1')
  },
})

/**
 * Returns the path below the service root and the query string. A proxy may send an absolute URL (RFC 9112,
 * 3.2.2). Express shortens `url`, but not `originalUrl`.
 */
function parseRequestTarget(
  originalUrl: string,
  service: ODataService,
): Pick<ODataRequest, 'rawPath' | 'rawQuery'> {
  const target = originalUrl.startsWith('/')
    ? originalUrl
    : originalUrl.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?]*/i, '')
  const end = target.indexOf('?')
  const path = target.slice(service.path.length, end < 0 ? undefined : end)
  return { rawPath: path.replace(/^\/+/, ''), rawQuery: end < 0 ? '' : target.slice(end + 1) }
}
