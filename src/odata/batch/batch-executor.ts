import type { Actor } from '../../domain/actor.js'
import type { StageListener } from '../../domain/request-scope.js'
import { fail, ProblemError } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import type { Caller } from '../../http/auth/caller.js'
import { type DispatchConfig, dispatchRequest, type ParsedODataRequest, parseRequest } from '../dispatch.js'
import { negotiateJsonFormat } from '../protocol/negotiate.js'
import type { ODataRequest, ODataServices } from '../protocol/request.js'
import { type ODataResponse, toODataErrorResponse } from '../protocol/response.js'
import { negotiateVersion } from '../protocol/version.js'
import { BatchLog, type ExecutedRequest } from './batch-log.js'
import type { BatchRequest, BatchStep, BatchStepResult } from './batch-request.js'
import { toGroupServices } from './group-services.js'
import {
  checkDependencies,
  type RequestReferences,
  referenceOf,
  registerFailure,
  registerSuccess,
  resolveETagReferences,
  resolveRequestUrl,
} from './request-references.js'

/** Dependencies of the requests of a batch. */
export interface BatchContext {
  /**
   * Returns the services for one request or group of the batch. Each request or group waits for a connection
   * separately.
   * @param stages measures the stages of a step; by default they belong to the batch
   */
  readonly servicesFor: (stages: StageListener | undefined) => ODataServices
  readonly config: DispatchConfig
  /** Returns the identity for a request of the batch: that of its own header, or that of the batch. */
  readonly identify: (authorization: string | undefined) => BatchIdentity | Promise<BatchIdentity>
  readonly report: (error: unknown) => string
  /** Called for each request that was executed. */
  readonly onRequest: (request: ExecutedRequest) => void
}

/** The client that sends requests of a batch. */
export interface BatchIdentity {
  readonly actor: Actor
  readonly caller: Caller
  /**
   * Counts requests of the batch, all or none.
   * @throws ProblemError TooManyRequests
   */
  readonly takeRequests: (count: number) => unknown
}

/** The request that contains the batch. */
type EnclosingRequest = Pick<ODataRequest, 'service' | 'root' | 'headers' | 'scope' | 'plans'>

/** A request of a batch, with the headers and identity that it inherits from the batch request. */
interface AuthenticatedBatchRequest {
  readonly request: BatchRequest
  readonly headers: ODataRequest['headers']
  readonly identity: BatchIdentity
}

const WRITE_METHODS: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE'])
const DEPENDENCY_FAILED = new ProblemError({ kind: 'DependencyFailed' })

/** Executes the steps of one batch. */
export class BatchExecutor {
  readonly #references: RequestReferences = new Map()
  readonly #inheritedHeaders: ODataRequest['headers']
  readonly #log: BatchLog

  constructor(
    private readonly enclosingRequest: EnclosingRequest,
    private readonly context: BatchContext,
  ) {
    this.#inheritedHeaders = toInheritedHeaders(enclosingRequest.headers)
    this.#log = new BatchLog(context.onRequest)
  }

  /**
   * Executes the steps one after the other, each when the caller requests its result. After a failed step,
   * the remaining steps are skipped unless `continueOnError` is true.
   */
  async *execute(steps: readonly BatchStep[], continueOnError: boolean): AsyncGenerator<BatchStepResult> {
    let isStopped = false
    for (const step of steps) {
      const startedAt = performance.now()
      const listener = isStopped ? undefined : this.enclosingRequest.scope.stages?.startStep?.()
      const outcome: BatchStepResult = isStopped
        ? this.#skipStep(step)
        : await this.#executeStep(step, this.context.servicesFor(listener))
      const executed = this.#log.addStep(outcome, performance.now() - startedAt)
      listener?.finish(executed)
      if (outcome.failedIndex !== undefined) registerFailure(step, this.#references)
      isStopped ||= outcome.failedIndex !== undefined && !continueOnError
      yield outcome
    }
  }

  #skipStep(step: BatchStep): BatchStepResult {
    const responses = step.requests.map(request => this.#toErrorResponse(request, DEPENDENCY_FAILED))
    return { step, responses, failedIndex: 0, skipped: true }
  }

  #executeStep(step: BatchStep, services: ODataServices): Promise<BatchStepResult> {
    return step.atomic
      ? this.#executeAtomicityGroup(step, services)
      : this.#executeIndividualRequest(step, services)
  }

  async #executeIndividualRequest(step: BatchStep, services: ODataServices): Promise<BatchStepResult> {
    const responses: ODataResponse[] = []
    for (const request of step.requests) {
      try {
        responses.push(await this.#executeRequest(await this.#admit(request), services, this.#references))
      } catch (error) {
        return { step, responses: [this.#toErrorResponse(request, error)], failedIndex: 0 }
      }
    }
    return { step, responses }
  }

  /** Executes a group in one transaction, which is rolled back if a request of it fails (Part 1, 11.7.4). */
  async #executeAtomicityGroup(step: BatchStep, services: ODataServices): Promise<BatchStepResult> {
    const { requests } = step
    let index = 0
    const each = async <F, T>(
      items: readonly F[],
      work: (item: F) => T | Promise<T>,
    ): Promise<readonly T[]> => {
      const results: T[] = []
      for (index = 0; index < items.length; index++) results.push(await work(items[index] as F)) // within its length
      return results
    }
    try {
      const authenticated = await each(requests, request => this.#authenticate(request))
      await takeRequests(authenticated)
      const keys = await each(authenticated, one => this.#keysToLock(one, step))
      const { answers: responses, known } = await services.writing.transaction(keys.flat(), async writing => {
        const attemptReferences = new Map(this.#references)
        return {
          answers: await each(authenticated, one =>
            this.#executeRequest(one, toGroupServices(services, writing), attemptReferences),
          ),
          known: attemptReferences,
        }
      })
      for (const [name, reference] of known) this.#references.set(name, reference)
      if (step.atomicityGroup !== undefined) this.#references.set(step.atomicityGroup, { succeeded: true })
      return { step, responses }
    } catch (error) {
      // An error of the commit is reported with the last request.
      const failedIndex = Math.min(index, requests.length - 1)
      return {
        step,
        responses: requests.map((request, i) =>
          this.#toErrorResponse(request, i === failedIndex ? error : DEPENDENCY_FAILED),
        ),
        failedIndex,
      }
    }
  }

  /**
   * Returns the keys of the records that the writes of a group name, as far as they are known before the
   * group begins.
   * @throws ProblemError BadRequest if the group contains a request that is not a write
   */
  #keysToLock(authenticated: AuthenticatedBatchRequest, { requests }: BatchStep): readonly string[] {
    const { method, url } = authenticated.request
    const reference = referenceOf(url)
    if (!WRITE_METHODS.has(method)) failNotAWrite()
    if (requests.some(({ id }) => id !== undefined && id === reference)) return []
    const { path } = this.#parse(authenticated, this.#references)
    if (path.kind === 'batch' || ('form' in path && path.form === 'query')) failNotAWrite()
    return path.kind === 'record' && path.navigationPath.length === 0 && path.key !== undefined
      ? [path.key]
      : []
  }

  /**
   * Completes a request with what it inherits from the batch request. A request with its own token runs as
   * the owner of that token.
   */
  async #authenticate(request: BatchRequest): Promise<AuthenticatedBatchRequest> {
    const identity = await this.context.identify(request.headers.authorization)
    this.#log.setCaller(request, identity.caller)
    return { request, identity, headers: { ...this.#inheritedHeaders, ...request.headers } }
  }

  /** Authenticates and counts a request. */
  async #admit(request: BatchRequest): Promise<AuthenticatedBatchRequest> {
    const authenticated = await this.#authenticate(request)
    await authenticated.identity.takeRequests(1)
    return authenticated
  }

  #parse(
    { request, headers, identity }: AuthenticatedBatchRequest,
    references: RequestReferences,
  ): ParsedODataRequest {
    const { service, root, plans, scope } = this.enclosingRequest
    const { method, url, readBody, readText } = request
    const parsed = parseRequest(
      {
        method,
        service,
        root,
        headers,
        actor: identity.actor,
        scope,
        plans,
        readBody,
        readText,
        ...resolveRequestUrl(url, root, service.path, references),
      },
      this.context.config,
    )
    this.#log.setPath(request, parsed.path)
    return parsed
  }

  async #executeRequest(
    authenticated: AuthenticatedBatchRequest,
    service: ODataServices,
    references: RequestReferences,
  ): Promise<ODataResponse> {
    const { request } = authenticated
    checkDependencies(request, references)
    const parsed = this.#parse(
      { ...authenticated, headers: resolveETagReferences(authenticated.headers, references) },
      references,
    )
    const response = await dispatchRequest(parsed, service)
    if ('chunks' in response) throw new Error('A batch has no exports')
    const { body, ...answer } = response
    registerSuccess(request, parsed, answer, references)
    const headers = { 'OData-Version': parsed.request.version, ...answer.headers }
    return { ...answer, headers, ...(body !== undefined && request.method !== 'HEAD' && { body }) }
  }

  #toErrorResponse({ headers }: BatchRequest, error: unknown): ODataResponse {
    const response = toODataErrorResponse(error, this.context.report)
    return {
      ...response,
      headers: {
        'OData-Version': negotiateVersion({ ...this.#inheritedHeaders, ...headers }),
        ...response.headers,
      },
    }
  }
}

/** Counts the requests of a group, which is refused as a whole. */
async function takeRequests(authenticated: readonly AuthenticatedBatchRequest[]): Promise<void> {
  const counts = new Map<BatchIdentity, number>()
  for (const { identity } of authenticated) counts.set(identity, (counts.get(identity) ?? 0) + 1)
  for (const [identity, count] of counts) await identity.takeRequests(count)
}

const failNotAWrite = (): never => fail({ kind: 'BadRequest', reason: REASONS.batchGroupOnlyWrites })

/**
 * Returns the headers that requests inherit. Prefer is not inherited: `return` does not apply to batches
 * (Part 1, 8.2.8.7), and page sizes apply only to requests that have pages.
 */
function toInheritedHeaders({
  accept,
  'odata-maxversion': maxVersion,
}: ODataRequest['headers']): ODataRequest['headers'] {
  return {
    ...(accept !== undefined && acceptsJson(accept) && { accept }),
    ...(maxVersion !== undefined && { 'odata-maxversion': maxVersion }),
  }
}

/**
 * Returns true if the requests accept JSON. An Accept header that names only `multipart/mixed` is about the
 * batch and says nothing about its parts.
 */
function acceptsJson(accept: string): boolean {
  try {
    return negotiateJsonFormat({ accept, format: undefined }).contentType !== ''
  } catch {
    return false
  }
}
