import { failFlag } from './failure.js'
import type { Replication } from './replication.js'
import type { SourceSet } from './source-model.js'
import type { DeletionCount } from './state.js'

/** Share of a set. More deletions require --allow-deletions. */
const MAX_SHARE = 0.2
/** Number of deletions that any set may have, also a small one. */
const MIN_RECORDS = 20

/**
 * Counts the deletions since the copy was last up to date. The counts are stored with the position,
 * since a supervisor can restart the client repeatedly.
 */
export class DeletionGuard {
  #counts: Readonly<Record<string, DeletionCount>>

  constructor(private readonly replication: Replication) {
    this.#counts = replication.state.deletions ?? {}
  }

  get counts(): Readonly<Record<string, DeletionCount>> {
    return this.#counts
  }

  /** @throws ReplicationError if the deletions together are too many */
  async check(set: SourceSet, count: number): Promise<void> {
    if (count === 0 || this.replication.options.allowDeletions) return
    const before = this.#counts[set.name]
    const total = before?.total ?? (await this.replication.target.count(set, 0)).total
    const deleted = (before?.deleted ?? 0) + count
    this.#counts = { ...this.#counts, [set.name]: { deleted, total } }
    checkDeletions(set, deleted, total)
  }
}

export function checkDeletions(set: SourceSet, deleted: number, total: number): void {
  if (deleted > MIN_RECORDS && deleted > total * MAX_SHARE)
    failFlag(
      `Stopped before ${deleted} of ${total} records of ${set.name} would be deleted. If this is intended, run again with --allow-deletions.`,
    )
}
