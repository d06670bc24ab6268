import { monotonicFactory } from 'ulid'

/**
 * Generates keys of new listings: `Draft` and a ULID (the time in milliseconds and 80 random bits, in base 32).
 * Keys sort by time of creation. The keys of one process also sort within a millisecond and while its clock
 * is set back. Random bits separate the keys of several processes.
 */
export class ListingKeyGenerator {
  readonly #nextId = monotonicFactory()

  next(now: Date): string {
    return `Draft${this.#nextId(now.getTime())}`
  }
}
