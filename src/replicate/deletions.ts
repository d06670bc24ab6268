import { failFlag } from './failure.js'
import type { Replication } from './replication.js'
import type { SourceSet } from './source-model.js'

/** Share of a set. More deletions require --allow-deletions. */
const MAX_SHARE = 0.2
/** Number of deletions that any set may have, also a small one. */
const MIN_RECORDS = 20

/** Counts the deletions since the copy was last up to date. */
export class DeletionGuard {
  readonly #totals = new Map<string, number>()
  readonly #deleted = new Map<string, number>()

  constructor(private readonly replication: Replication) {}

  /** @throws ReplicationError if the deletions together are too many */
  async check(set: SourceSet, count: number): Promise<void> {
    if (count === 0 || this.replication.options.allowDeletions) return
    const total = this.#totals.get(set.name) ?? (await this.replication.target.count(set, 0)).total
    this.#totals.set(set.name, total)
    const deleted = (this.#deleted.get(set.name) ?? 0) + count
    this.#deleted.set(set.name, deleted)
    checkDeletions(set, deleted, total)
  }

  reset(): void {
    this.#totals.clear()
    this.#deleted.clear()
  }
}

export function checkDeletions(set: SourceSet, deleted: number, total: number): void {
  if (deleted > MIN_RECORDS && deleted > total * MAX_SHARE)
    failFlag(
      `Stopped before ${deleted} of ${total} records of ${set.name} would be deleted. If that is right, run again with --allow-deletions.`,
    )
}
