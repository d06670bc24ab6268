import { readLatestSequence } from '../data/changes/latest-sequence.js'
import { type Page, readPage } from '../data/read/read-records.js'
import type { RecordPage } from '../data/sql/json/records.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireReadScope } from '../domain/actor.js'
import { createServiceScope, type RequestScope } from '../domain/request-scope.js'
import { fail, withCause } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { bind } from '../query/bind/bind.js'
import type { QueryLimits } from '../query/limits.js'
import { memoize } from '../query/memoize.js'
import { afterCursor } from '../query/parameter.js'
import { isInKeyOrder, type KeysetPosition, type Plan, type SelectItem, withTopLimit } from '../query/plan.js'
import { toAuthorizedPlan } from './authorized-plan.js'
import type { ServiceDependencies } from './dependencies.js'
import { openPageSeal, type PageSeal, readLogPosition } from './log-position.js'
import { type ParentFilter, withParentFilter } from './parent-filter.js'
import type { ReadRequest } from './reading.js'

/** Maximum number of concurrent exports, in total and for one client. Each has one chunk in memory. */
const MAX_EXPORTS = 64
const MAX_EXPORTS_PER_CLIENT = 8
/** Maximum number of records of a chunk, which one statement reads. */
const CHUNK_SIZE = 500
const RETRY_AFTER_S = 5

/** A complete result that is read while it is sent. */
export interface RecordExport {
  /** The sequence number of the newest event before the first record was read. */
  readonly position: string
  /** The members of each record, in their order. */
  readonly columns: readonly SelectItem[]
  /** The records in order, without empty chunks. Fails if the result could be incomplete. */
  readonly chunks: AsyncIterable<RecordPage>
}

/**
 * Reads complete results. An export fails when its client has reached a limit of rows. Each chunk is read by
 * a statement of its own, so that a slow reader holds neither a connection nor a snapshot. In the order of
 * the key, every record is at least as new as `position`, and applying the events after it completes the
 * copy. In another order, a record that changes could be missed, so the export fails if an event was logged
 * before its last chunk.
 */
export class ExportService {
  readonly #dependencies: ServiceDependencies
  readonly #limits: QueryLimits
  readonly #running: Map<string, number>
  readonly #scope: RequestScope
  readonly #verifyToken: () => Promise<unknown>

  constructor(
    dependencies: ServiceDependencies,
    running = new Map<string, number>(),
    scope = createServiceScope(),
    verifyToken: () => Promise<unknown> = async () => undefined,
  ) {
    this.#dependencies = dependencies
    const { limits } = dependencies
    this.#limits = { ...limits, pageSize: CHUNK_SIZE, pageSizeMax: CHUNK_SIZE }
    this.#running = running
    this.#scope = scope
    this.#verifyToken = verifyToken
  }

  /** Returns the service for one request. `verifyToken` fails when the token is no longer accepted. */
  forRequest(scope: RequestScope, verifyToken: () => Promise<unknown>): ExportService {
    return new ExportService(this.#dependencies, this.#running, scope, verifyToken)
  }

  /**
   * Opens an export of an entity set and reads its first chunk. `parentFilter` restricts it to the records
   * related to another record. `$top` of the query limits all records together.
   * @throws ProblemError PositionGone for a position that the change log cannot continue from
   * @throws ProblemError TooManyRequests if the client runs too many exports or has reached its limit of
   * rows, Unavailable if the service runs too many
   */
  async open(
    entityType: Entity,
    { query, representation, serviceRoot }: ReadRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<RecordExport> {
    requireReadScope(actor, entityType)
    const plan = withParentFilter(bind(withoutTop(query), entityType, this.#limits), parentFilter)
    const readChunk: ChunkReader = (chunk, after) =>
      readPage(
        this.#reader(),
        toAuthorizedPlan(chunk, actor, this.#dependencies, serviceRoot),
        representation,
        after,
      )
    await this.#scope.allowance?.checkRows()
    const release = this.#acquire()
    try {
      const logPosition = readLogPosition(plan.filter)
      const { confirm } = await openPageSeal(
        { executor: this.#reader(), actor },
        this.#dependencies,
        plan,
        logPosition,
        serviceRoot,
      )
      const position = await this.latestSequence()
      const first = await readChunk(withTopLimit(plan, query.top))
      const chunks = this.#readChunks(
        { plan, limit: query.top, position, readChunk, first, confirm },
        release,
      )
      return { position, columns: plan.select, chunks }
    } catch (error) {
      release()
      throw error
    }
  }

  async *#readChunks(
    { plan, limit, position, readChunk, first, confirm }: OpenExport,
    release: () => void,
  ): AsyncGenerator<RecordPage> {
    try {
      let page = first
      let count = 0
      for (;;) {
        if (page.records.length > 0) yield page.records
        count += page.records.length
        this.#dependencies.onRows?.(plan.entity.name, page.records.length)
        this.#scope.allowance?.addRows(page.records.length)
        if (!page.next || count === limit) break
        await this.#verifyToken()
        await this.#scope.allowance?.checkRows()
        const remaining = limit === undefined ? undefined : limit - count
        page = await readChunk(withTopLimit(afterCursor(plan, page.next), remaining), page.next)
      }
      await confirm?.()
      if (count > first.records.length && !isInKeyOrder(plan)) await this.#checkUnchanged(position)
    } finally {
      release()
    }
  }

  /** Returns the sequence number of the newest event. */
  latestSequence(): Promise<string> {
    return readLatestSequence(this.#reader())
  }

  async #checkUnchanged(position: string): Promise<void> {
    if ((await this.latestSequence()) !== position)
      throw withCause(
        { kind: 'Unavailable', reason: 'busy' },
        new Error('records changed during an export that is not in the order of the key'),
      )
  }

  /** Each chunk has its own waiting time, because a whole export may wait longer than one request. */
  #reader(): StatementExecutor {
    return this.#dependencies.database.executorsFor(this.#scope.part()).reader
  }

  /** Counts an export. Returns the function that ends it, which also runs when the request is aborted. */
  #acquire(): () => void {
    const { clientId } = this.#scope
    const running = this.#running
    const own = running.get(clientId) ?? 0
    if (own >= MAX_EXPORTS_PER_CLIENT) fail({ kind: 'TooManyRequests', retryAfter: RETRY_AFTER_S })
    const total = [...running.values()].reduce((sum, count) => sum + count, 0)
    if (total >= MAX_EXPORTS) fail({ kind: 'Unavailable', reason: 'busy' })
    running.set(clientId, own + 1)
    let isReleased = false
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      this.#scope.delete(dependent)
      const left = (running.get(clientId) ?? 1) - 1
      if (left === 0) running.delete(clientId)
      else running.set(clientId, left)
    }
    const dependent = { abort: release }
    this.#scope.add(dependent)
    return release
  }
}

type ChunkReader = (chunk: Plan, after?: KeysetPosition) => Promise<Page>

interface OpenExport {
  readonly plan: Plan
  /** Maximum number of records, or undefined for all. */
  readonly limit: number | undefined
  readonly position: string
  readonly readChunk: ChunkReader
  readonly first: Page
  /** Fails if events after the position of the export have been dropped from the change log. */
  readonly confirm: PageSeal['confirm']
}

const withoutTop = memoize(function withoutTop({ top: _, ...query }: Query): Query {
  return query
})
