import { type RecordChange, readRecordChanges } from '../data/changes/record-changes.js'
import { type Page, readPage } from '../data/read/read-records.js'
import { parseCursor, RecordPage } from '../data/sql/json/records.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { audiencesOf } from '../domain/audiences.js'
import { authorize } from '../domain/authorize.js'
import { effectiveFeedOf, hiddenResources } from '../domain/feeds/feed.js'
import { getScalar, type Navigation } from '../model/model.js'
import type { Tracking } from '../query/cursor.js'
import { memoize } from '../query/memoize.js'
import { afterCursor } from '../query/parameter.js'
import {
  anyOf,
  columnOf,
  type Expr,
  type Plan,
  predicate,
  rowSource,
  textLiteral,
  withFilter,
} from '../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../query/representation.js'
import type { TrackedSources } from './tracked-sources.js'
import type { TrackingContext } from './tracking.js'

/** A record to replace or remove in the copy of a reader. */
export type Change =
  | { readonly kind: 'changed'; readonly key: string; readonly json: string }
  | {
      readonly kind: 'removed'
      readonly key: string
      /** `changed`: the record does not match the filter, or the reader cannot see it. */
      readonly reason: 'deleted' | 'changed'
    }

/** Maximum number of events of a page. */
const MAX_EVENTS = 10_000
/**
 * Maximum number of batches without a change that one request reads. After that the page ends early, with a
 * token at the position reached.
 */
const MAX_BATCHES = 50

/** A position before the event `until`, which is the last one to read. */
type BoundedPosition = Tracking & Required<Pick<Tracking, 'until'>>

/** Changes and the position after them. A position without `until` is up to date. */
interface ChangeBatch {
  readonly changes: readonly Change[]
  readonly next: Tracking
}

/** Reads a page of the changes of a query since a position. */
export class DeltaReader {
  readonly #resources: readonly string[]
  readonly #audiences: readonly string[]
  readonly #size: number

  constructor(
    private readonly reader: StatementExecutor,
    private readonly plan: Plan,
    private readonly sources: TrackedSources,
    private readonly representation: Representation,
    private readonly context: TrackingContext,
  ) {
    const { children, references } = sources
    const hidden = hiddenResources(effectiveFeedOf(context.actor))
    const resources = [plan.entity.name, ...children, ...references.map(({ target }) => target)]
    this.#resources = [...new Set(resources)].filter(name => !hidden.has(name))
    this.#audiences = audiencesOf(context.actor)
    this.#size = plan.top ?? 1
  }

  /** Reads the next changes, skipping events that change nothing for the reader. */
  async readPage(start: BoundedPosition): Promise<ChangeBatch> {
    let position = start
    for (let batches = 1; ; batches++) {
      const { changes, next } = await this.#readBatch(position)
      const isLast = next.until === undefined
      if (changes.length > 0 || isLast) return { changes, next }
      if (batches === MAX_BATCHES) return { changes, next: withoutEnd(next, next.since) }
      position = { ...next, until: start.until }
    }
  }

  async #readBatch(position: BoundedPosition): Promise<ChangeBatch> {
    const { since, until, within } = position
    const events = await readRecordChanges(this.reader, {
      resources: this.#resources,
      audiences: this.#audiences,
      after: since,
      until: within?.through ?? until,
      limit: within ? MAX_EVENTS : this.#size + 1,
    })
    const batch = within ? events : events.slice(0, this.#size)
    const through =
      within?.through ?? (events.length > batch.length ? (batch.at(-1)?.sequence ?? until) : until)
    const own = within ? [] : await this.#readOwnChanges(batch)
    const referring = await this.#readReferring(batch, within?.key, this.#size - own.length)
    const met = new Set(own.map(({ key }) => key))
    const changes = [...own, ...toChanges(referring.records).filter(({ key }) => !met.has(key))]
    const { within: _, ...rest } = position
    const [lastKey] = referring.next ?? []
    if (typeof lastKey === 'string')
      return { changes, next: { ...position, within: { through, key: lastKey } } }
    return { changes, next: through === until ? withoutEnd(rest, until) : { ...rest, since: through } }
  }

  /** Returns one change for each record of the entity that has an event, in the order of their last events. */
  async #readOwnChanges(batch: readonly RecordChange[]): Promise<readonly Change[]> {
    const { entity } = this.plan
    const own = new Map<string, RecordChange | undefined>()
    for (const event of batch) {
      const isOwn = event.resource === entity.name
      const key = isOwn ? event.key : this.sources.children.has(event.resource) ? event.listingKey : null
      if (key === null) continue
      const known = own.get(key)
      own.delete(key)
      own.set(key, isOwn ? event : known)
    }
    const keys = [...own.keys()]
    const records = new Map((await this.#readByKeys(this.plan, keys)).map(change => [change.key, change]))
    const absent = keys.filter(key => !records.has(key) && !own.get(key))
    const seen = await this.#findVisible(absent)
    return keys.flatMap((key): readonly Change[] => {
      const record = records.get(key)
      if (record) return [record]
      const event = own.get(key)
      // A record that the reader cannot see is named only if it has an event of its own.
      if (!event && !seen.has(key)) return []
      return [{ kind: 'removed', key, reason: event?.isRemoval ? 'deleted' : 'changed' }]
    })
  }

  /** Returns the visible listings whose children have events, if the filter reads the children. */
  async #findVisible(keys: readonly string[]): Promise<ReadonlySet<string>> {
    if (this.sources.filterChildren.size === 0) return new Set()
    return new Set((await this.#readByKeys(withoutFilter(this.plan), keys)).map(({ key }) => key))
  }

  async #readByKeys(plan: Plan, keys: readonly string[]): Promise<readonly Change[]> {
    if (keys.length === 0) return []
    const { key } = plan.entity
    const isOneOf = isIn(columnOf(key, rowSource(plan.row)), keys)
    const representation = plan === this.plan ? this.representation : BARE_REPRESENTATION
    return toChanges(
      (await this.#read({ ...withFilter(plan, isOneOf), top: keys.length }, representation)).records,
    )
  }

  /**
   * Reads the records of the query that refer to a changed record, in the order of their keys. A reference
   * that the reader may not read is not followed.
   */
  async #readReferring(
    batch: readonly RecordChange[],
    afterKey: string | undefined,
    limit: number,
  ): Promise<Pick<Page, 'records' | 'next'>> {
    const terms = this.sources.references.flatMap(navigation => this.#toReference(navigation, batch))
    if (terms.length === 0) return NO_RECORDS
    const plan = { ...withFilter(this.plan, anyOf(...terms)), top: Math.max(1, limit) }
    return afterKey === undefined
      ? this.#read(plan, this.representation)
      : this.#read(afterCursor(plan, [afterKey]), this.representation, [afterKey])
  }

  #toReference({ local, target }: Navigation, batch: readonly RecordChange[]): readonly Expr[] {
    const keys = [...new Set(batch.filter(({ resource }) => resource === target).map(({ key }) => key))]
    const { entity, row } = this.plan
    return keys.length === 0 ? [] : [isIn(columnOf(getScalar(entity, local), rowSource(row)), keys)]
  }

  #read(plan: Plan, representation: Representation, parameters?: readonly string[]): Promise<Page> {
    const { actor, policy } = this.context
    return readPage(this.reader, authorize(plan, actor, policy), representation, parameters)
  }
}

const NO_RECORDS: Pick<Page, 'records' | 'next'> = { records: RecordPage.EMPTY }

/** Returns the position of a reader that is up to date. */
function withoutEnd(position: Tracking, since: string): Tracking {
  const { until: _, within: __, ...rest } = position
  return { ...rest, since }
}

const isIn = (column: Expr, keys: readonly string[]): Expr =>
  predicate('in', column, { kind: 'list', items: keys.map(textLiteral), type: 'Collection(String)' })

const toChanges = ({ list }: Pick<RecordPage, 'list'>): readonly Change[] =>
  list.map(record => ({ kind: 'changed', key: parseCursor(record)[0] ?? '', json: record.json }))

/** A query of the keys of a set, without its filter and its content. */
const withoutFilter = memoize(function withoutFilter({
  filter: _,
  controlInformation: __,
  memberOrder: ___,
  ...plan
}: Plan): Plan {
  return { ...plan, select: [], expand: [] }
})
