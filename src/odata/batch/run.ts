import type { Actor } from '../../domain/actor.js'
import { fail, ProblemError } from '../../errors/problem.js'
import type { Verifier } from '../../http/auth/bearer.js'
import { type DispatchSettings, type Opened, openRequest, perform } from '../dispatch.js'
import { chooseDataFormat } from '../protocol/negotiate.js'
import type { ODataRequest, Service } from '../protocol/request.js'
import { type Answer, toFailureAnswer } from '../protocol/response.js'
import { versionFor } from '../protocol/version.js'
import {
  checkDependencies,
  noteFailure,
  noteSuccess,
  type References,
  referenceIn,
  resolveTags,
  toTarget,
} from './references.js'
import type { BatchRequest, Outcome, Step } from './request.js'

/** What the requests of a batch are executed with. */
export interface BatchParts extends Service {
  readonly config: DispatchSettings
  readonly verifier: Verifier
  readonly report: (error: unknown) => string
}

/** The request that holds the batch. */
type Envelope = Pick<ODataRequest, 'root' | 'headers' | 'actor'>

/** A request of a batch with all that it has from the envelope. */
interface Admitted {
  readonly request: BatchRequest
  readonly headers: ODataRequest['headers']
  readonly actor: Actor
}

const WRITES: ReadonlySet<string> = new Set(['POST', 'PATCH', 'PUT', 'DELETE'])
const DEPENDENT = new ProblemError({ kind: 'DependencyFailed' })

/** Executes the steps of one batch. */
export class BatchRun {
  readonly #known: References = new Map()
  readonly #inherited: ODataRequest['headers']

  constructor(
    private readonly envelope: Envelope,
    private readonly parts: BatchParts,
  ) {
    this.#inherited = toInherited(envelope.headers)
  }

  /**
   * Executes one step after the other, each when its outcome is asked for. After one that failed nothing more
   * is executed, unless `goOn`.
   */
  async *execute(steps: readonly Step[], goOn: boolean): AsyncGenerator<Outcome> {
    let isStopped = false
    for (const step of steps) {
      const outcome: Outcome = isStopped ? this.#skip(step) : await this.#run(step)
      if (outcome.failed !== undefined) noteFailure(step, this.#known)
      isStopped ||= outcome.failed !== undefined && !goOn
      yield outcome
    }
  }

  #skip(step: Step): Outcome {
    const answers = step.requests.map(request => this.#fail(request, DEPENDENT))
    return { step, answers, failed: 0, skipped: true }
  }

  #run(step: Step): Promise<Outcome> {
    return step.atomic ? this.#runGroup(step) : this.#runSingle(step)
  }

  async #runSingle(step: Step): Promise<Outcome> {
    const answers: Answer[] = []
    for (const request of step.requests) {
      try {
        answers.push(await this.#answer(await this.#admit(request), this.parts, this.#known))
      } catch (error) {
        return { step, answers: [this.#fail(request, error)], failed: 0 }
      }
    }
    return { step, answers }
  }

  /** A group is one transaction: what succeeded before the one that failed is taken back (Part 1, 11.7.4). */
  async #runGroup(step: Step): Promise<Outcome> {
    const { requests } = step
    let at = 0
    const each = async <F, T>(
      items: readonly F[],
      work: (item: F) => T | Promise<T>,
    ): Promise<readonly T[]> => {
      const results: T[] = []
      for (at = 0; at < items.length; at++) results.push(await work(items[at] as F)) // within its length
      return results
    }
    try {
      const admitted = await each(requests, request => this.#admit(request))
      const keys = await each(admitted, one => this.#keyOf(one, step))
      const { answers, known } = await this.parts.writing.together(keys.flat(), async writing => {
        const attempt = new Map(this.#known)
        return {
          answers: await each(admitted, one => this.#answer(one, { ...this.parts, writing }, attempt)),
          known: attempt,
        }
      })
      for (const [name, reference] of known) this.#known.set(name, reference)
      if (step.group !== undefined) this.#known.set(step.group, { succeeded: true })
      return { step, answers }
    } catch (error) {
      // What fails after the last request, the end of the transaction, is told with that request.
      const failed = Math.min(at, requests.length - 1)
      return {
        step,
        answers: requests.map((request, i) => this.#fail(request, i === failed ? error : DEPENDENT)),
        failed,
      }
    }
  }

  /**
   * The key of the record that a write of a group names, if there is one before the group begins. A group
   * holds nothing but writes (`BadRequest`).
   */
  #keyOf(admitted: Admitted, { requests }: Step): readonly string[] {
    const { method, url } = admitted.request
    const reference = referenceIn(url)
    if (!WRITES.has(method)) refuseReading()
    if (requests.some(({ id }) => id !== undefined && id === reference)) return []
    const { path } = this.#open(admitted, this.#known)
    if (path.kind === 'batch' || ('form' in path && path.form === 'query')) refuseReading()
    return path.kind === 'record' && path.hops.length === 0 && path.key !== undefined ? [path.key] : []
  }

  /**
   * A request has from the envelope what it does not say itself. One with a token of its own is that of the
   * token's owner.
   */
  async #admit(request: BatchRequest): Promise<Admitted> {
    const { authorization } = request.headers
    const actor =
      authorization === undefined ? this.envelope.actor : await this.parts.verifier.verify(authorization)
    return { request, actor, headers: { ...this.#inherited, ...request.headers } }
  }

  #open({ request, headers, actor }: Admitted, known: References): Opened {
    const { root } = this.envelope
    const { method, url, readBody, readText } = request
    return openRequest(
      { method, root, headers, actor, readBody, readText, ...toTarget(url, root, known) },
      this.parts.config,
    )
  }

  async #answer(admitted: Admitted, service: Service, known: References): Promise<Answer> {
    const { request } = admitted
    checkDependencies(request, known)
    const opened = this.#open({ ...admitted, headers: resolveTags(admitted.headers, known) }, known)
    const { body, ...answer } = await perform(opened, service)
    noteSuccess(request, opened, answer, known)
    const headers = { 'OData-Version': opened.request.version, ...answer.headers }
    return { ...answer, headers, ...(body !== undefined && request.method !== 'HEAD' && { body }) }
  }

  #fail({ headers }: BatchRequest, error: unknown): Answer {
    const answer = toFailureAnswer(error, this.parts.report)
    return {
      ...answer,
      headers: { 'OData-Version': versionFor({ ...this.#inherited, ...headers }), ...answer.headers },
    }
  }
}

const refuseReading = (): never =>
  fail({ kind: 'BadRequest', reason: 'a group of a batch holds nothing but writes' })

/**
 * Preferences are left out: `return` is not for batches (Part 1, 8.2.8.7), and the size of a page is asked
 * for where there are pages.
 */
function toInherited({ accept, 'odata-maxversion': most }: ODataRequest['headers']): ODataRequest['headers'] {
  return {
    ...(accept !== undefined && admitsJson(accept) && { accept }),
    ...(most !== undefined && { 'odata-maxversion': most }),
  }
}

/** An Accept that is about the batch itself, `multipart/mixed`, says nothing about its parts. */
function admitsJson(accept: string): boolean {
  try {
    return chooseDataFormat({ accept, format: undefined }).contentType !== ''
  } catch {
    return false
  }
}
