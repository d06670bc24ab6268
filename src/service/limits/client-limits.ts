import type { QuotaKind } from '../../data/clients/quota-store.js'
import { FairSemaphore } from '../../data/fair-semaphore.js'
import type { Client, ClientLimits } from '../../domain/clients/client.js'
import type { ClientAllowance, RequestQuotaState } from '../../domain/clients/limiter.js'
import type { StatementPermits } from '../../domain/request-scope.js'
import { LIMITS_REACHED } from '../../errors/phrases.js'
import { fail, ProblemError, type ReachedLimit } from '../../errors/problem.js'
import type { UsageRecorder } from '../clients/usage-recorder.js'
import { PortionSource, type PortionSourceDependencies } from './portion-source.js'
import { type ProcessCounter, Quota } from './quota.js'

/** A limit that refuses requests. */
export type LimitName = keyof ClientLimits

/** Dependencies of the limits of a client. */
export interface ClientLimitDependencies
  extends Pick<PortionSourceDependencies, 'database' | 'processId' | 'onProcessCount'> {
  readonly countProcesses: ProcessCounter
  readonly usage: Pick<UsageRecorder, 'add'>
  readonly onRefusal: (client: Client, limit: LimitName, count: number) => void
}

/** A request that waits for a portion. */
interface QuotaWaiter<T> {
  readonly count: number
  readonly resolve: (value: T) => void
  readonly reject: (error: ProblemError) => void
}

const DAY_SECONDS = 86_400
const LIMIT_OF_KIND = {
  minute: 'requestsPerMinute',
  day: 'requestsPerDay',
  rows: 'rowsPerDay',
} as const satisfies Record<QuotaKind, LimitName>
/** The quotas with their windows in seconds. */
const QUOTAS: readonly (readonly [QuotaKind, windowSeconds: number])[] = [
  ['minute', 60],
  ['day', DAY_SECONDS],
  ['rows', DAY_SECONDS],
]
/** Retry-After when a client has reached its limit of running statements, in seconds. */
const STATEMENT_RETRY_AFTER_S = 5
/** Time without a request after which a process returns its reserve for bursts, in ms. */
const IDLE_MS = 2000

/** The limits of one client in one process. */
export class ClientLimitState implements ClientAllowance {
  readonly #dependencies: ClientLimitDependencies
  readonly #source: PortionSource
  readonly #permits = new FairSemaphore({ permits: Number.MAX_SAFE_INTEGER, reserved: 0 })
  #client: Client
  #requests: readonly Quota[] = []
  #rows: Quota | undefined
  #policy = ''
  readonly #waiting: QuotaWaiter<RequestQuotaState | undefined>[] = []
  #waitingForRows: QuotaWaiter<void>[] = []
  #usedAt = performance.now()

  constructor(client: Client, dependencies: ClientLimitDependencies) {
    this.#dependencies = dependencies
    this.#client = client
    this.#source = new PortionSource({
      ...dependencies,
      clientId: client.id,
      neededOf: quota => this.#neededOf(quota),
      onTaken: error => this.#serve(error),
    })
    this.#setLimits()
  }

  get statements(): StatementPermits | undefined {
    return this.#client.limits.runningStatements === undefined ? undefined : this.#permits
  }

  get policy(): string {
    return this.#policy
  }

  /** Returns true if the client has a limit. */
  get isLimited(): boolean {
    return Object.keys(this.#client.limits).length > 0
  }

  /** Applies the limits of a changed client. */
  setClient(client: Client): void {
    if (client === this.#client) return
    this.#client = client
    this.#setLimits()
  }

  #setLimits(): void {
    const client = this.#client
    const known = new Map([...this.#requests, ...(this.#rows ? [this.#rows] : [])].map(q => [q.kind, q]))
    const quotas = QUOTAS.flatMap(([kind, windowSeconds]) => {
      const limit = LIMIT_OF_KIND[kind]
      const value = client.limits[limit]
      if (value === undefined) return []
      const reached: ReachedLimit = { value, reason: LIMITS_REACHED[limit](value), windowSeconds }
      const quota = known.get(kind) ?? new Quota(kind, reached, this.#dependencies.countProcesses)
      quota.setLimit(reached)
      return [quota]
    })
    this.#requests = quotas.filter(({ kind }) => kind !== 'rows')
    this.#rows = quotas.find(({ kind }) => kind === 'rows')
    this.#policy = this.#requests.map(({ limit }) => `${limit.value};w=${limit.windowSeconds}`).join(', ')
    this.#source.setQuotas(quotas)
    this.divideStatements()
    this.#serve()
  }

  /** Sets the share of this process in the running statements, which is at least one. */
  divideStatements(): void {
    const { runningStatements } = this.#client.limits
    if (runningStatements !== undefined)
      this.#permits.resize(Math.max(1, Math.floor(runningStatements / this.#dependencies.countProcesses())))
  }

  takeRequests(count: number): RequestQuotaState | undefined | Promise<RequestQuotaState | undefined> {
    const now = performance.now()
    this.#usedAt = now
    if (this.#requests.length === 0) return this.#takeNow(count, now)
    if (this.#waiting.length === 0) {
      if (this.#canTake(count, now)) return this.#takeNow(count, now)
      this.#checkExceeded(count, now)
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ count, resolve, reject })
      this.#source.scheduleTake(now)
    })
  }

  checkRows(): void | Promise<void> {
    const rows = this.#rows
    if (!rows) return
    const now = performance.now()
    this.#usedAt = now
    if (rows.canTake(1, now)) return
    if (rows.isExceededBy(1, now)) {
      this.#takeIfDue(rows, now)
      throw this.#refuse(rows, now, 1)
    }
    return new Promise((resolve, reject) => {
      this.#waitingForRows.push({ count: 1, resolve, reject })
      this.#source.scheduleTake(now)
    })
  }

  addRows(count: number): void {
    if (count === 0) return
    this.#dependencies.usage.add(this.#client.id, { rows: count })
    const rows = this.#rows
    rows?.use(count)
    if (rows) this.#takeIfDue(rows, performance.now())
  }

  refuseStatement(): never {
    this.#countRefusals('runningStatements', 1)
    const value = this.#client.limits.runningStatements ?? 0
    return fail({
      kind: 'TooManyRequests',
      retryAfter: STATEMENT_RETRY_AFTER_S,
      reason: LIMITS_REACHED.runningStatements(value),
    })
  }

  countRefusal(): void {
    this.#dependencies.usage.add(this.#client.id, { refused: 1 })
  }

  /** Returns the reserves of an idle client. */
  returnUnusedIfIdle(now: number): void {
    if (now - this.#usedAt < IDLE_MS || !this.#source.isFree(now)) return
    const excessive = this.#quotas.filter(quota => quota.isExcessive(now))
    if (excessive.length === 0) return
    for (const quota of excessive) quota.returnUnused()
    this.#source.scheduleTake(now)
  }

  close(): Promise<void> {
    return this.#source.close()
  }

  get #quotas(): readonly Quota[] {
    return this.#rows ? [...this.#requests, this.#rows] : this.#requests
  }

  #canTake(count: number, now: number): boolean {
    return this.#requests.every(quota => quota.canTake(count, now))
  }

  #takeNow(count: number, now: number): RequestQuotaState | undefined {
    this.#dependencies.usage.add(this.#client.id, { requests: count })
    for (const quota of this.#requests) quota.use(count)
    for (const quota of this.#requests) this.#takeIfDue(quota, now)
    return this.#stateAt(now)
  }

  /** Requests a new portion before the current one is used up, if a statement is allowed now. */
  #takeIfDue(quota: Quota, now: number): void {
    if (quota.isDue(now) && this.#source.isFree(now)) this.#source.scheduleTake(now)
  }

  /** Returns the state of the quota that ends first. */
  #stateAt(now: number): RequestQuotaState | undefined {
    let found: RequestQuotaState | undefined
    for (const quota of this.#requests) {
      const remaining = quota.remaining(now)
      if (found === undefined || remaining < found.remaining)
        found = {
          limit: quota.limit.value,
          remaining,
          resetSeconds: quota.resetSeconds(now),
        }
    }
    return found
  }

  /** @throws ProblemError TooManyRequests of the limit that lasts longest */
  #checkExceeded(count: number, now: number): void {
    const [longest] = this.#requests
      .filter(quota => quota.isExceededBy(count, now))
      .sort((a, b) => b.resetSeconds(now) - a.resetSeconds(now))
    if (!longest) return
    this.#takeIfDue(longest, now)
    throw this.#refuse(longest, now, count)
  }

  #refuse(quota: Quota, now: number, count: number): ProblemError {
    this.#countRefusals(LIMIT_OF_KIND[quota.kind], count)
    return new ProblemError({
      kind: 'TooManyRequests',
      retryAfter: quota.resetSeconds(now),
      reason: quota.limit.reason,
      limit: quota.limit,
    })
  }

  #countRefusals(limit: LimitName, count: number): void {
    this.#dependencies.usage.add(this.#client.id, { refused: count })
    this.#dependencies.onRefusal(this.#client, limit, count)
  }

  #neededOf({ kind }: Quota): number {
    const waiting = kind === 'rows' ? this.#waitingForRows : this.#waiting
    return waiting.reduce((sum, { count }) => sum + count, 0)
  }

  /** Serves or refuses waiting requests in their order, after a statement or a change of the limits. */
  #serve(error?: ProblemError): void {
    const now = performance.now()
    this.#serveRows(now, error)
    while (this.#waiting[0]) {
      const [{ count, resolve, reject }] = this.#waiting
      const outcome = error ?? this.#tryTake(count, now)
      if (outcome === 'wait') break
      this.#waiting.shift()
      if (outcome instanceof ProblemError) reject(outcome)
      else resolve(outcome)
    }
    if (this.#waiting.length > 0 || this.#waitingForRows.length > 0) this.#source.scheduleTake(now)
  }

  #tryTake(count: number, now: number): RequestQuotaState | undefined | ProblemError | 'wait' {
    if (this.#canTake(count, now)) return this.#takeNow(count, now)
    try {
      this.#checkExceeded(count, now)
      return 'wait'
    } catch (error) {
      if (error instanceof ProblemError) return error
      throw error
    }
  }

  #serveRows(now: number, error: ProblemError | undefined): void {
    const rows = this.#rows
    if (!error && rows && !rows.canTake(1, now) && !rows.isExceededBy(1, now)) return
    const waiters = this.#waitingForRows
    this.#waitingForRows = []
    const refusal =
      error ??
      (rows?.isExceededBy(1, now) && waiters.length > 0 ? this.#refuse(rows, now, waiters.length) : undefined)
    for (const { resolve, reject } of waiters) {
      if (refusal) reject(refusal)
      else resolve()
    }
  }
}
