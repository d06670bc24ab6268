import type { Database } from '../data/database.js'
import { type Bounds, readWindow, type Surroundings, type Window } from '../data/read/cursor-window.js'
import { readCount, readPage, readRecord } from '../data/read/read.js'
import { type Found, type Placed, type Records, toPosition } from '../data/sql/json/records.js'
import type { Connection } from '../data/sql/statement.js'
import { type Actor, requireScope } from '../domain/actor.js'
import { restrict } from '../domain/authorize.js'
import type { Policy } from '../domain/visibility.js'
import { fail } from '../errors/problem.js'
import { type Entity, entity, type Navigation, scalar } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { bind, mostOf } from '../query/bind.js'
import type { CursorSeal, PlanSeal } from '../query/cursor.js'
import type { QueryLimits } from '../query/limits.js'
import { behind, withKey } from '../query/placeholder.js'
import {
  call,
  columnOf,
  type Expr,
  FALSE,
  narrow,
  type Plan,
  type Position,
  rowSource,
  textLiteral,
} from '../query/plan.js'
import { BARE, type Notation } from '../query/representation.js'

/** What the service is made of. */
export interface ServiceParts {
  readonly database: Database
  readonly limits: QueryLimits
  readonly policy: Policy
  readonly seal: CursorSeal
}

/** A page as an adapter sends it on. */
export interface Collection {
  readonly records: Records
  /** Opaque token of the next page; absent: this is the last one. */
  readonly nextToken?: string
  readonly count?: number
}

/** A query that an adapter has read, and how it wants the records written. */
export interface View {
  readonly query: Query
  readonly notation: Notation
}

/** A query whose pages are walked. */
export interface PageView extends View {
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
export interface WindowAsked {
  readonly first?: number
  readonly last?: number
  readonly after?: string
  readonly before?: string
}

/** What of a window is looked at. Without `records` none are read. */
export interface WindowWanted extends Surroundings {
  readonly records: boolean
}

export interface WindowFound extends Window {
  /** Opaque token of a record's place in this order and filter. */
  readonly cursorOf: (record: Placed) => string
  /** The same of a place. */
  readonly cursorAt: (place: Position) => string
}

/** The reading part of the port that both adapters use. */
export class Reading {
  constructor(private readonly parts: ServiceParts) {}

  /**
   * A page of an entity set; of the records that belong to another one if `within` says so. `pageSize`:
   * records of a page when the query names no number.
   */
  async find(
    of: Entity,
    { query, notation, pageToken }: PageView,
    actor: Actor,
    within?: Within,
    pageSize?: number,
  ): Promise<Collection> {
    requireScope(actor, 'listings:read')
    const { limits, database } = this.parts
    const asked = narrowTo(bind(query, of, pageSize === undefined ? limits : { ...limits, pageSize }), within)
    const seal = this.parts.seal(asked)
    const token = pageToken ?? query.skipToken
    const cursor = token === undefined ? undefined : seal.open(token, '$skiptoken')
    const rest = limits.topIsTotal ? (cursor?.rest ?? query.top) : undefined
    const plan = cutTo(rest, cursor ? behind(asked, cursor.after) : asked)
    const page = await readPage(
      database.reader,
      restrict(plan, actor, this.parts.policy),
      notation,
      cursor?.after,
    )
    const left = rest === undefined ? undefined : rest - page.records.length
    const next =
      page.next && left !== 0
        ? seal.seal({ after: page.next, ...(left !== undefined && { rest: left }) })
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
  async browse(
    of: Entity,
    { query, notation }: View,
    actor: Actor,
    asked: WindowAsked,
    wanted: WindowWanted,
  ): Promise<WindowFound> {
    requireScope(actor, 'listings:read')
    const { limits, database, policy } = this.parts
    const size = checkSize(query, asked, limits)
    const top = wanted.records ? size : 0
    // A query that says so itself is known again, and its plan with it.
    const plan = bind(top === query.top ? query : { ...query, ...(top !== undefined && { top }) }, of, limits)
    const seal = this.parts.seal(plan)
    const found = await readWindow(
      database.reader,
      restrict(plan, actor, policy),
      notation,
      openBounds(asked, seal),
      wanted,
    )
    const cursorAt = (place: Position) => seal.seal({ after: place })
    return { ...found, cursorOf: record => cursorAt(toPosition(record)), cursorAt }
  }

  /** How many records the query's filter selects. */
  async count(of: Entity, query: Query, actor: Actor, within?: Within): Promise<number> {
    requireScope(actor, 'listings:read')
    const plan = narrowTo(bind(query, of, this.parts.limits), within)
    return readCount(this.parts.database.reader, restrict(plan, actor, this.parts.policy))
  }

  /**
   * The record with that key, or without a key the one that `within` selects; undefined if there is none that
   * the actor can see.
   */
  async get(
    of: Entity,
    key: string | undefined,
    view: View,
    actor: Actor,
    within?: Within,
  ): Promise<Found | undefined> {
    requireScope(actor, 'listings:read')
    return this.read(this.parts.database.reader, of, key, view, actor, within)
  }

  /** Like `get`, without asking for a scope: also for the answer to a write, in its transaction. */
  async read(
    connection: Connection,
    of: Entity,
    key: string | undefined,
    { query, notation }: View,
    actor: Actor,
    within?: Within,
  ): Promise<Found | undefined> {
    const bound = narrowTo(bind(query, of, this.parts.limits), within)
    const plan = key === undefined ? bound : withKey(bound)
    return readRecord(
      connection,
      restrict(plan, actor, this.parts.policy),
      notation,
      key === undefined ? undefined : [key],
    )
  }

  /** The plan by which the actor reads what the query selects. */
  planOf(of: Entity, query: Query, actor: Actor): Plan {
    return restrict(bind(query, of, this.parts.limits), actor, this.parts.policy)
  }

  /**
   * The condition on the records that the last of some steps leads to; undefined without steps. Each step
   * reads a record: the actor must see it (NotFound), and where the actor may not see the field that refers
   * to others, it leads to none.
   */
  follow(steps: readonly Step[], actor: Actor): Promise<Within | undefined> | undefined {
    return steps.length > 0 ? this.walk(steps, actor) : undefined
  }

  private async walk(steps: readonly Step[], actor: Actor): Promise<Within | undefined> {
    let within: Within | undefined
    for (const step of steps) within = await this.leave(step, actor, within)
    return within
  }

  private async leave(
    { entity: from, key, navigation }: Step,
    actor: Actor,
    within: Within | undefined,
  ): Promise<Within> {
    const { local, foreign, target } = navigation
    const found = await this.get(
      from,
      key,
      { query: { select: [{ name: local, at: { source: 'the path' } }] }, notation: BARE },
      actor,
      within,
    )
    if (!found)
      return fail({
        kind: 'NotFound',
        what: key === undefined ? `record before ${navigation.name}` : `${from.name} with the key '${key}'`,
      })
    const value = (JSON.parse(found.json) as Readonly<Record<string, string | null>>)[local] ?? null // fields that refer to others are text
    return value === null
      ? FALSE
      : call('eq', columnOf(scalar(entity(target), foreign), rowSource('r0')), textLiteral(value))
  }
}

/**
 * One step on the way to related records: from a record, with its key or as the one that the steps before
 * lead to, along a navigation.
 */
export interface Step {
  readonly entity: Entity
  readonly key?: string
  readonly navigation: Navigation
}

/** Narrows a query to the records that belong to another record: a condition on the rows of `r0`. */
export type Within = Expr

/** The number of records asked for. */
function checkSize(
  query: Query,
  { first, last, after, before }: WindowAsked,
  limits: QueryLimits,
): number | undefined {
  const most = mostOf(query, limits)
  for (const [option, size] of Object.entries({ first, last }))
    if (size !== undefined && !(size >= 0 && size <= most))
      fail({
        kind: 'BadOptionValue',
        option,
        expected: `a whole number from 0 to ${most}`,
        found: String(size),
      })
  if (first !== undefined && last !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'last', where: 'a window that has first' })
  if (query.skip && (after ?? before ?? last) !== undefined)
    fail({ kind: 'OptionNotAllowed', option: 'skip', where: 'a window that has a cursor or last' })
  return first ?? last
}

function openBounds({ last, after, before }: WindowAsked, seal: PlanSeal): Bounds {
  return {
    ...(after !== undefined && { after: seal.open(after, 'after').after }),
    ...(before !== undefined && { before: seal.open(before, 'before').after }),
    backward: last !== undefined,
  }
}

const cutTo = (rest: number | undefined, plan: Plan): Plan =>
  rest === undefined ? plan : { ...plan, top: Math.min(plan.top ?? rest, rest) }

const narrowTo = (plan: Plan, within: Within | undefined): Plan => (within ? narrow(plan, within) : plan)

export type { Found, Placed, Surroundings }
