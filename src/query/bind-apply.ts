import { type At, fail } from '../errors/problem.js'
import type { Entity } from '../model/model.js'
import type { AggregateAst, GroupAst, TransformationAst } from './ast.js'
import { bindOrder, bindSearch, checkName, compute, type Stage, startAt, totalOrder } from './bind-clauses.js'
import { bindCondition, bindValue } from './bind-expression.js'
import { AGGREGATES, type ValueType } from './functions.js'
import { type Aggregate, allOf, type Derived, type Expr, type Groups, type Window } from './plan.js'
import { Scope } from './scope.js'

/**
 * What the transformations of `$apply` make of the records of an entity (OData Data Aggregation 4.0, 3). What
 * commutes stays part of the one plan; a window and a grouping close what was read so far, and the rest reads
 * from that.
 */
export const transform = (steps: readonly TransformationAst[], of: Entity): Stage =>
  steps.reduce(transformBy, startAt(Scope.root(of)))

function transformBy(stage: Stage, step: TransformationAst): Stage {
  switch (step.kind) {
    case 'filter':
      return { ...stage, filter: allOf(stage.filter, bindCondition(step.filter, stage.scope)) }
    case 'search':
      return { ...stage, filter: allOf(stage.filter, bindSearch(step.search, stage.scope, '$apply')) }
    case 'compute':
      return compute(stage, step.items)
    case 'orderby':
      // A new order keeps the one before where it does not decide.
      return { ...stage, order: [...step.terms.map(t => bindOrder(t, stage.scope)), ...stage.order] }
    case 'top':
    case 'skip':
      return cut(stage, { [step.kind]: step.count })
    case 'identity':
      return stage
    case 'group':
      return group(stage, step)
    case 'other':
      return fail({ kind: 'NotImplemented', feature: step.feature, at: step.at })
  }
}

/** All columns go through a window, so that every bound expression means the same behind it. */
function cut(stage: Stage, window: Pick<Window, 'top' | 'skip'>): Stage {
  const { filter: _, ...rest } = stage
  return {
    ...rest,
    from: close(stage, { kind: 'window', orderBy: totalOrder(stage.order, stage.ties), ...window }),
  }
}

function close({ scope, from, filter }: Stage, makes: Derived['makes']): Derived {
  return { entity: scope.entity, ...(from && { from }), row: scope.row, ...(filter && { filter }), makes }
}

interface Named<T> {
  readonly name: string
  readonly value: T
}

/** Records of groups have the groups' fields and the aggregates, and nothing else. */
function group(stage: Stage, { by, aggregates: items }: TransformationAst & { kind: 'group' }): Stage {
  const groups = by.map(g => bindGroup(g, stage.scope))
  const twice = by.find((g, i) => groups.findIndex(other => other.name === g.names.join('/')) < i)
  if (twice) fail({ kind: 'DuplicateItem', item: twice.names.join('/'), at: twice.at })
  const taken = [...stage.computed.keys(), ...groups.map(g => g.name)]
  const aggregates = items.map((item, i) =>
    bindAggregate(item, stage, [...taken, ...items.slice(0, i).map(other => other.name)]),
  )
  const scope = Scope.root(resultOf(stage.scope.entity))
  const column = (name: `g${number}` | `a${number}`, { type }: Pick<Expr, 'type'>): Expr => ({
    kind: 'result',
    name,
    row: scope.row,
    type,
  })
  const keys = groups.map(({ name, value }, i) => [name, column(`g${i}`, value)] as const)
  const columns = [
    ...keys,
    ...aggregates.map(({ name, value }, i) => [name, column(`a${i}`, value)] as const),
  ]
  const makes: Groups = {
    kind: 'groups',
    groups: groups.map(g => g.value),
    aggregates: aggregates.map(a => a.value),
  }
  return {
    scope: columns.reduce((around, [name, value]) => around.computed(name, value), scope),
    from: close(stage, makes),
    computed: new Map(columns),
    order: [],
    // Without groups there is one record only.
    ties: (keys.length > 0 ? keys : columns.slice(0, 1)).map(([, value]) => value),
  }
}

/** A record of a group is of no entity: it has computed values only. */
function resultOf(of: Entity): Entity {
  return {
    ...of,
    name: 'The result of $apply',
    writable: false,
    fields: new Map(),
    scalars: [],
    navigations: [],
    hidden: new Map(),
  }
}

function bindGroup({ names, at }: GroupAst, scope: Scope): Named<Expr> {
  const value = bindValue({ kind: 'path', names, at }, scope)
  if (value.type.startsWith('Collection'))
    fail({ kind: 'WrongType', expected: 'a single value to group by', found: value.type, at })
  return { name: names.join('/'), value }
}

function bindAggregate(
  { of, name, at }: AggregateAst,
  stage: Stage,
  taken: readonly string[],
): Named<Aggregate> {
  checkName(name, stage, taken, at)
  if (!of) return { name, value: { type: 'Int64' } }
  const { method } = of
  if (of.expr.kind === 'path') refuseMany(of.expr.names, stage.scope, of.expr.at)
  const expr = bindValue(of.expr, stage.scope)
  const types: Readonly<Record<string, ValueType>> = AGGREGATES[method]
  const type =
    types[expr.type] ??
    fail({
      kind: 'NoOverload',
      name: method,
      args: [expr.type],
      expected: Object.keys(types).map(t => `(${t})`),
      at: of.expr.at,
    })
  return { name, value: { of: { expr, method }, type } }
}

/** The standard also adds up the records behind a collection. */
function refuseMany([first = '', ...rest]: readonly string[], { entity }: Scope, at: At): void {
  const field = entity.fields.get(first)
  if (rest.length > 0 && field?.kind === 'navigation' && field.collection)
    fail({ kind: 'NotImplemented', feature: `aggregation of the records behind ${first}`, at })
}
