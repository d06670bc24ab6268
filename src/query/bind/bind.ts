import { COMPLEXITY_UNITS, EXPECTED_TYPE, OPTION_CONTEXTS } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import { type Entity, getEntity, type Navigation, type Scalar } from '../../model/model.js'
import type { ExpandAst, Query, SelectAst } from '../ast.js'
import { checkEvaluations } from '../complexity.js'
import { MAX_KEY_PAGE, MAX_NESTED_COLLECTIONS, MAX_SKIP, type QueryLimits } from '../limits.js'
import { memoize } from '../memoize.js'
import { allOf, type Expansion, type Expr, isTrue, type Plan, type SelectItem } from '../plan.js'
import { bindTransformations } from './apply.js'
import { allRecordsOf, bindCompute, bindOrder, bindSearch, type RecordSet, totalOrder } from './clauses.js'
import { bindCondition } from './expression.js'
import { failUnknownField, Scope } from './scope.js'

/**
 * Resolves the names and types of a query against the model. Both adapters use it, and no other code
 * validates queries.
 */
export const bind = memoize(function bind(query: Query, of: Entity, limits: QueryLimits): Plan {
  if ((query.skip ?? 0) > MAX_SKIP) fail({ kind: 'SkipTooLarge', option: '$skip', limit: MAX_SKIP })
  return {
    ...bindQuery(query, bindTransformations(query.apply ?? [], of), limits, []),
    top: pageSize(query, limits),
  }
})

/**
 * Returns the page size. A larger `$top` is reduced, and nextLink depends on the reduced value.
 */
const pageSize = (query: Query, limits: QueryLimits): number =>
  Math.min(query.top ?? limits.pageSize, maxPageSize(query, limits))

/** Returns the maximum number of records per page of the query. */
export const maxPageSize = ({ expand }: Query, limits: QueryLimits): number =>
  expand?.length ? Math.min(limits.expandPageMax, limits.pageSizeMax) : limits.pageSizeMax

/**
 * Returns the limits for the page size that the client prefers, if any. A page that selects only the key and
 * the position in the log can be larger, for clients that compare their keys with those of the service.
 */
export const withPreferredPageSize = (
  limits: QueryLimits,
  pageSize: number | undefined,
  query: Query,
  { key }: Entity,
): QueryLimits =>
  pageSize === undefined
    ? limits
    : {
        ...limits,
        pageSize,
        pageSizeMax: isKeySweep(query, key.name)
          ? Math.max(MAX_KEY_PAGE, limits.pageSizeMax)
          : limits.pageSizeMax,
      }

const isKeySweep = ({ select, expand, compute, apply }: Query, key: string): boolean =>
  select !== undefined &&
  !expand?.length &&
  !compute &&
  !apply &&
  select.every(({ name }) => name === key || name === 'LastEventSequence')

/** `navigationPath`: the expanded navigations from the entity of the request to this one. */
function bindQuery(
  query: Query,
  start: RecordSet,
  limits: QueryLimits,
  navigationPath: readonly Navigation[],
): Plan {
  const {
    scope,
    from,
    filter: priorFilter,
    computed,
    order,
    tieBreakers,
  } = bindCompute(start, query.compute ?? [])
  const filter = allOf(
    priorFilter,
    query.search && bindSearch(query.search, scope, '$search'),
    query.filter && bindCondition(query.filter, scope),
  )
  const evaluated = {
    ...(from && { from }),
    ...(!isTrue(filter) && { filter }),
    orderBy: totalOrder([...(query.orderBy ?? []).map(t => bindOrder(t, scope)), ...order], tieBreakers),
    select: bindSelect(query, scope.entity, computed),
  }
  checkEvaluations(evaluated, firstExpressionOf(query))
  return {
    entity: scope.entity,
    row: scope.row,
    ...evaluated,
    expand: bindExpand(query, scope, limits, navigationPath),
    links: bindLinks(query.select ?? NO_SELECT, query.expand ?? NO_EXPAND, scope.entity),
    ...(query.controlInformation && { controlInformation: query.controlInformation }),
    ...(query.memberOrder && { memberOrder: query.memberOrder }),
    ...(query.top !== undefined && { top: query.top }),
    skip: query.skip ?? 0,
    count: query.count ?? false,
  }
}

/** The position of the expression that most likely makes the query too complex. */
const firstExpressionOf = ({ filter, orderBy, compute }: Query): SourceLocation =>
  filter?.at ?? orderBy?.[0]?.expr.at ?? compute?.[0]?.expr.at ?? { source: '$apply' }

function bindSelect(
  { select }: Query,
  of: Entity,
  computed: ReadonlyMap<string, Expr>,
): readonly SelectItem[] {
  if (computed.size > 0) return bindSelectItems(select, of, computed)
  return select ? selectFields(select, of) : selectAllFields(of)
}

const NO_COMPUTED_VALUES: ReadonlyMap<string, Expr> = new Map()
/** Memoized, so that the few common selections share one list and everything that is cached by it. */
const selectAllFields = memoize(function selectAllFields(of: Entity) {
  return bindSelectItems(undefined, of, NO_COMPUTED_VALUES)
})
const selectFields = memoize(function selectFields(select: readonly SelectAst[], of: Entity) {
  return bindSelectItems(select, of, NO_COMPUTED_VALUES)
})

function bindSelectItems(
  select: readonly SelectAst[] | undefined,
  of: Entity,
  computed: ReadonlyMap<string, Expr>,
): readonly SelectItem[] {
  const allItems = [
    ...of.scalars.filter(s => s.readableBy !== 'nobody').map(toField),
    ...[...computed].map(toComputed),
  ]
  if (!select) return allItems
  const named = select
    .filter(s => s.name !== '*')
    .flatMap(item => {
      const value = computed.get(item.name)
      return value ? [toComputed([item.name, value])] : bindSelectItem(item, of)
    })
  if (select.some(s => s.name === '*')) return allItems
  return named.filter((s, i) => named.findIndex(other => selectItemName(other) === selectItemName(s)) === i)
}

const toField = (scalar: Scalar): SelectItem => ({ kind: 'field', scalar })
const toComputed = ([name, value]: readonly [string, Expr]): SelectItem => ({ kind: 'computed', name, value })
const selectItemName = (selected: SelectItem) =>
  selected.kind === 'field' ? (selected.as ?? selected.scalar.name) : selected.name

/** Binds a selected item. A selected navigation adds a link at most; its records need `$expand`. */
function bindSelectItem({ name, as, at }: SelectAst, of: Entity): readonly SelectItem[] {
  const field = of.fields.get(name) ?? failUnknownField(of, name, at)
  if (field.kind === 'navigation') return []
  return field.readableBy === 'nobody'
    ? fail({ kind: 'NotReadable', field: name, at })
    : [{ ...toField(field), ...(as !== undefined && { as }) }]
}

const NO_SELECT: readonly SelectAst[] = []
const NO_EXPAND: readonly ExpandAst[] = []

/** All navigations, or those that are selected or expanded beside a list of fields (OData 4.01 Part 2, 5.1.4). */
const bindLinks = memoize(function bindLinks(
  select: readonly SelectAst[],
  expand: readonly ExpandAst[],
  of: Entity,
): readonly Navigation[] {
  if (select.length === 0) return of.navigations
  const isNamed = ({ name }: Navigation) =>
    select.some(s => s.name === name) || expand.some(e => e.name === name || e.name === '*')
  return of.navigations.filter(isNamed)
})

const expandItemName = ({ name, as }: ExpandAst) => as ?? name

/**
 * Memoized for the expansions of a request that depend only on the entity. Names of `$compute` are not
 * visible in them.
 */
const bindRootExpand = memoize(function bindRootExpand(
  items: readonly ExpandAst[],
  of: Entity,
  limits: QueryLimits,
) {
  return bindExpandItems(items, Scope.root(of), limits, [])
})

function bindExpand(
  { expand, apply }: Query,
  scope: Scope,
  limits: QueryLimits,
  navigationPath: readonly Navigation[],
): readonly Expansion[] {
  if (!expand) return NO_EXPANSIONS
  return navigationPath.length === 0 && !apply
    ? bindRootExpand(expand, scope.entity, limits)
    : bindExpandItems(expand, scope, limits, navigationPath)
}

const NO_EXPANSIONS: readonly Expansion[] = []

/**
 * Binds a list of expansions. `*` means every navigation that the list does not name (OData 4.01 Part 2,
 * 5.1.3).
 */
function bindExpandItems(
  items: readonly ExpandAst[],
  scope: Scope,
  limits: QueryLimits,
  navigationPath: readonly Navigation[],
): readonly Expansion[] {
  const [first] = items
  if (!first) return NO_EXPANSIONS
  if (navigationPath.length >= limits.expandDepth)
    fail({
      kind: 'QueryTooComplex',
      what: COMPLEXITY_UNITS.expandLevels,
      limit: limits.expandDepth,
      at: first.at,
    })
  const named = items.filter(i => i.name !== '*')
  const duplicate = named.find(
    (item, i) => named.findIndex(other => expandItemName(other) === expandItemName(item)) < i,
  )
  if (duplicate) fail({ kind: 'DuplicateItem', item: duplicate.name, at: duplicate.at })
  const star = items.find(i => i.name === '*')
  const others = star ? scope.entity.navigations.filter(n => !named.some(i => i.name === n.name)) : []
  const all = [...named, ...others.map(n => ({ ...star, name: n.name }) as ExpandAst)] // `others` is empty if `star` is undefined
  return all.map(item => bindExpansion(item, scope, limits, navigationPath))
}

function bindExpansion(
  { name, as, form, query, at }: ExpandAst,
  scope: Scope,
  limits: QueryLimits,
  navigationPath: readonly Navigation[],
): Expansion {
  const navigation = scope.entity.fields.get(name) ?? failUnknownField(scope.entity, name, at)
  if (navigation.kind !== 'navigation')
    return fail({ kind: 'WrongType', expected: EXPECTED_TYPE.navigation, found: name, at })
  if (form === 'count' && !navigation.collection)
    return fail({ kind: 'WrongType', expected: EXPECTED_TYPE.collectionBeforeCount, found: name, at })
  if (!navigation.collection) checkNoCollectionOptions(query, name)
  if (navigation.collection && navigationPath.filter(n => n.collection).length >= MAX_NESTED_COLLECTIONS)
    return fail({
      kind: 'QueryTooComplex',
      what: COMPLEXITY_UNITS.expandedCollections,
      limit: MAX_NESTED_COLLECTIONS,
      at,
    })
  const plan = bindQuery(query, allRecordsOf(scope.forExpansion(getEntity(navigation.target))), limits, [
    ...navigationPath,
    navigation,
  ])
  return { navigation, ...(as !== undefined && { as }), form, plan }
}

/** Options that apply only to collections, with their OData names. */
const COLLECTION_OPTIONS = {
  orderBy: '$orderby',
  top: '$top',
  skip: '$skip',
  count: '$count',
} as const satisfies {
  readonly [option in keyof Query]: string
}

/** Refuses collection options for a single record (OData 4.01 Part 2, 5.1.3.1). */
function checkNoCollectionOptions(query: Query, name: string): void {
  for (const [option, written] of Object.entries(COLLECTION_OPTIONS))
    if (option in query)
      fail({ kind: 'OptionNotAllowed', option: written, context: OPTION_CONTEXTS.singleRecordOf(name) })
}
