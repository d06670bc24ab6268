import type { Caller } from '../../http/auth/caller.js'
import { splitTarget, toLoggedName } from '../../http/log.js'
import { operationOf } from '../url/operation.js'
import type { ResourcePath } from '../url/resource-path.js'
import type { BatchRequest, BatchStepResult } from './batch-request.js'

/** A request of a batch after its execution, as the log shows it. */
export interface ExecutedRequest {
  /** The id of the request in the batch, or its number. */
  readonly part: string
  readonly method: string
  readonly path: string
  readonly status: number
  /** Time of the request, or of its whole group. */
  readonly ms: number
  readonly operation: string | undefined
  /** Undefined if the request has its own token, which was refused, or if it was not executed. */
  readonly caller: Caller | undefined
}

interface RequestFacts {
  caller?: Caller
  operation?: string
}

/** Collects the properties of the requests of one batch, and reports each with its status. */
export class BatchLog {
  readonly #report: (request: ExecutedRequest) => void
  readonly #facts = new Map<BatchRequest, RequestFacts>()
  #count = 0

  constructor(report: (request: ExecutedRequest) => void) {
    this.#report = report
  }

  setCaller(request: BatchRequest, caller: Caller): void {
    this.#factsOf(request).caller = caller
  }

  setPath(request: BatchRequest, path: ResourcePath): void {
    this.#factsOf(request).operation = operationOf(path)
  }

  /** Reports the requests of a step, and returns them. */
  addStep({ step, responses }: BatchStepResult, ms: number): readonly ExecutedRequest[] {
    const executed: ExecutedRequest[] = []
    for (const [i, request] of step.requests.entries()) {
      this.#count += 1
      const { caller, operation } = this.#factsOf(request)
      this.#facts.delete(request)
      const { status } = responses[i] ?? {}
      if (status === undefined) continue
      executed.push({
        part: toLoggedName(request.id ?? String(this.#count)),
        method: request.method,
        path: splitTarget(request.url).path,
        status,
        ms: Math.round(ms * 10) / 10,
        operation,
        caller,
      })
    }
    for (const request of executed) this.#report(request)
    return executed
  }

  #factsOf(request: BatchRequest): RequestFacts {
    const known = this.#facts.get(request) ?? {}
    this.#facts.set(request, known)
    return known
  }
}
