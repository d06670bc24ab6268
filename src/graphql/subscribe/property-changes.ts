import { LRUCache } from 'lru-cache'
import { fail, ProblemError } from '../../errors/problem.js'
import { entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { Following, ListingEvent } from '../../service/changes.js'
import type { GraphQLContext } from '../context.js'
import { type Asked, type Input, type Operation, objectType, readFields } from '../execute/operation.js'
import { type FilterReader, readQuery } from '../execute/query-arguments.js'
import { renderObject } from '../execute/raw-json.js'
import { NOTATION } from '../execute/selection.js'
import { type Places, readPlaces, type Shown } from '../execute/shared-selection.js'
import { Bell } from './signal.js'

/** What subscriptions rest on. */
export interface FollowPort extends FilterReader {
  readonly following: Following
}

/** Changes as JSON, made when they are asked for, until the signal. */
export type Run = (signal: AbortSignal) => AsyncGenerator<string>

const PROPERTY = entity('Property')
const CHANGE = 'PropertyChange'
/** Events that are read at a time: what a reader who takes nothing holds in memory. */
const PAGE_EVENTS = 100
/** How long to wait for a database that is away or busy, if nothing is heard of it, in ms. */
const RETRY_MS = 2000
/** Listings that are remembered as being outside the filter. */
const DROPPED_MAX = 10_000

/** What is told of a change. */
interface ChangeSelection {
  readonly places: Places
  render(event: ListingEvent, shown: Shown | undefined): string
}

function readChange(operation: Operation, filters: FilterReader, { nodes }: Asked): ChangeSelection {
  const fields = readFields(operation, objectType(operation, CHANGE), nodes)
  const properties = fields.filter(({ name }) => name === 'property')
  const render = ({ key, name }: Asked, event: ListingEvent, shown: Shown | undefined): string => {
    if (name === 'property') return shown?.[properties.findIndex(p => p.key === key)] ?? 'null'
    if (name === 'EntityEventSequence') return event.sequence
    return JSON.stringify(name === 'ListingKey' ? event.key : CHANGE)
  }
  return {
    places: readPlaces(
      operation,
      filters,
      PROPERTY,
      properties.map(p => p.nodes),
    ),
    render: (event, shown) => renderObject(fields.map(asked => [asked.key, render(asked, event, shown)])),
  }
}

/** A subscription with everything that its changes rest on. */
export interface ChangesParts {
  readonly port: FollowPort
  readonly operation: Operation
  readonly context: GraphQLContext
  readonly asked: Asked
  readonly args: Input
}

/** The changes of listings that one subscription is told of. */
export class Changes {
  /** Listings that are told to be outside the filter: it is told once. */
  readonly #dropped = new LRUCache<string, true>({ max: DROPPED_MAX })
  readonly #query: Query

  readonly #selection: ChangeSelection
  readonly #hasFilter: boolean

  /** @throws ProblemError of the arguments and the selection */
  constructor(private readonly parts: ChangesParts) {
    const { port, operation, asked, args } = parts
    const narrowed = readQuery(port, PROPERTY, args)
    this.#selection = readChange(operation, port, asked)
    this.#query = { ...narrowed, ...this.#selection.places.query }
    this.#hasFilter = narrowed.filter !== undefined
  }

  /** Finds where in the log they begin, and whether the query can be asked at all. */
  async begin(): Promise<Run> {
    const { port, context, args } = this.parts
    const newest = await port.following.newest(context.actor)
    await this.#read([])
    const since = args['since'] ?? undefined
    const start = since === undefined ? newest : checkSince(String(since), newest)
    return signal => this.#follow(start, signal)
  }

  async *#follow(start: string, signal: AbortSignal): AsyncGenerator<string> {
    const bell = new Bell()
    const stop = this.parts.port.following.follow(() => bell.ring())
    try {
      let last = start
      while (!signal.aborted) {
        const page = await this.#readPage(last)
        if (page) yield* page.changes
        last = page?.last ?? last
        if (!page?.isFull) await bell.wait(signal, page ? undefined : RETRY_MS)
      }
    } finally {
      stop()
    }
  }

  /** Undefined while the database is away or busy. */
  async #readPage(
    last: string,
  ): Promise<
    | { readonly changes: readonly string[]; readonly last: string | undefined; readonly isFull: boolean }
    | undefined
  > {
    try {
      const events = await this.parts.port.following.eventsAfter(last, PAGE_EVENTS, this.parts.context.actor)
      return {
        changes: await this.#toChanges(events.filter(e => e.isTold)),
        last: events.at(-1)?.sequence,
        isFull: events.length === PAGE_EVENTS,
      }
    } catch (error) {
      if (isPassing(error)) return undefined
      throw error
    }
  }

  async #toChanges(events: readonly ListingEvent[]): Promise<readonly string[]> {
    const keys = [...new Set(events.map(e => e.key).filter(key => key !== null))]
    const found = await this.#read(keys)
    return events.flatMap(event =>
      event.key !== null && this.#isNews(event.key, found.has(event.key))
        ? [this.#selection.render(event, found.get(event.key))]
        : [],
    )
  }

  async #read(keys: readonly string[]): Promise<ReadonlyMap<string, Shown>> {
    const found = await this.parts.port.following.listings(
      keys,
      { query: this.#query, notation: NOTATION },
      this.parts.context.actor,
    )
    return new Map([...found].map(([key, { json }]) => [key, this.#selection.places.show(json)]))
  }

  /**
   * A listing that is outside the filter may have been inside, and its reader may have it from an earlier
   * query: so it is told, once, that it is not among those that were asked for.
   */
  #isNews(key: string, isFound: boolean): boolean {
    if (isFound || !this.#hasFilter) {
      this.#dropped.delete(key)
      return true
    }
    if (this.#dropped.has(key)) return false
    this.#dropped.set(key, true)
    return true
  }
}

/**
 * A number that the log has not reached is one of another database: to wait for it would lose what comes
 * until then.
 */
function checkSince(since: string, newest: string): string {
  if (BigInt(since) >= 0n && BigInt(since) <= BigInt(newest)) return since
  return fail({
    kind: 'BadOptionValue',
    option: 'since',
    expected: `a whole number from 0 to ${newest}, the newest EntityEventSequence`,
    found: since,
  })
}

const isPassing = (error: unknown): boolean =>
  error instanceof ProblemError &&
  error.problems.some(p => p.kind === 'Unavailable' && (p.reason === 'database' || p.reason === 'busy'))
