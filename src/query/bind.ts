import { fail } from '../errors/problem.js'
import { type Entity, entity, type Navigation, type Scalar } from '../model/model.js'
import type { ExpandAst, Query, SelectAst } from './ast.js'
import { transform } from './bind-apply.js'
import { bindOrder, bindSearch, compute, type Stage, startAt, totalOrder } from './bind-clauses.js'
import { bindCondition } from './bind-expression.js'
import { NESTED_COLLECTIONS_MAX, type QueryLimits, SKIP_MAX } from './limits.js'
import { remember } from './memoize.js'
import { allOf, type Expansion, type Expr, isTrue, type Plan, type Selected } from './plan.js'
import { Scope, unknownField } from './scope.js'

/**
 * Resolves the names and types of a query against the model: the one place that validates queries, for every
 * adapter.
 */
export const bind = remember((query: Query, of: Entity, limits: QueryLimits): Plan => {
  if ((query.skip ?? 0) > SKIP_MAX) fail({ kind: 'SkipTooLarge', option: '$skip', limit: SKIP_MAX })
  return { ...bindIn(query, transform(query.apply ?? [], of), limits, []), top: pageSize(query, limits) }
})

/** A larger `$top` is cut, and the rule for nextLink compares with the cut value (decisions 5). */
const pageSize = (query: Query, limits: QueryLimits): number =>
  Math.min(query.top ?? limits.pageSize, mostOf(query, limits))

/** Most records that a page of the query may have. */
export const mostOf = ({ expand }: Query, limits: QueryLimits): number =>
  expand?.length ? Math.min(limits.expandPageMax, limits.pageSizeMax) : limits.pageSizeMax

/** `way`: the navigations expanded so far, from the request's entity to this one. */
function bindIn(query: Query, start: Stage, limits: QueryLimits, way: readonly Navigation[]): Plan {
  const { scope, from, filter: before, computed, order, ties } = compute(start, query.compute ?? [])
  const filter = allOf(
    before,
    query.search && bindSearch(query.search, scope, '$search'),
    query.filter && bindCondition(query.filter, scope),
  )
  return {
    entity: scope.entity,
    ...(from && { from }),
    row: scope.row,
    ...(!isTrue(filter) && { filter }),
    orderBy: totalOrder([...(query.orderBy ?? []).map(t => bindOrder(t, scope)), ...order], ties),
    select: bindSelect(query, scope.entity, computed),
    expand: bindExpand(query, scope, limits, way),
    ...(query.marks && { marks: query.marks }),
    ...(query.layout && { layout: query.layout }),
    ...(query.top !== undefined && { top: query.top }),
    skip: query.skip ?? 0,
    count: query.count ?? false,
  }
}

function bindSelect({ select }: Query, of: Entity, computed: ReadonlyMap<string, Expr>): readonly Selected[] {
  if (computed.size > 0) return selectAmong(select, of, computed)
  return select ? selectFields(select, of) : everyField(of)
}

const NOTHING: ReadonlyMap<string, Expr> = new Map()
/**
 * Lists of fields are remembered, and with them what others make of them: most queries ask for the same few.
 */
const everyField = remember((of: Entity) => selectAmong(undefined, of, NOTHING))
const selectFields = remember((select: readonly SelectAst[], of: Entity) => selectAmong(select, of, NOTHING))

function selectAmong(
  select: readonly SelectAst[] | undefined,
  of: Entity,
  computed: ReadonlyMap<string, Expr>,
): readonly Selected[] {
  const every = [
    ...of.scalars.filter(s => s.readableBy !== 'nobody').map(toField),
    ...[...computed].map(toComputed),
  ]
  if (!select) return every
  const named = select
    .filter(s => s.name !== '*')
    .flatMap(item => {
      const value = computed.get(item.name)
      return value ? [toComputed([item.name, value])] : selectedField(item, of)
    })
  if (select.some(s => s.name === '*')) return every
  return named.filter((s, i) => named.findIndex(other => nameOf(other) === nameOf(s)) === i)
}

const toField = (scalar: Scalar): Selected => ({ kind: 'field', scalar })
const toComputed = ([name, value]: readonly [string, Expr]): Selected => ({ kind: 'computed', name, value })
const nameOf = (selected: Selected) =>
  selected.kind === 'field' ? (selected.as ?? selected.scalar.name) : selected.name

/** A navigation may be selected: it adds a link at most, and its records only if it is expanded too. */
function selectedField({ name, as, at }: SelectAst, of: Entity): readonly Selected[] {
  const field = of.fields.get(name) ?? unknownField(of, name, at)
  if (field.kind === 'navigation') return []
  return field.readableBy === 'nobody'
    ? fail({ kind: 'NotReadable', field: name, at })
    : [{ ...toField(field), ...(as !== undefined && { as }) }]
}

const memberOf = ({ name, as }: ExpandAst) => as ?? name

/**
 * The expansions of a request, as far as nothing but the entity decides what they mean: names of `$compute`
 * do not reach into them.
 */
const expandRecords = remember((items: readonly ExpandAst[], of: Entity, limits: QueryLimits) =>
  expandIn(items, Scope.root(of), limits, []),
)

function bindExpand(
  { expand, apply }: Query,
  scope: Scope,
  limits: QueryLimits,
  way: readonly Navigation[],
): readonly Expansion[] {
  if (!expand) return NO_EXPANSIONS
  return way.length === 0 && !apply
    ? expandRecords(expand, scope.entity, limits)
    : expandIn(expand, scope, limits, way)
}

const NO_EXPANSIONS: readonly Expansion[] = []

/** `*` stands for every navigation that is not named beside it (OData 4.01 Part 2, 5.1.3). */
function expandIn(
  items: readonly ExpandAst[],
  scope: Scope,
  limits: QueryLimits,
  way: readonly Navigation[],
): readonly Expansion[] {
  const [first] = items
  if (!first) return NO_EXPANSIONS
  if (way.length >= limits.expandDepth)
    fail({ kind: 'QueryTooComplex', what: 'levels of $expand', limit: limits.expandDepth, at: first.at })
  const named = items.filter(i => i.name !== '*')
  const twice = named.find((item, i) => named.findIndex(other => memberOf(other) === memberOf(item)) < i)
  if (twice) fail({ kind: 'DuplicateItem', item: twice.name, at: twice.at })
  const star = items.find(i => i.name === '*')
  const others = star ? scope.entity.navigations.filter(n => !named.some(i => i.name === n.name)) : []
  const all = [...named, ...others.map(n => ({ ...star, name: n.name }) as ExpandAst)] // others is empty without star
  return all.map(item => bindExpansion(item, scope, limits, way))
}

function bindExpansion(
  { name, as, form, query, at }: ExpandAst,
  scope: Scope,
  limits: QueryLimits,
  way: readonly Navigation[],
): Expansion {
  const navigation = scope.entity.fields.get(name) ?? unknownField(scope.entity, name, at)
  if (navigation.kind !== 'navigation')
    return fail({ kind: 'WrongType', expected: 'a navigation property', found: name, at })
  if (form === 'count' && !navigation.collection)
    return fail({ kind: 'WrongType', expected: 'a collection before $count', found: name, at })
  if (!navigation.collection) refuseOfMany(query, name)
  if (navigation.collection && way.filter(n => n.collection).length >= NESTED_COLLECTIONS_MAX)
    return fail({
      kind: 'QueryTooComplex',
      what: 'collections expanded within each other',
      limit: NESTED_COLLECTIONS_MAX,
      at,
    })
  const plan = bindIn(query, startAt(scope.expansion(entity(navigation.target))), limits, [
    ...way,
    navigation,
  ])
  return { navigation, ...(as !== undefined && { as }), form, plan }
}

/** Options that arrange many records, and how they are written. */
const OF_MANY = { orderBy: '$orderby', top: '$top', skip: '$skip', count: '$count' } as const satisfies {
  readonly [option in keyof Query]: string
}

/** A single record has no order and no part (OData 4.01 Part 2, 5.1.3.1). */
function refuseOfMany(query: Query, name: string): void {
  for (const [option, written] of Object.entries(OF_MANY))
    if (option in query)
      fail({ kind: 'OptionNotAllowed', option: written, where: `the single record of ${name}` })
}
