import type { Database } from '../../data/database.js'
import {
  changeFeeds,
  computeListings,
  type FeedColumns,
  type FeedDetails,
  type FeedTransaction,
  readFeeds,
} from '../../data/feeds/feed-store.js'
import type { Author } from '../../domain/actor.js'
import type { ChangeConditions, Precondition } from '../../domain/write-shape.js'
import { refuseFaults } from '../../errors/change-error.js'
import { RESOURCES } from '../../errors/phrases.js'
import { type FeedLimits, feedFaults } from './feed-checks.js'
import { FeedChangeError, readFeedFilter } from './feed-filter.js'

/** Values of a new feed. */
export interface NewFeed extends FeedColumns {
  readonly FeedName: string
  readonly Filter: string
}

/** Columns whose change invalidates the copies of readers without an event. */
const CONTENT_COLUMNS: readonly (keyof FeedColumns)[] = [
  'HiddenFields',
  'OnlyFields',
  'SoldPriceDelayDays',
  'ShowsMedia',
  'ShowsOpenHouses',
  'ShowsMembers',
]

/**
 * Manages the feeds of the service. Each change is one transaction with its entry in the audit log, and reaches all
 * processes within seconds. Events for the listings that enter or leave follow in batches.
 */
export class FeedService {
  /** @param actor the author of the changes, for the audit log */
  constructor(
    private readonly database: Pick<Database, 'withClient'>,
    private readonly actor: Author,
    private readonly limits: FeedLimits,
  ) {}

  list(): Promise<readonly FeedDetails[]> {
    return readFeeds(this.database)
  }

  /** @throws FeedError if there is no such feed */
  async find(name: string): Promise<FeedDetails> {
    const [found] = await readFeeds(this.database, name)
    return found ?? refuseMissing(name)
  }

  /** Adds a feed and computes its listings. */
  async add(values: NewFeed, { faults }: ChangeConditions = {}): Promise<FeedDetails> {
    const filter = readFeedFilter(values.Filter)
    refuseFaults(faults, [...feedFaults(values, this.limits), ...filter.faults])
    const FilterSql = filter.sql
    const { FeedName } = values
    const { FeedId } = await changeFeeds(this.database, async transaction => {
      if (await transaction.lock(FeedName)) refuse(`The feed '${FeedName}' already exists.`)
      await transaction.checkFilter(FilterSql)
      await transaction.insert({ ...values, FilterSql })
      const added = await this.#audit(transaction, 'feed.add', FeedName, undefined)
      await transaction.compile()
      await transaction.raiseFloor(added.FeedId)
      return added
    })
    await computeListings(this.database, FeedId, false)
    return this.find(FeedName)
  }

  /**
   * Changes a feed. Listings that its filter leaves out are hidden immediately. The events of those that leave or enter
   * are written afterwards.
   */
  async change(name: string, columns: FeedColumns, conditions: ChangeConditions = {}): Promise<FeedDetails> {
    const { FeedId } = await changeFeeds(this.database, async transaction => {
      const before = (await transaction.lock(name)) ?? refuseMissing(name)
      await transaction.check(before.FeedId, conditions)
      const filter = columns.Filter === undefined ? undefined : readFeedFilter(columns.Filter)
      const faults = [...feedFaults({ ...before, ...columns }, this.limits), ...(filter?.faults ?? [])]
      refuseFaults(conditions.faults, faults)
      const FilterSql = filter?.sql
      if (FilterSql !== undefined) await transaction.checkFilter(FilterSql)
      const needsListings = FilterSql !== undefined || columns.SoldPriceDelayDays !== undefined
      await transaction.update(before.FeedId, {
        ...columns,
        ...(FilterSql !== undefined && { FilterSql }),
        ...(needsListings && { ComputedTimestamp: null }),
      })
      if (CONTENT_COLUMNS.some(column => column in columns)) await transaction.raiseFloor(before.FeedId)
      if (needsListings) await this.#recompile(transaction, before.FeedId)
      return this.#audit(transaction, 'feed.change', name, before)
    })
    if ((await this.find(name)).ComputedTimestamp === null) await computeListings(this.database, FeedId, true)
    return this.find(name)
  }

  /** Compiles the filter again and computes the listings: after an upgrade, or a change that was interrupted. */
  async refresh(name: string): Promise<FeedDetails> {
    const { Filter } = await this.find(name)
    return this.change(name, { Filter })
  }

  /** @throws FeedError while clients use the feed */
  async remove(name: string, condition: Precondition = {}): Promise<FeedDetails> {
    return changeFeeds(this.database, async transaction => {
      const before = (await transaction.lock(name)) ?? refuseMissing(name)
      await transaction.check(before.FeedId, condition)
      if (before.Clients.length > 0)
        refuse(
          `Clients use the feed '${name}': ${before.Clients.join(', ')}. Assign another feed to them first.`,
        )
      await transaction.audit({
        actor: this.actor, action: 'feed.remove', resource: 'Feed', key: name, before: auditedColumns(before),
      }) // biome-ignore format: one entry
      await transaction.update(before.FeedId, { RemovedTimestamp: new Date().toISOString() })
      await transaction.compile()
      await transaction.deleteListings(before.FeedId)
      return before
    })
  }

  async #recompile(transaction: FeedTransaction, id: number): Promise<void> {
    await transaction.compile()
    await transaction.hideLeavingListings(id)
  }

  /** Writes the entry of a change, with the values that differ, and returns the feed after it. */
  async #audit(
    transaction: FeedTransaction,
    action: string,
    name: string,
    before: FeedDetails | undefined,
  ): Promise<FeedDetails> {
    const after = await transaction.lock(name)
    if (!after) throw new Error(`The feed ${name} is not readable after its change`)
    await transaction.auditChange(
      { actor: this.actor, action, resource: 'Feed', key: name },
      before && auditedColumns(before),
      auditedColumns(after),
    )
    return after
  }
}

/** The columns of a feed that an operator sets. */
function auditedColumns(feed: FeedDetails): Readonly<Record<string, unknown>> {
  const {
    FilterSql: _,
    Listings: __,
    Clients: ___,
    ModificationTimestamp: ____,
    ComputedTimestamp: _____,
    ...columns
  } = feed
  return columns
}

const refuseMissing = (name: string): never => {
  throw new FeedChangeError(`There is no feed '${name}'.`, {
    kind: 'NotFound',
    what: RESOURCES.recordOf('Feed', name),
  })
}

const refuse = (reason: string): never => {
  throw new FeedChangeError(reason)
}
