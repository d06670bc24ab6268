import { readLogEnd } from '../data/changes/log-state.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireReadScope } from '../domain/actor.js'
import type { RequestScope, ScopeAllowance } from '../domain/request-scope.js'
import { FEATURES } from '../errors/features.js'
import { fail } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { bind, withPreferredPageSize } from '../query/bind/bind.js'
import type { Tracking } from '../query/cursor.js'
import type { Plan } from '../query/plan.js'
import { checkChangeCount } from './connection-arguments.js'
import { type Change, DeltaReader } from './delta-reader.js'
import type { ServiceDependencies } from './dependencies.js'
import { queryLimitsOf } from './feeds/query-limits.js'
import type { ReadRequest } from './reading.js'
import { trackedSourcesOf } from './tracked-sources.js'
import {
  beginTracking,
  checkRights,
  failPositionGone,
  openTracking,
  sealTracking,
  type TrackingContext,
} from './tracking.js'

/** A page of changes. `nextToken` reads the next page now; `deltaToken` reads later changes. */
export interface DeltaPage {
  readonly changes: readonly Change[]
  readonly nextToken?: string
  readonly deltaToken?: string
  readonly size: number
}

/** A query whose changes are read. */
export interface DeltaRequest extends Pick<ReadRequest, 'query' | 'representation'> {
  readonly token: string
  /** Name of the option or argument that holds the token. */
  readonly option: string
  /** Address of the query, at which the client restarts. */
  readonly location?: string
  readonly pageSize?: number
  /** The requested page size, in place of `pageSize`. A size above the maximum is refused. */
  readonly first?: number
  /** Accepts a token that was created with another selection. */
  readonly anyView?: boolean
}

/**
 * Reads the changes of a query from the change log: the current state of the records that have visible events
 * after a position. The pages end at the event that was the last one when the first page was read. Each page
 * reads a bounded number of events by an index, even if the reader can see few of them.
 */
export class DeltaService {
  constructor(
    private readonly dependencies: ServiceDependencies,
    private readonly reader: StatementExecutor = dependencies.database.reader,
    private readonly allowance: ScopeAllowance | undefined = undefined,
  ) {}

  /** Returns the service for one request. */
  forRequest(scope: RequestScope): DeltaService {
    return new DeltaService(
      this.dependencies,
      this.dependencies.database.executorsFor(scope).reader,
      scope.allowance,
    )
  }

  /**
   * Returns the token of the changes from now on. `maxTokenLength` is the space in the link, in characters.
   */
  async latest(entityType: Entity, query: Query, actor: Actor, maxTokenLength: number): Promise<string> {
    requireReadScope(actor, entityType)
    const context = this.#contextOf(actor)
    const plan = this.#planOf(entityType, query, actor)
    const tracking = await beginTracking(this.reader, plan, { maxTokenLength }, context)
    if (!tracking) return failUntracked()
    return sealTracking(context.seal, plan, tracking)
  }

  /** Returns a page without changes, with the token of those from now on. */
  async latestPage(
    entityType: Entity,
    { query, first }: Pick<DeltaRequest, 'query' | 'first'>,
    actor: Actor,
  ): Promise<DeltaPage> {
    if (first !== undefined) checkChangeCount(query, first, queryLimitsOf(this.dependencies.limits, actor))
    const deltaToken = await this.latest(entityType, query, actor, Number.POSITIVE_INFINITY)
    return { changes: [], deltaToken, size: 0 }
  }

  /**
   * Returns a page of the changes after a token.
   * @throws ProblemError BadPageToken, or PositionGone if the log cannot continue from the position
   */
  async findChanges(entityType: Entity, request: DeltaRequest, actor: Actor): Promise<DeltaPage> {
    requireReadScope(actor, entityType)
    await this.allowance?.checkRows()
    const { token, option, location, query, first, anyView } = request
    const context = this.#contextOf(actor)
    if (first !== undefined) checkChangeCount(query, first, queryLimitsOf(this.dependencies.limits, actor))
    const plan = this.#planOf(entityType, query, actor, first ?? request.pageSize)
    const sources = trackedSourcesOf(plan) ?? failUntracked(anyView ? undefined : option)
    const tracking = openTracking(context.seal, plan, token, option, anyView)
    checkRights(tracking, context, option, location)
    const end = await this.#checkOpen(tracking, option, location)
    const reader = new DeltaReader(this.reader, plan, sources, request.representation, context)
    const { changes, next } = await reader.readPage({ ...tracking, until: tracking.until ?? end })
    await this.#checkOpen(tracking, option, location)
    this.allowance?.addRows(changes.filter(({ kind }) => kind === 'changed').length)
    const nextToken = sealTracking(context.seal, plan, next)
    return {
      changes,
      size: plan.top ?? 1,
      ...(next.until === undefined ? { deltaToken: nextToken } : { nextToken }),
    }
  }

  /**
   * Returns the end of the log. Fails if it is a different log, or has dropped deletions after the position.
   */
  async #checkOpen({ log, since }: Tracking, option: string, location: string | undefined): Promise<string> {
    const { id, floor, end } = await readLogEnd(this.reader)
    if (id !== log || BigInt(since) < floor - 1n || BigInt(since) > BigInt(end))
      failPositionGone(option, location)
    return end
  }

  #planOf(entityType: Entity, query: Query, actor: Actor, pageSize?: number): Plan {
    const limits = queryLimitsOf(this.dependencies.limits, actor)
    return bind(query, entityType, withPreferredPageSize(limits, pageSize, query, entityType))
  }

  #contextOf(actor: Actor): TrackingContext {
    const { seal, policy } = this.dependencies
    return { seal, policy, actor }
  }
}

/** Refuses a query that cannot be tracked. A token in `option` must then belong to another query. */
const failUntracked = (option?: string): never =>
  fail(
    option === undefined
      ? { kind: 'NotImplemented', feature: FEATURES.changesOfQuery }
      : { kind: 'BadPageToken', option },
  )
