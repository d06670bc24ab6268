import type { ChangeFeed } from '../data/changes/change-feed.js'
import { readLatestSequence } from '../data/changes/latest-sequence.js'
import { readLogState } from '../data/changes/log-state.js'
import { FairSemaphore } from '../data/fair-semaphore.js'
import { readPage } from '../data/read/read-records.js'
import { parseCursor, type RecordWithCursor } from '../data/sql/json/records.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireScope } from '../domain/actor.js'
import { isEventVisible } from '../domain/audiences.js'
import { authorize } from '../domain/authorize.js'
import { effectiveFeedOf } from '../domain/feeds/feed.js'
import { createServiceScope, type RequestScope } from '../domain/request-scope.js'
import { fail } from '../errors/problem.js'
import { getEntity, getScalar } from '../model/model.js'
import { bind } from '../query/bind/bind.js'
import {
  columnOf,
  type Expr,
  type Plan,
  predicate,
  rowSource,
  type SelectItem,
  textLiteral,
  withFilter,
} from '../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../query/representation.js'
import type { ServiceDependencies } from './dependencies.js'
import { failLogPositionGone, isPositionOpen } from './log-position.js'
import type { ReadRequest } from './reading.js'

/** Dependencies of the change service. */
export interface ChangeServiceDependencies extends Omit<ServiceDependencies, 'plans'> {
  readonly feed: ChangeFeed
  /**
   * The number of connections to the database. Subscriptions use at most a quarter of them, or two, so that
   * requests need not wait.
   */
  readonly poolSize: number
}

/** An event of the change log with its listing. */
export interface ListingEvent {
  readonly sequence: string
  /** The listing that the changed record is or belongs to, or null. */
  readonly listingKey: string | null
}

/**
 * The position of a subscription: the number of the last event that it has received. Undefined before its
 * first read.
 */
interface SubscriptionCursor {
  position: string | undefined
}

/** Events that an actor may receive. */
export interface ListingEventPage {
  readonly events: readonly ListingEvent[]
  /** Position after the page: the actor has received all of its events up to this number. */
  readonly last: string
  /** False if the page has all events up to the end of the log. */
  readonly isFull: boolean
}

const EVENT = getEntity('EntityEvent')
const LISTING = getEntity('Property')
const ROW = 'r0'
const NUMBERS_AS_TEXT: Representation = { ...BARE_REPRESENTATION, numbersAsText: true }

const selectField = (name: string): SelectItem => ({ kind: 'field', scalar: getScalar(EVENT, name) })
const LOG_PLAN: Plan = {
  entity: EVENT,
  row: ROW,
  orderBy: [{ expr: columnOf(EVENT.key, rowSource(ROW)), descending: false }],
  select: [selectField(EVENT.key.name), selectField('PropertyKey')],
  expand: [],
  skip: 0,
  count: false,
}

/** Changes of listings, in the order in which they became visible. */
export class ChangeService {
  readonly #dependencies: ChangeServiceDependencies
  /** Serves the clients in turn. A subscription leaves the queue when its client disconnects. */
  readonly #semaphore: FairSemaphore
  readonly #scope: RequestScope | undefined
  /** The cursors of all subscriptions. */
  readonly #cursors: Set<SubscriptionCursor>
  readonly #cursor: SubscriptionCursor = { position: undefined }

  constructor(
    dependencies: ChangeServiceDependencies,
    semaphore = createTurns(dependencies.poolSize),
    scope?: RequestScope,
    cursors = new Set<SubscriptionCursor>(),
  ) {
    this.#dependencies = dependencies
    this.#semaphore = semaphore
    this.#scope = scope
    this.#cursors = cursors
  }

  /** Returns the service for one subscription. Each of its reads has its own waiting time. */
  forRequest(scope: RequestScope): ChangeService {
    return new ChangeService(this.#dependencies, this.#semaphore, scope, this.#cursors)
  }

  /** Calls `listener` when there may be new events. Returns a function that removes the listener. */
  subscribe(listener: () => void): () => void {
    const unsubscribe = this.#dependencies.feed.subscribe(listener)
    this.#cursors.add(this.#cursor)
    return () => {
      this.#cursors.delete(this.#cursor)
      unsubscribe()
    }
  }

  /** Sets the position of this subscription: the number of the last event that it has received. */
  setPosition(sequence: string): void {
    this.#cursor.position = sequence
  }

  /** Returns the positions of the subscriptions of this process. */
  subscriptionPositions(): readonly number[] {
    return [...this.#cursors].flatMap(({ position }) => (position === undefined ? [] : Number(position)))
  }

  /** Returns the sequence number of the newest event, or `0` if the log is empty. */
  async latestSequence(actor: Actor): Promise<string> {
    requireScope(actor, 'listings:read')
    return this.#read(reader => readLatestSequence(reader))
  }

  /**
   * Returns the first `limit` events after a sequence number that the actor may receive. The next call
   * continues after `last`, which also advances past events that the actor does not receive. The end of the
   * log is read before the events, since an event between both reads would be skipped. The state of the log
   * is read after them, since events can be dropped meanwhile. One statement cannot read both.
   */
  async eventsAfter(sequence: string, limit: number, actor: Actor): Promise<ListingEventPage> {
    requireScope(actor, 'listings:read')
    const plan = { ...LOG_PLAN, filter: isEventVisible(ROW, actor), after: [sequence], top: limit }
    const { end, rows, state } = await this.#read(async reader => ({
      end: await readLatestSequence(reader),
      rows: await readLog(reader, plan),
      state: await readLogState(reader, effectiveFeedOf(actor)?.id),
    }))
    const events = rows.map(e => ({ sequence: e.EntityEventSequence, listingKey: e.PropertyKey }))
    const lastEvent = events.at(-1)?.sequence ?? sequence
    const isFull = events.length === limit
    if (!isPositionOpen(BigInt(sequence), state)) failLogPositionGone('since', undefined)
    return { events, isFull, last: isFull || BigInt(end) < BigInt(lastEvent) ? lastEvent : end }
  }

  /** Returns true if a reader can continue after the event with this number. */
  async isOpen(sequence: string, actor: Actor): Promise<boolean> {
    const feed = effectiveFeedOf(actor)?.id
    const state = await this.#read(reader => readLogState(reader, feed))
    return isPositionOpen(BigInt(sequence), state)
  }

  /**
   * Returns the listings with these keys that the actor can see and that the query's filter selects, by key.
   * The query must have no order.
   */
  async findListings(
    keys: readonly string[],
    { query, representation }: ReadRequest,
    actor: Actor,
  ): Promise<ReadonlyMap<string, RecordWithCursor>> {
    requireScope(actor, 'listings:read')
    const { limits, policy } = this.#dependencies
    const plan = { ...withFilter(bind(query, LISTING, limits), keyIsIn(keys)), top: keys.length }
    const { records } = await this.#read(reader =>
      readPage(reader, authorize(plan, actor, policy), representation),
    )
    // Pushed listings are counted, but no limit ends a subscription.
    this.#scope?.allowance?.addRows(records.length)
    return new Map(records.list.map(record => [parseCursor(record)[0] ?? '', record]))
  }

  /**
   * Reads in turn with the other subscriptions. A turn can have several statements. The wait for the turn ends
   * when the client disconnects, and does not count as a wait of the read.
   * @throws ProblemError Unavailable `canceled` if the client has disconnected
   */
  async #read<T>(read: (reader: StatementExecutor) => Promise<T>): Promise<T> {
    const { database } = this.#dependencies
    const turn = this.#scope?.part() ?? createServiceScope()
    const isAcquired =
      this.#semaphore.tryAcquire(turn.clientId) || (await this.#semaphore.acquire(turn)) === 'acquired'
    if (!isAcquired) fail({ kind: 'Unavailable', reason: 'canceled' })
    try {
      return await read(this.#scope ? database.executorsFor(this.#scope.part()).reader : database.reader)
    } finally {
      this.#semaphore.release(turn.clientId)
    }
  }
}

/**
 * One turn is reserved for clients that have none: a client with many subscriptions, whose other requests use all its
 * connections, holds its turn until it gets one, and must not delay the subscriptions of others.
 */
function createTurns(poolSize: number): FairSemaphore {
  const permits = Math.max(Math.min(2, poolSize), Math.floor(poolSize / 4))
  return new FairSemaphore({ permits, reserved: permits > 1 ? 1 : 0 })
}

async function readLog(reader: StatementExecutor, plan: Plan): Promise<readonly EventLogRow[]> {
  const { records } = await readPage(reader, plan, NUMBERS_AS_TEXT)
  return records.list.map(({ json }) => JSON.parse(json) as EventLogRow) // the fields that the plan selects
}

interface EventLogRow {
  readonly EntityEventSequence: string
  readonly PropertyKey: string | null
}

function keyIsIn(keys: readonly string[]): Expr {
  const items = keys.map(textLiteral)
  return predicate('in', columnOf(LISTING.key, rowSource(ROW)), {
    kind: 'list',
    items,
    type: 'Collection(String)',
  })
}
