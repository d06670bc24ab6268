import { EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail, ProblemError } from '../../errors/problem.js'
import { getEntity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { AutoResetEvent } from '../../service/auto-reset-event.js'
import type { ChangeService, ListingEvent } from '../../service/changes.js'
import type { GraphQLContext } from '../context.js'
import {
  type CollectedField,
  collectFields,
  getObjectType,
  type InputValues,
  type SelectionContext,
} from '../execute/collect-fields.js'
import type { FilterParseOptions } from '../execute/filter.js'
import { readQueryArguments } from '../execute/query-arguments.js'
import { renderRawObject } from '../execute/raw-json.js'
import { GRAPHQL_REPRESENTATION } from '../execute/selection.js'
import {
  readSharedSelection,
  type SelectionResults,
  type SharedSelection,
} from '../execute/shared-selection.js'

/** Services that subscriptions use. */
export interface SubscriptionPort extends FilterParseOptions {
  readonly changes: ChangeService
}

/**
 * Creates the stream of changes as JSON. Each change is read when the consumer requests it. The stream ends
 * when the signal aborts.
 */
export type SourceStreamFactory = (signal: AbortSignal) => AsyncGenerator<string>

const PROPERTY = getEntity('Property')
const CHANGE_TYPE_NAME = 'PropertyChange'
/** Events read at a time. This bounds the memory of a consumer that reads nothing. */
const EVENT_PAGE_SIZE = 100
/** Wait before the next attempt while the database is unavailable or busy, in ms. */
const RETRY_MS = 2000
/** Reads in a row that may exceed the statement limit, as they do on a busy machine, before the stream ends. */
const MAX_TIMEOUTS = 5
/** Maximum number of listings remembered as outside the filter. */
const MAX_EXCLUDED_LISTINGS = 10_000

/** The selection of a `PropertyChange`. */
interface ChangeSelection {
  readonly propertySelection: SharedSelection
  render(event: ListingEvent, shown: SelectionResults | undefined): string
}

function readChangeSelection(
  selectionContext: SelectionContext,
  parseOptions: FilterParseOptions,
  { fieldNodes }: CollectedField,
): ChangeSelection {
  const fields = collectFields(
    selectionContext,
    getObjectType(selectionContext, CHANGE_TYPE_NAME),
    fieldNodes,
  )
  const propertyFields = fields.filter(({ name }) => name === 'property')
  const render = (
    { responseName, name }: CollectedField,
    event: ListingEvent,
    results: SelectionResults | undefined,
  ): string => {
    if (name === 'property')
      return results?.[propertyFields.findIndex(p => p.responseName === responseName)] ?? 'null'
    if (name === 'EntityEventSequence') return event.sequence
    return JSON.stringify(name === 'ListingKey' ? event.listingKey : CHANGE_TYPE_NAME)
  }
  return {
    propertySelection: readSharedSelection(
      selectionContext,
      parseOptions,
      PROPERTY,
      propertyFields.map(p => p.fieldNodes),
    ),
    render: (event, results) =>
      renderRawObject(fields.map(collected => [collected.responseName, render(collected, event, results)])),
  }
}

/** Dependencies and inputs of a subscription. */
export interface PropertyChangeSubscriptionDependencies {
  readonly port: SubscriptionPort
  readonly selectionContext: SelectionContext
  readonly context: GraphQLContext
  readonly collected: CollectedField
  readonly args: InputValues
}

/** The listing changes of one subscription. */
export class PropertyChangeSubscription {
  /** Listings that were already reported as outside the filter. This is reported once per listing. */
  readonly #excludedKeys = new Set<string>()
  readonly #query: Query
  readonly #changes: ChangeService
  readonly #selection: ChangeSelection
  readonly #hasFilter: boolean
  #timeoutCount = 0

  /** @throws ProblemError for invalid arguments or an invalid selection */
  constructor(private readonly dependencies: PropertyChangeSubscriptionDependencies) {
    const { port, selectionContext, collected, args, context } = dependencies
    this.#changes = port.changes.forRequest(context.scope)
    const narrowed = readQueryArguments(port, PROPERTY, args)
    this.#selection = readChangeSelection(selectionContext, port, collected)
    this.#query = { ...narrowed, ...this.#selection.propertySelection.query }
    this.#hasFilter = narrowed.filter !== undefined
  }

  /**
   * Finds the position in the change log at which the stream begins, and checks that the query can be
   * executed.
   */
  async createSourceStream(): Promise<SourceStreamFactory> {
    const { context, args } = this.dependencies
    const newest = await this.#changes.latestSequence(context.actor)
    await this.#readListings([])
    const since = args['since'] ?? undefined
    const start = since === undefined ? newest : await this.#checkSince(String(since))
    return signal => this.#streamChanges(start, signal)
  }

  /** Rejects a number that the log has not reached: it comes from another log, and waiting would skip changes. */
  async #checkSince(since: string): Promise<string> {
    if (BigInt(since) < 0n)
      return fail({
        kind: 'BadOptionValue',
        option: 'since',
        expected: EXPECTED_VALUE.nonNegativeInteger,
        found: since,
      })
    return (await this.#changes.isOpen(since, this.dependencies.context.actor))
      ? since
      : fail({ kind: 'PositionGone', option: 'since' })
  }

  async *#streamChanges(start: string, signal: AbortSignal): AsyncGenerator<string> {
    const changeSignal = new AutoResetEvent()
    const unfollow = this.#changes.subscribe(() => changeSignal.notify())
    try {
      let last = start
      while (!signal.aborted) {
        this.#changes.setPosition(last)
        const page = await this.#readPage(last)
        if (page) yield* page.changes
        last = page?.last ?? last
        this.#changes.setPosition(last)
        if (!page?.isFull) await changeSignal.wait(signal, page ? undefined : RETRY_MS)
      }
    } finally {
      unfollow()
    }
  }

  /** Returns undefined while the database is unavailable, busy or too slow. */
  async #readPage(
    last: string,
  ): Promise<
    { readonly changes: readonly string[]; readonly last: string; readonly isFull: boolean } | undefined
  > {
    try {
      const { events, ...position } = await this.#changes.eventsAfter(
        last,
        EVENT_PAGE_SIZE,
        this.dependencies.context.actor,
      )
      const changes = await this.#renderChanges(events)
      this.#timeoutCount = 0
      return { changes, ...position }
    } catch (error) {
      if (this.#mayRetry(error)) return undefined
      throw error
    }
  }

  /** Returns true if the same read can succeed later. Counts the timeouts in a row. */
  #mayRetry(error: unknown): boolean {
    const reason = unavailableReasonOf(error)
    if (reason === 'timeout') this.#timeoutCount += 1
    return (
      reason === 'database' ||
      reason === 'busy' ||
      (reason === 'timeout' && this.#timeoutCount < MAX_TIMEOUTS)
    )
  }

  async #renderChanges(events: readonly ListingEvent[]): Promise<readonly string[]> {
    const keys = [...new Set(events.map(e => e.listingKey).filter(key => key !== null))]
    const listings = await this.#readListings(keys)
    return events.flatMap(event =>
      event.listingKey !== null && this.#shouldPublish(event.listingKey, listings.has(event.listingKey))
        ? [this.#selection.render(event, listings.get(event.listingKey))]
        : [],
    )
  }

  async #readListings(keys: readonly string[]): Promise<ReadonlyMap<string, SelectionResults>> {
    const found = await this.#changes.findListings(
      keys,
      { query: this.#query, representation: GRAPHQL_REPRESENTATION },
      this.dependencies.context.actor,
    )
    return new Map([...found].map(([key, { json }]) => [key, this.#selection.propertySelection.split(json)]))
  }

  /**
   * Returns true if a change is sent. A listing outside the filter may have been inside it before, and the
   * client may hold it from an earlier query. Its first change outside the filter is therefore sent, and
   * later ones are not.
   */
  #shouldPublish(key: string, matchesFilter: boolean): boolean {
    if (matchesFilter || !this.#hasFilter) {
      this.#excludedKeys.delete(key)
      return true
    }
    if (this.#excludedKeys.has(key)) return false
    this.#excludedKeys.add(key)
    const [oldest] = this.#excludedKeys
    if (oldest !== undefined && this.#excludedKeys.size > MAX_EXCLUDED_LISTINGS)
      this.#excludedKeys.delete(oldest)
    return true
  }
}

function unavailableReasonOf(error: unknown): string | undefined {
  if (!(error instanceof ProblemError)) return undefined
  return error.problems.flatMap(problem => (problem.kind === 'Unavailable' ? [problem.reason] : [])).at(0)
}
