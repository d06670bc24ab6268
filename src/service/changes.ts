import type { ChangeFeed } from '../data/changes/change-feed.js'
import { readPage } from '../data/read/read.js'
import { Gate } from '../data/semaphore.js'
import { type Placed, toPosition } from '../data/sql/json/records.js'
import { type Actor, requireScope } from '../domain/actor.js'
import { restrict } from '../domain/authorize.js'
import { isTold } from '../domain/visibility.js'
import { entity, scalar } from '../model/model.js'
import { bind } from '../query/bind.js'
import {
  call,
  columnOf,
  type Expr,
  narrow,
  type Order,
  type Plan,
  rowSource,
  type Selected,
  textLiteral,
} from '../query/plan.js'
import { BARE, type Notation } from '../query/representation.js'
import type { ServiceParts, View } from './reading.js'

/**
 * What following is made of. `poolSize`: connections to the database; following takes a quarter of them at
 * most, so that it never keeps a request waiting.
 */
export interface FollowingParts extends ServiceParts {
  readonly feed: ChangeFeed
  readonly poolSize: number
}

/** An entry of the change log, as far as it concerns a listing. */
export interface ListingEvent {
  readonly sequence: string
  /** The listing that the changed record is or belongs to; null: none. */
  readonly key: string | null
  /** Whether the actor may know of it. */
  readonly isTold: boolean
}

const EVENT = entity('EntityEvent')
const LISTING = entity('Property')
const ROW = 'r0'
const NUMBERS_AS_TEXT: Notation = { ...BARE, numbersAsText: true }

const field = (name: string): Selected => ({ kind: 'field', scalar: scalar(EVENT, name) })
const bySequence = (descending: boolean): readonly Order[] => [
  { expr: columnOf(EVENT.key, rowSource(ROW)), descending },
]
const LOG: Plan = {
  entity: EVENT,
  row: ROW,
  orderBy: bySequence(false),
  select: [field(EVENT.key.name)],
  expand: [],
  skip: 0,
  count: false,
}

/** The third part of the port: what happens to listings, in the order in which it became visible. */
export class Following {
  readonly #parts: FollowingParts
  readonly #gate: Gate

  constructor(parts: FollowingParts) {
    this.#parts = parts
    this.#gate = new Gate(Math.max(1, Math.floor(parts.poolSize / 4)))
  }

  /** Calls `wake` whenever there may be new events. Returns what ends it. */
  follow(wake: () => void): () => void {
    return this.#parts.feed.follow(wake)
  }

  /** The number of the newest event; `0` while there is none. */
  async newest(actor: Actor): Promise<string> {
    requireScope(actor, 'listings:read')
    const [event] = await this.#readLog({ ...LOG, orderBy: bySequence(true), top: 1 })
    return event?.EntityEventSequence ?? '0'
  }

  /**
   * The events behind a number, at most `most`. All of them are named, so that the next call can go on behind
   * the last one, however few concern the actor: only what `isTold` says of them may leave the service.
   */
  async eventsAfter(sequence: string, most: number, actor: Actor): Promise<readonly ListingEvent[]> {
    requireScope(actor, 'listings:read')
    const select = [
      ...LOG.select,
      field('PropertyKey'),
      { kind: 'computed', name: 'isTold', value: isTold(ROW, actor) } as const,
    ]
    const events = await this.#readLog({ ...LOG, select, after: [sequence], top: most })
    return events.map(e => ({ sequence: e.EntityEventSequence, key: e.PropertyKey, isTold: e.isTold }))
  }

  /**
   * Those of the listings that the actor can see and the query's filter selects, by their keys. The query has
   * no order of its own.
   */
  async listings(
    keys: readonly string[],
    { query, notation }: View,
    actor: Actor,
  ): Promise<ReadonlyMap<string, Placed>> {
    requireScope(actor, 'listings:read')
    const { limits, policy, database } = this.#parts
    const plan = { ...narrow(bind(query, LISTING, limits), hasAnyKey(keys)), top: keys.length }
    const { records } = await this.#gate.run(() =>
      readPage(database.reader, restrict(plan, actor, policy), notation),
    )
    return new Map(records.list.map(record => [toPosition(record)[0] ?? '', record]))
  }

  async #readLog(plan: Plan): Promise<readonly LogRow[]> {
    const { records } = await this.#gate.run(() =>
      readPage(this.#parts.database.reader, plan, NUMBERS_AS_TEXT),
    )
    return records.list.map(({ json }) => JSON.parse(json) as LogRow) // what the plan selects
  }
}

interface LogRow {
  readonly EntityEventSequence: string
  readonly PropertyKey: string | null
  readonly isTold: boolean
}

function hasAnyKey(keys: readonly string[]): Expr {
  const items = keys.map(textLiteral)
  return call('in', columnOf(LISTING.key, rowSource(ROW)), {
    kind: 'list',
    items,
    type: 'Collection(String)',
  })
}
