import { type LogState, readLogEnd } from '../../data/changes/log-state.js'
import { readPage } from '../../data/read/read-records.js'
import { parseCursor } from '../../data/sql/json/records.js'
import type { StatementExecutor } from '../../data/sql/statement.js'
import type { LeasedWebhook, LeaseStore, StoredBatch } from '../../data/webhooks/lease-store.js'
import type { Actor } from '../../domain/actor.js'
import { authorize } from '../../domain/authorize.js'
import { effectiveFeedOf } from '../../domain/feeds/feed.js'
import type { DisclosurePolicy } from '../../domain/visibility.js'
import { takeBodySize } from '../../domain/webhooks/message.js'
import type { WebhookEvent } from '../../domain/webhooks/webhook.js'
import { type Entity, getEntity, getScalar } from '../../model/model.js'
import { bind } from '../../query/bind/bind.js'
import {
  columnOf,
  type Expr,
  type Plan,
  predicate,
  rowSource,
  type SelectItem,
  textLiteral,
  withFilter,
} from '../../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../../query/representation.js'
import { isPositionOpen } from '../log-position.js'
import { rightsOf } from '../tracking.js'
import type { SelectionDependencies } from './selection.js'

/** Dependencies of the readers of events. */
export interface EventReaderDependencies extends SelectionDependencies {
  readonly policy: DisclosurePolicy
}

/** The events of one message, and the batch that is stored for them. */
export interface EventBatch extends StoredBatch {
  readonly events: readonly WebhookEvent[]
  /** Keys of the records of the events that match the filter. */
  readonly insideKeys: readonly string[]
}

/** The next message of a webhook, or the reason for there being none. */
export type NextBatch =
  | { readonly kind: 'batch'; readonly batch: EventBatch }
  /** There is no event up to this position. With `isEnd`, it is the end of the log. */
  | { readonly kind: 'none'; readonly position: string; readonly isEnd: boolean }
  /** The client can no longer see any event of the stored batch. */
  | { readonly kind: 'dropped'; readonly position: string }
  | { readonly kind: 'lost'; readonly reason: string }

/** Number of events read at a time, and maximum number of events of one message. */
const PAGE_SIZE = 100

const EVENT = getEntity('EntityEvent')
const ROW = 'r0'
const NUMBERS_AS_TEXT: Representation = { ...BARE_REPRESENTATION, numbersAsText: true }
const eventColumn = (name: string): Expr => columnOf(getScalar(EVENT, name), rowSource(ROW))
const selectField = (name: string): SelectItem => ({ kind: 'field', scalar: getScalar(EVENT, name) })

const LOG_PLAN: Plan = {
  entity: EVENT,
  row: ROW,
  orderBy: [{ expr: eventColumn(EVENT.key.name), descending: false }],
  select: [EVENT.key.name, 'ResourceName', 'ResourceRecordKey', 'EventTimestamp'].map(selectField),
  expand: [],
  skip: 0,
  count: false,
}

type LogEnd = Pick<LogState, 'id' | 'floor'> & { readonly end: string }

interface EventRow {
  readonly EntityEventSequence: string
  readonly ResourceName: string
  readonly ResourceRecordKey: string
  readonly EventTimestamp: string
}

/** Reads the events of one webhook with the current rights of its client. */
export class EventReader {
  constructor(
    private readonly dependencies: EventReaderDependencies,
    private readonly reader: StatementExecutor,
    private readonly store: Pick<LeaseStore, 'knownOutside'>,
    private readonly webhook: LeasedWebhook,
  ) {}

  /**
   * Returns the next batch after a position. The events of a stored batch are read again. If the rights of
   * the client have changed, new events are chosen instead. The end of the log is read before the events,
   * since an event between both reads would be skipped, and again after them, since events can be dropped
   * meanwhile.
   */
  async next(position: string, stored: StoredBatch | undefined, actor: Actor): Promise<NextBatch> {
    const feed = effectiveFeedOf(actor)?.id
    const log = await readLogEnd(this.reader, feed)
    const rights = rightsOf({ actor, policy: this.dependencies.policy })
    const next =
      this.#findLoss(position, log) ??
      (stored?.rights === rights
        ? await this.#readStored(stored, actor)
        : await this.#choose({ position, end: log.end, rights }, actor))
    return this.#findLoss(position, await readLogEnd(this.reader, feed)) ?? next
  }

  #findLoss(position: string, { id, floor, end }: LogEnd): NextBatch | undefined {
    if (id !== this.webhook.logId)
      return { kind: 'lost', reason: `Position ${position} belongs to a different change log.` }
    if (isPositionOpen(BigInt(position), { id, floor, last: BigInt(end) })) return undefined
    return {
      kind: 'lost',
      reason: `Events after position ${position} have been dropped from the change log, or the fields of the feed have changed.`,
    }
  }

  /** A batch without remaining events is dropped. */
  async #readStored(stored: StoredBatch, actor: Actor): Promise<NextBatch> {
    const numbers = stored.sequences.map((value): Expr => ({ kind: 'literal', value, type: 'Int64' }))
    const list: Expr = { kind: 'list', items: numbers, type: 'Collection(Int64)' }
    const filter = predicate('in', eventColumn(EVENT.key.name), list)
    const events = await this.#readEvents({ ...LOG_PLAN, filter, top: numbers.length }, actor)
    if (events.length === 0) return { kind: 'dropped', position: stored.position }
    const outside = new Set(stored.outsideKeys)
    const insideKeys = events.map(({ key }) => key).filter(key => !outside.has(key))
    return { kind: 'batch', batch: { ...stored, events, insideKeys } }
  }

  /** Chooses the events of the next message. */
  async #choose(
    { position, end, rights }: { readonly position: string; readonly end: string; readonly rights: string },
    actor: Actor,
  ): Promise<NextBatch> {
    const { resourceName } = this.webhook
    const filter =
      resourceName === undefined
        ? {}
        : { filter: predicate('eq', eventColumn('ResourceName'), textLiteral(resourceName)) }
    const events = await this.#readEvents(
      { ...LOG_PLAN, ...filter, after: [position], top: PAGE_SIZE },
      actor,
    )
    const last = events.at(-1)?.sequence ?? position
    const isFull = events.length === PAGE_SIZE
    const through = isFull || BigInt(end) < BigInt(last) ? last : end
    const { chosen, outside } = await this.#select(events, actor)
    const taken = takeBodySize(chosen)
    const lastTaken = taken.at(-1)
    if (!lastTaken) return { kind: 'none', position: through, isEnd: !isFull }
    const keys = [...new Set(taken.map(({ key }) => key))]
    const batch: EventBatch = {
      events: taken,
      sequences: taken.map(({ sequence }) => sequence),
      position: taken.length < chosen.length ? lastTaken.sequence : through,
      outsideKeys: keys.filter(key => outside.has(key)),
      insideKeys: keys.filter(key => !outside.has(key)),
      rights,
    }
    return { kind: 'batch', batch }
  }

  /**
   * Returns the events to send. For a record outside of the filter, only the first event is sent: the record
   * may have matched before, so the receiver may have a copy. Later ones are not sent until the record
   * matches again.
   */
  async #select(
    events: readonly WebhookEvent[],
    actor: Actor,
  ): Promise<{ readonly chosen: readonly WebhookEvent[]; readonly outside: ReadonlySet<string> }> {
    const { filter, resourceName = '' } = this.webhook
    if (filter === undefined || events.length === 0) return { chosen: events, outside: new Set() }
    const keys = [...new Set(events.map(({ key }) => key))]
    const inside = await this.#findInside(getEntity(resourceName), filter, keys, actor)
    const outside = keys.filter(key => !inside.has(key))
    const notified = new Set(await this.store.knownOutside(this.webhook.lease.webhookId, outside))
    const chosen = events.filter(({ key }) => {
      if (notified.has(key)) return false
      if (!inside.has(key)) notified.add(key)
      return true
    })
    return { chosen, outside: new Set(outside) }
  }

  async #findInside(
    entityType: Entity,
    filter: string,
    keys: readonly string[],
    actor: Actor,
  ): Promise<ReadonlySet<string>> {
    const { limits, policy } = this.dependencies
    const bound = bind(this.dependencies.toQuery(filter), entityType, limits)
    const isOneOf = predicate('in', columnOf(entityType.key, rowSource(ROW)), {
      kind: 'list',
      items: keys.map(textLiteral),
      type: 'Collection(String)',
    })
    const plan = { ...withFilter(bound, isOneOf), top: keys.length }
    const { records } = await readPage(this.reader, authorize(plan, actor, policy), BARE_REPRESENTATION)
    return new Set(records.list.map(record => parseCursor(record)[0] ?? ''))
  }

  async #readEvents(plan: Plan, actor: Actor): Promise<readonly WebhookEvent[]> {
    const { records } = await readPage(
      this.reader,
      authorize(plan, actor, this.dependencies.policy),
      NUMBERS_AS_TEXT,
    )
    return records.list.map(({ json }) => {
      const row = JSON.parse(json) as EventRow // the fields that the plan selects
      return {
        sequence: row.EntityEventSequence,
        resource: row.ResourceName,
        key: row.ResourceRecordKey,
        timestamp: row.EventTimestamp,
      }
    })
  }
}
