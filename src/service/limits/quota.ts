import type { Portion, PortionRequest, QuotaKind } from '../../data/clients/quota-store.js'
import type { ReachedLimit } from '../../errors/problem.js'

/** Share of a limit that all processes together hold in reserve. */
const RESERVED_PART = 0.05
/**
 * A process takes one unit more than its requests need: `canTake` uses the last unit only if no process can
 * take another.
 */
const MIN_RESERVE = 1
/** A process takes enough for this time at the current rate, in seconds. */
const RESERVE_SECONDS = 2
/** Minimum time between two statements of a process for a client, in ms. */
export const STATEMENT_INTERVAL_MS = 1000
/** Age after which the untaken number is read again, in ms. */
const MAX_AGE_MS = 2000

/** Returns the number of processes that take from quotas. */
export type ProcessCounter = () => number

/**
 * One limit of a client in one process: the portion that the process has taken, and the number that no
 * process had taken at the last statement. A portion is never larger than the rest of the limit, so the
 * processes together never exceed it.
 */
export class Quota {
  readonly kind: QuotaKind
  readonly #countProcesses: ProcessCounter
  #limit: ReachedLimit
  #portion = 0
  /** The number that no process had taken at the last statement. */
  #untaken = 0
  #window: string | null = null
  #endsAt = Number.NEGATIVE_INFINITY
  #takenAt = Number.NEGATIVE_INFINITY
  #returned = 0
  #consumed = 0
  /** Consumption per second before the last statement. */
  #rate = 0

  constructor(kind: QuotaKind, limit: ReachedLimit, countProcesses: ProcessCounter) {
    this.kind = kind
    this.#limit = limit
    this.#countProcesses = countProcesses
  }

  get limit(): ReachedLimit {
    return this.#limit
  }

  /** Changes the limit. The portion is returned, so that the new limit applies immediately. */
  setLimit(limit: ReachedLimit): void {
    if (limit.value === this.#limit.value) return
    this.#limit = limit
    this.returnUnused(0)
    this.#endsAt = Number.NEGATIVE_INFINITY
  }

  /** Returns true if the portion covers this number. The last unit is used only if no other is left. */
  canTake(count: number, now: number): boolean {
    return now < this.#endsAt && (this.#portion > count || (this.#portion >= count && this.#untaken === 0))
  }

  /** Returns true if the rest of the limit is smaller than this number. */
  isExceededBy(count: number, now: number): boolean {
    return now < this.#endsAt && Math.max(0, this.#portion) + this.#untaken < count
  }

  /** Consumes from the portion, which may become negative. */
  use(count: number): void {
    this.#portion -= count
    this.#consumed += count
  }

  /** Returns a lower bound of the rest of the limit, whatever other processes take in the meantime. */
  remaining(now: number): number {
    if (now >= this.#endsAt) return 0
    return Math.max(0, this.#portion) + this.#leftByOthers(now)
  }

  /**
   * Each other process may have run one statement for each second since the last one of this process, and two more. The
   * function take_quotas bounds what each of them takes.
   */
  #leftByOthers(now: number): number {
    const others = this.#countProcesses() - 1
    if (others <= 0) return this.#untaken
    const statements = others * (Math.floor((now - this.#takenAt) / STATEMENT_INTERVAL_MS) + 2)
    const part = 1 - 1 / (2 * (others + 1))
    const least = Math.max(2, Math.floor(this.#limit.value / 100))
    return Math.max(0, Math.floor(this.#untaken * part ** statements) - statements * least)
  }

  /** Returns the seconds until the window ends, as an integer. */
  resetSeconds(now: number): number {
    return Math.max(1, Math.ceil((this.#endsAt - now) / 1000))
  }

  /** Returns true if a statement should be run before the portion is used up. */
  isDue(now: number): boolean {
    if (now >= this.#endsAt || this.#portion < 0) return true
    if (this.#untaken > 0 && this.#portion * 2 < this.#reserve()) return true
    return this.#countProcesses() > 1 && now - this.#takenAt > MAX_AGE_MS
  }

  /** Returns true if the portion exceeds the reserve of an idle process. */
  isExcessive(now: number): boolean {
    return now < this.#endsAt && this.#portion > this.#minReserve()
  }

  /** Returns the portion to the database with the next statement, except for `retained`. */
  returnUnused(retained = this.#minReserve()): void {
    const excess = Math.max(0, this.#portion - retained)
    this.#portion -= excess
    this.#returned += excess
    this.#rate = 0
  }

  /** Returns the request of the next statement. Waiting requests need the number `needed`. */
  createRequest(needed: number, now: number): PortionRequest {
    const seconds = Math.max(1, (now - this.#takenAt) / 1000)
    this.#rate = this.#consumed / seconds
    this.#consumed = 0
    const debt = Math.max(0, -this.#portion)
    this.#portion += debt
    const adjustment = debt - this.#returned
    this.#returned = 0
    return {
      kind: this.kind,
      limit: this.#limit.value,
      window: this.#window,
      adjustment,
      wanted: Math.max(0, needed + this.#reserve() - this.#portion),
    }
  }

  /** Applies the result of a statement. */
  apply(
    { granted, remaining, window, millisecondsLeft }: Portion,
    { limit }: PortionRequest,
    now: number,
  ): void {
    // The rest of an earlier window is lost.
    if (window !== this.#window) this.#portion = Math.min(0, this.#portion)
    this.#window = window
    this.#portion += granted
    this.#takenAt = now
    if (limit === this.#limit.value) {
      this.#untaken = remaining
      this.#endsAt = now + millisecondsLeft
    } else this.returnUnused(0)
  }

  /**
   * Restores the debt that a failed statement would have recorded. An amount that it returned is lost, since
   * the database may have recorded it.
   */
  restore({ adjustment }: PortionRequest): void {
    this.#portion -= Math.max(0, adjustment)
  }

  #reserve(): number {
    return Math.max(this.#minReserve(), Math.ceil(this.#rate * RESERVE_SECONDS))
  }

  #minReserve(): number {
    return Math.max(MIN_RESERVE, Math.floor((this.#limit.value * RESERVED_PART) / this.#countProcesses()))
  }
}
