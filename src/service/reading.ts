import { type CursorWindow, type PageInfo, readCursorWindow } from '../data/read/cursor-window.js'
import { countRecords, readFirstRecord, readPage } from '../data/read/read-records.js'
import {
  parseCursor,
  type RecordJson,
  type RecordPage,
  type RecordWithCursor,
} from '../data/sql/json/records.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireReadScope } from '../domain/actor.js'
import type { RequestScope } from '../domain/request-scope.js'
import { isFieldReadable } from '../domain/visibility.js'
import type { Entity, Scalar } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { bind, withPreferredPageSize } from '../query/bind/bind.js'
import { toNextCursor } from '../query/cursor.js'
import { memoize } from '../query/memoize.js'
import { afterCursor, withKeyParameter } from '../query/parameter.js'
import { type Expr, FALSE, type KeysetPosition, type Plan, rowSource, withTopLimit } from '../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../query/representation.js'
import { toAuthorizedPlan } from './authorized-plan.js'
import { type ConnectionArguments, checkWindowSize, toCursorBounds } from './connection-arguments.js'
import type { ServiceDependencies } from './dependencies.js'
import { queryLimitsOf } from './feeds/query-limits.js'
import { openPageSeal, readLogPosition } from './log-position.js'
import {
  type NavigationStep,
  type ParentFilter,
  resolveParentFilter,
  withParentFilter,
} from './parent-filter.js'
import type { ServiceRoot } from './record-url.js'
import { sealTracking, type TrackingRequest, trackPages } from './tracking.js'

/** A page of records. */
export interface CollectionPage {
  readonly records: RecordPage
  /** The maximum number of records of the page. */
  readonly size: number
  /** Opaque token of the next page. Undefined on the last page. */
  readonly nextToken?: string
  readonly count?: number
  /** Present if the changes of the query are tracked. The last page has the token of the first delta. */
  readonly tracking?: { readonly deltaToken?: string }
}

/** A parsed query and the representation of its records. */
export interface ReadRequest {
  readonly query: Query
  readonly representation: Representation
  /** Undefined if addresses stay relative. */
  readonly serviceRoot?: ServiceRoot
}

/** A query that is read page by page. */
export interface PageRequest extends ReadRequest {
  /**
   * The token of the page, separate from the query so that all pages share one query. Undefined on the first
   * page.
   */
  readonly pageToken?: string
  /** Tracks the changes of the query, if that is possible. Later pages follow the first one. */
  readonly track?: TrackingRequest | undefined
  /** Returns the address of the query without tokens, at which a client restarts. */
  readonly location?: () => string
}

/** The parts of a connection that the client requested. Records are fetched only if `records` is true. */
export interface WindowSelection extends PageInfo {
  readonly records: boolean
}

export interface WindowResult extends CursorWindow {
  /** Returns the opaque cursor of a record in this filter and order. */
  readonly cursorOf: (record: RecordWithCursor) => string
  /** Returns the opaque cursor of a position. */
  readonly cursorAt: (position: KeysetPosition) => string
}

/** Reads records, for both adapters. */
export class ReadService {
  constructor(
    private readonly dependencies: ServiceDependencies,
    private readonly reader: StatementExecutor = dependencies.database.reader,
    private readonly scope?: RequestScope,
  ) {}

  /** Returns the service for one request. */
  forRequest(scope: RequestScope): ReadService {
    return new ReadService(this.dependencies, this.dependencies.database.executorsFor(scope).reader, scope)
  }

  /**
   * Returns a page of an entity set. `parentFilter` restricts it to the records related to another record.
   * `pageSize` is the size of the page if the query does not limit it.
   */
  async findPage(
    entityType: Entity,
    request: PageRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
    pageSize?: number,
  ): Promise<CollectionPage> {
    requireReadScope(actor, entityType)
    await this.scope?.allowance?.checkRows()
    const { query, representation, pageToken, serviceRoot } = request
    const { seal } = this.dependencies
    const limits = queryLimitsOf(this.dependencies.limits, actor)
    const boundPlan = withParentFilter(
      this.bind(query, entityType, withPreferredPageSize(limits, pageSize, query, entityType)),
      parentFilter,
    )
    const position = pageToken === undefined ? readLogPosition(boundPlan.filter) : undefined
    const log = { executor: this.reader, actor }
    const tokens = await openPageSeal(log, this.dependencies, boundPlan, position, serviceRoot)
    const cursor = pageToken === undefined ? undefined : tokens.seal.open(pageToken, '$skiptoken')
    // The meaning of $top is that of the first page.
    const remaining = cursor ? cursor.remaining : limits.topIsTotal ? query.top : undefined
    // A total limits the records of the copy, but not the changes after it.
    const trackRequest = remaining === undefined ? request : { ...request, track: undefined }
    const context = { ...this.dependencies, actor }
    const tracking = await trackPages(this.reader, boundPlan, trackRequest, cursor, context)
    const plan = withTopLimit(cursor ? afterCursor(boundPlan, cursor.after) : boundPlan, remaining)
    const page = await readPage(
      this.reader,
      this.authorizePlan(plan, actor, serviceRoot),
      representation,
      cursor?.after,
    )
    await tokens.confirm?.(cursor?.after)
    this.countRows(entityType, page.records.length)
    const left = remaining === undefined ? undefined : remaining - page.records.length
    const next = toNextCursor(page.next, left, tracking)
    return {
      records: page.records,
      size: boundPlan.top ?? limits.pageSize,
      ...(next && { nextToken: tokens.seal.seal(next) }),
      ...(page.count !== undefined && { count: page.count }),
      ...(tracking && {
        tracking: next ? {} : { deltaToken: sealTracking(seal, boundPlan, tracking) },
      }),
    }
  }

  /**
   * Returns a window of an entity set as defined by Relay (Cursor Connections, 4). Its page info is exact.
   * Besides the statement that reads the window, each requested part of `selection` takes at most one
   * statement, and none if it is known already.
   * @throws ProblemError BadOptionValue if the window is larger than a page, BadPageToken
   */
  async findWindow(
    entityType: Entity,
    { query, representation, serviceRoot }: ReadRequest,
    actor: Actor,
    args: ConnectionArguments,
    selection: WindowSelection,
  ): Promise<WindowResult> {
    requireReadScope(actor, entityType)
    await this.scope?.allowance?.checkRows()
    const { limits } = this.dependencies
    const own = queryLimitsOf(limits, actor)
    const size = checkWindowSize(query, args, own)
    const top = selection.records ? size : 0
    // Reusing an unchanged query object finds its memoized plan.
    const plan = this.bind(
      top === query.top ? query : { ...query, ...(top !== undefined && { top }) },
      entityType,
      own,
    )
    const position = args.after || args.before ? undefined : readLogPosition(plan.filter)
    const log = { executor: this.reader, actor }
    const tokens = await openPageSeal(log, this.dependencies, plan, position, serviceRoot)
    const bounds = toCursorBounds(args, tokens.seal)
    const window = await readCursorWindow(
      this.reader,
      this.authorizePlan(plan, actor, serviceRoot),
      representation,
      bounds,
      selection,
    )
    await tokens.confirm?.(bounds.after)
    this.countRows(entityType, window.records.length)
    const cursorAt = (position: KeysetPosition) => tokens.seal.seal({ after: position })
    return { ...window, cursorOf: record => cursorAt(parseCursor(record)), cursorAt }
  }

  /** Returns the number of records that the query's filter selects. */
  async count(
    entityType: Entity,
    { query, serviceRoot }: Omit<ReadRequest, 'representation'>,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<number> {
    requireReadScope(actor, entityType)
    const plan = withParentFilter(this.bind(query, entityType), parentFilter)
    return countRecords(this.reader, this.authorizePlan(plan, actor, serviceRoot))
  }

  /**
   * Returns the record with the key, or without a key the one that `parentFilter` selects. Returns undefined
   * if the actor can see no such record.
   */
  async get(
    entityType: Entity,
    key: string | undefined,
    request: ReadRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<RecordJson | undefined> {
    await this.scope?.allowance?.checkRows()
    const record = await this.findRecord(entityType, key, request, actor, parentFilter)
    if (record) this.countRows(entityType, 1)
    return record
  }

  /** Like `get`, for a record that is not part of the response. */
  private findRecord(
    entityType: Entity,
    key: string | undefined,
    { query, representation, serviceRoot }: ReadRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<RecordJson | undefined> {
    requireReadScope(actor, entityType)
    const bound = withParentFilter(this.bind(query, entityType), parentFilter)
    const plan = key === undefined ? bound : withKeyParameter(bound)
    return readFirstRecord(
      this.reader,
      this.authorizePlan(plan, actor, serviceRoot),
      representation,
      key === undefined ? undefined : [key],
    )
  }

  private countRows(entityType: Entity, count: number): void {
    this.dependencies.onRows?.(entityType.name, count)
    this.scope?.allowance?.addRows(count)
  }

  /** Returns the plan by which the actor reads the fields that the query selects. */
  toAuthorizedPlan(entityType: Entity, query: Query, actor: Actor): Plan {
    return this.authorizePlan(this.bind(query, entityType), actor, undefined)
  }

  /**
   * Returns the record that the actor has written, in the transaction of the write. The write may have hidden
   * the record from the actor.
   */
  readWritten(
    executor: StatementExecutor,
    entityType: Entity,
    key: string,
    { query, representation, serviceRoot }: ReadRequest,
    actor: Actor,
  ): Promise<RecordJson | undefined> {
    const plan = this.authorizePlan(this.bind(query, entityType), actor, serviceRoot)
    return readFirstRecord(executor, withKeyParameter(withoutFilter(plan)), representation, [key])
  }

  /** Returns the conditions under which the actor can read the fields of a stored record. */
  readConditionsOf(actor: Actor): (field: Scalar) => Expr {
    const { policy } = this.dependencies
    const canRead = actor.scopes.has('listings:read')
    return field => (canRead ? isFieldReadable(field, rowSource('r0'), actor, policy) : FALSE)
  }

  private bind(query: Query, entityType: Entity, limits = this.dependencies.limits): Plan {
    return this.scope
      ? this.scope.measure('bind', () => bind(query, entityType, limits))
      : bind(query, entityType, limits)
  }

  private authorizePlan(plan: Plan, actor: Actor, serviceRoot: ServiceRoot | undefined): Plan {
    return toAuthorizedPlan(plan, actor, this.dependencies, serviceRoot)
  }

  /**
   * Returns the condition on the records at the end of a path, or undefined for an empty path.
   * @throws ProblemError as `resolveParentFilter`
   */
  resolvePath(steps: readonly NavigationStep[], actor: Actor): Promise<ParentFilter | undefined> | undefined {
    return steps.length > 0
      ? resolveParentFilter(steps, (entityType, key, query, within) =>
          this.findRecord(entityType, key, { query, representation: BARE_REPRESENTATION }, actor, within),
        )
      : undefined
  }
}

/** Memoized, so that the plan by key is cached too. */
const withoutFilter = memoize(function withoutFilter({ filter: _, ...plan }: Plan): Plan {
  return plan
})

export type { PageInfo, RecordJson, RecordWithCursor }
