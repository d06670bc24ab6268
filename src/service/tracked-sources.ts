import { staysWithinListing } from '../domain/visibility.js'
import type { Entity, Navigation } from '../model/model.js'
import { memoize } from '../query/memoize.js'
import type { Collection, ColumnSource, Expansion, Expr, Plan } from '../query/plan.js'

/** The other records on which the result of a query depends. */
export interface TrackedSources {
  /** Resources of a listing that the query expands. Their events name the listing. */
  readonly children: ReadonlySet<string>
  /** Resources of a listing that the filter reads, so that their changes move listings in and out of the result. */
  readonly filterChildren: ReadonlySet<string>
  /** Expanded navigations to a single record. */
  readonly references: readonly Navigation[]
}

/**
 * Expanded single records whose changes are tracked, by entity. The records that refer to a changed one are
 * found by an index, or the table is small (Office).
 */
const TRACKED_REFERENCES: Readonly<Record<string, readonly string[]>> = {
  Property: ['ListAgent', 'ListOffice'],
  Member: ['Office'],
  Office: ['OfficeBroker'],
  Rooms: ['Listing'],
  OpenHouse: ['Listing'],
}

/** Returns true if the change log has the events of the entity. */
export const hasEvents = ({ fields }: Entity): boolean => fields.has('LastEventSequence')

/** Returns the navigations of an entity that a tracked query can expand. */
export const trackedExpansionsOf = (entity: Entity): readonly Navigation[] =>
  entity.navigations.filter(
    navigation => isChild(navigation) || TRACKED_REFERENCES[entity.name]?.includes(navigation.name),
  )

/** A collection of records that belong to the listing: their events have its key. */
const isChild = (navigation: Navigation): boolean => navigation.collection && staysWithinListing(navigation)

/**
 * Returns the records that the result of a plan depends on. Returns undefined if its changes cannot be
 * tracked, because some change of the result has no event in the log. The plan must not contain permissions
 * yet.
 */
export const trackedSourcesOf = memoize(function findTrackedSources(plan: Plan): TrackedSources | undefined {
  if (plan.from || !hasEvents(plan.entity)) return undefined
  const filterChildren = childrenReadBy(plan)
  const expansions = plan.expand.map(expansion => isTrackedExpansion(plan.entity, expansion))
  if (!filterChildren || expansions.includes(false)) return undefined
  const navigations = plan.expand.map(({ navigation }) => navigation)
  const children = navigations.filter(isChild).map(({ target }) => target)
  return {
    children: new Set([...children, ...filterChildren]),
    filterChildren,
    references: navigations.filter(navigation => !isChild(navigation)),
  }
})

function isTrackedExpansion(of: Entity, { navigation, plan }: Expansion): boolean {
  return (
    trackedExpansionsOf(of).includes(navigation) &&
    !plan.from &&
    plan.expand.length === 0 &&
    childrenReadBy(plan)?.size === 0
  )
}

/** Returns the resources that the expressions of a plan read, or undefined if they are not tracked. */
function childrenReadBy({ filter, orderBy, select }: Plan): ReadonlySet<string> | undefined {
  const found = new Set<string>()
  const expressions = [
    ...(filter ? [filter] : []),
    ...orderBy.map(({ expr }) => expr),
    ...select.flatMap(item => (item.kind === 'computed' ? [item.value] : [])),
  ]
  return expressions.every(expr => isTracked(expr, found)) ? found : undefined
}

/** Returns true if an expression depends on the record and the children of its listing, which are added to `found`. */
function isTracked(expr: Expr, found: Set<string>): boolean {
  switch (expr.kind) {
    case 'literal':
    case 'parameter':
    case 'element':
    case 'search':
    case 'inFeed':
      return true
    case 'result':
      return false
    case 'column':
      return isOwn(expr.source)
    case 'list':
      return expr.items.every(item => isTracked(item, found))
    case 'call':
      return expr.fn !== 'now' && expr.args.every(arg => isTracked(arg, found))
    case 'cast':
      return isTracked(expr.arg, found)
    case 'nullUnless':
      return isTracked(expr.when, found) && isTracked(expr.value, found)
    case 'lambda':
      return isTrackedCollection(expr.over, expr.body, found)
    case 'count':
      return isTrackedCollection(expr.over, expr.filter, found)
  }
}

const isOwn = ({ kind }: ColumnSource): boolean => kind === 'row'

function isTrackedCollection(over: Collection, body: Expr | undefined, found: Set<string>): boolean {
  if (!isOwn(over.source)) return false
  if (over.kind === 'values') return !body || isTracked(body, found)
  if (!isChild(over.navigation)) return false
  found.add(over.navigation.target)
  return !body || isTracked(body, found)
}
