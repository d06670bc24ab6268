import type { Database } from '../data/database.js'
import {
  type CursorBounds,
  type CursorWindow,
  type PageInfo,
  readCursorWindow,
} from '../data/read/cursor-window.js'
import { countRecords, readFirstRecord, readPage } from '../data/read/read.js'
import {
  parseCursor,
  type RecordJson,
  type RecordPage,
  type RecordWithCursor,
} from '../data/sql/json/records.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireScope } from '../domain/actor.js'
import { authorize } from '../domain/authorize.js'
import type { DisclosurePolicy } from '../domain/visibility.js'
import { fail } from '../errors/problem.js'
import { type Entity, getEntity, getScalar, type Navigation } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { bind, maxPageSize } from '../query/bind.js'
import type { CursorSeal, PlanSeal } from '../query/cursor.js'
import type { QueryLimits } from '../query/limits.js'
import { afterCursor, withKeyPlaceholder } from '../query/placeholder.js'
import {
  columnOf,
  type Expr,
  FALSE,
  type KeysetPosition,
  type Plan,
  predicate,
  rowSource,
  textLiteral,
  withFilter,
} from '../query/plan.js'
import { BARE_REPRESENTATION, type Representation } from '../query/representation.js'

/** What the service is made of. */
export interface ServiceDependencies {
  readonly database: Database
  readonly limits: QueryLimits
  readonly policy: DisclosurePolicy
  readonly seal: CursorSeal
}

/** A page as an adapter sends it on. */
export interface CollectionPage {
  readonly records: RecordPage
  /** Opaque token of the next page; absent: this is the last one. */
  readonly nextToken?: string
  readonly count?: number
}

/** A query that an adapter has read, and how it wants the records written. */
export interface ReadRequest {
  readonly query: Query
  readonly representation: Representation
}

/** A query whose pages are walked. */
export interface PageRequest extends ReadRequest {
  /**
   * Where the page begins, apart from the query: so all pages of a walk have one. Absent: the query says it,
   * or the page is the first one.
   */
  readonly pageToken?: string
}

/**
 * A window on the records in their order: the first or the last of those between two cursors. The size of a
 * page where neither says how many.
 */
export interface ConnectionArguments {
  readonly first?: number
  readonly last?: number
  readonly after?: string
  readonly before?: string
}

/** What of a window is looked at. Without `records` none are read. */
export interface WindowSelection extends PageInfo {
  readonly records: boolean
}

export interface WindowResult extends CursorWindow {
  /** Opaque token of a record's place in this order and filter. */
  readonly cursorOf: (record: RecordWithCursor) => string
  /** The same of a place. */
  readonly cursorAt: (position: KeysetPosition) => string
}

/** The reading part of the port that both adapters use. */
export class ReadService {
  constructor(private readonly dependencies: ServiceDependencies) {}

  /**
   * A page of an entity set; of the records that belong to another one if `within` says so. `pageSize`:
   * records of a page when the query names no number.
   */
  async findPage(
    entityType: Entity,
    { query, representation, pageToken }: PageRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
    pageSize?: number,
  ): Promise<CollectionPage> {
    requireScope(actor, 'listings:read')
    const { limits, database } = this.dependencies
    const boundPlan = withParentFilter(
      bind(query, entityType, pageSize === undefined ? limits : { ...limits, pageSize }),
      parentFilter,
    )
    const seal = this.dependencies.seal(boundPlan)
    const token = pageToken ?? query.skipToken
    const cursor = token === undefined ? undefined : seal.open(token, '$skiptoken')
    const remaining = limits.topIsTotal ? (cursor?.remaining ?? query.top) : undefined
    const plan = withTopLimit(remaining, cursor ? afterCursor(boundPlan, cursor.after) : boundPlan)
    const page = await readPage(
      database.reader,
      authorize(plan, actor, this.dependencies.policy),
      representation,
      cursor?.after,
    )
    const remainingAfterPage = remaining === undefined ? undefined : remaining - page.records.length
    const next =
      page.next && remainingAfterPage !== 0
        ? seal.seal({
            after: page.next,
            ...(remainingAfterPage !== undefined && { remaining: remainingAfterPage }),
          })
        : undefined
    return {
      records: page.records,
      ...(next !== undefined && { nextToken: next }),
      ...(page.count !== undefined && { count: page.count }),
    }
  }

  /**
   * A window on an entity set, in the terms of Relay (Cursor Connections, 4): what is around it is said
   * exactly. Beside the statement that reads the window each of `wanted` costs one at most, and none where it
   * is known.
   * @throws ProblemError BadOptionValue if the window is larger than a page, BadPageToken.
   */
  async findWindow(
    entityType: Entity,
    { query, representation }: ReadRequest,
    actor: Actor,
    args: ConnectionArguments,
    selection: WindowSelection,
  ): Promise<WindowResult> {
    requireScope(actor, 'listings:read')
    const { limits, database, policy } = this.dependencies
    const size = checkWindowSize(query, args, limits)
    const top = selection.records ? size : 0
    // A query that says so itself is known again, and its plan with it.
    const plan = bind(
      top === query.top ? query : { ...query, ...(top !== undefined && { top }) },
      entityType,
      limits,
    )
    const seal = this.dependencies.seal(plan)
    const window = await readCursorWindow(
      database.reader,
      authorize(plan, actor, policy),
      representation,
      toCursorBounds(args, seal),
      selection,
    )
    const cursorAt = (position: KeysetPosition) => seal.seal({ after: position })
    return { ...window, cursorOf: record => cursorAt(parseCursor(record)), cursorAt }
  }

  /** How many records the query's filter selects. */
  async count(entityType: Entity, query: Query, actor: Actor, parentFilter?: ParentFilter): Promise<number> {
    requireScope(actor, 'listings:read')
    const plan = withParentFilter(bind(query, entityType, this.dependencies.limits), parentFilter)
    return countRecords(this.dependencies.database.reader, authorize(plan, actor, this.dependencies.policy))
  }

  /**
   * The record with that key, or without a key the one that `within` selects; undefined if there is none that
   * the actor can see.
   */
  async get(
    entityType: Entity,
    key: string | undefined,
    request: ReadRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<RecordJson | undefined> {
    requireScope(actor, 'listings:read')
    return this.readRecord(this.dependencies.database.reader, entityType, key, request, actor, parentFilter)
  }

  /** Like `get`, without asking for a scope: also for the answer to a write, in its transaction. */
  async readRecord(
    executor: StatementExecutor,
    entityType: Entity,
    key: string | undefined,
    { query, representation }: ReadRequest,
    actor: Actor,
    parentFilter?: ParentFilter,
  ): Promise<RecordJson | undefined> {
    const bound = withParentFilter(bind(query, entityType, this.dependencies.limits), parentFilter)
    const plan = key === undefined ? bound : withKeyPlaceholder(bound)
    return readFirstRecord(
      executor,
      authorize(plan, actor, this.dependencies.policy),
      representation,
      key === undefined ? undefined : [key],
    )
  }

  /** The plan by which the actor reads what the query selects. */
  toAuthorizedPlan(entityType: Entity, query: Query, actor: Actor): Plan {
    return authorize(bind(query, entityType, this.dependencies.limits), actor, this.dependencies.policy)
  }

  /**
   * The condition on the records that the last of some steps leads to; undefined without steps. Each step
   * reads a record: the actor must see it (NotFound), and where the actor may not see the field that refers
   * to others, it leads to none.
   */
  resolvePath(steps: readonly NavigationStep[], actor: Actor): Promise<ParentFilter | undefined> | undefined {
    return steps.length > 0 ? this.resolveSteps(steps, actor) : undefined
  }

  private async resolveSteps(
    steps: readonly NavigationStep[],
    actor: Actor,
  ): Promise<ParentFilter | undefined> {
    let parentFilter: ParentFilter | undefined
    for (const step of steps) parentFilter = await this.resolveStep(step, actor, parentFilter)
    return parentFilter
  }

  private async resolveStep(
    { entity: entityType, key, navigation }: NavigationStep,
    actor: Actor,
    parentFilter: ParentFilter | undefined,
  ): Promise<ParentFilter> {
    const { local, foreign, target } = navigation
    const found = await this.get(
      entityType,
      key,
      {
        query: { select: [{ name: local, at: { source: 'the path' } }] },
        representation: BARE_REPRESENTATION,
      },
      actor,
      parentFilter,
    )
    if (!found)
      return fail({
        kind: 'NotFound',
        what:
          key === undefined ? `record before ${navigation.name}` : `${entityType.name} with the key '${key}'`,
      })
    const value = (JSON.parse(found.json) as Readonly<Record<string, string | null>>)[local] ?? null // fields that refer to others are text
    return value === null
      ? FALSE
      : predicate('eq', columnOf(getScalar(getEntity(target), foreign), rowSource('r0')), textLiteral(value))
  }
}

/**
 * One step on the way to related records: from a record, with its key or as the one that the steps before
 * lead to, along a navigation.
 */
export interface NavigationStep {
  readonly entity: Entity
  readonly key?: string
  readonly navigation: Navigation
}

/** Narrows a query to the records that belong to another record: a condition on the rows of `r0`. */
export type ParentFilter = Expr

/** The number of records asked for. */
function checkWindowSize(
  query: Query,
  { first, last, after, before }: ConnectionArguments,
  limits: QueryLimits,
): number | undefined {
  const maxSize = maxPageSize(query, limits)
  for (const [option, size] of Object.entries({ first, last }))
    if (size !== undefined && !(size >= 0 && size <= maxSize))
      fail({
        kind: 'BadOptionValue',
        option,
        expected: `a whole number from 0 to ${maxSize}`,
        found: String(size),
      })
  if (first !== undefined && last !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'last', context: 'a window that has first' })
  if (query.skip && (after ?? before ?? last) !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'skip', context: 'a window that has a cursor or last' })
  return first ?? last
}

function toCursorBounds({ last, after, before }: ConnectionArguments, seal: PlanSeal): CursorBounds {
  return {
    ...(after !== undefined && { after: seal.open(after, 'after').after }),
    ...(before !== undefined && { before: seal.open(before, 'before').after }),
    backward: last !== undefined,
  }
}

const withTopLimit = (remaining: number | undefined, plan: Plan): Plan =>
  remaining === undefined ? plan : { ...plan, top: Math.min(plan.top ?? remaining, remaining) }

const withParentFilter = (plan: Plan, parentFilter: ParentFilter | undefined): Plan =>
  parentFilter ? withFilter(plan, parentFilter) : plan

export type { PageInfo, RecordJson, RecordWithCursor }
