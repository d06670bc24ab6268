import { FEATURES } from '../../errors/features.js'
import { EXPECTED_TYPE } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import type { Entity } from '../../model/model.js'
import type { AggregateAst, GroupAst, TransformationAst } from '../ast.js'
import { AGGREGATES, type ValueType } from '../functions.js'
import {
  type Aggregate,
  allOf,
  type DerivedTable,
  type Expr,
  type GroupByTransform,
  type WindowTransform,
} from '../plan.js'
import {
  allRecordsOf,
  bindCompute,
  bindOrder,
  bindSearch,
  checkComputedName,
  type RecordSet,
  totalOrder,
} from './clauses.js'
import { bindCondition, bindValue } from './expression.js'
import { Scope } from './scope.js'

/**
 * Applies the transformations of `$apply` to the records of an entity (OData Data Aggregation 4.0, 3).
 * Transformations that commute are merged into one plan. A window and a grouping become a derived table,
 * which later steps read.
 */
export const bindTransformations = (steps: readonly TransformationAst[], of: Entity): RecordSet =>
  steps.reduce(applyTransformation, allRecordsOf(Scope.root(of)))

function applyTransformation(recordSet: RecordSet, step: TransformationAst): RecordSet {
  switch (step.kind) {
    case 'filter':
      return { ...recordSet, filter: allOf(recordSet.filter, bindCondition(step.filter, recordSet.scope)) }
    case 'search':
      return {
        ...recordSet,
        filter: allOf(recordSet.filter, bindSearch(step.search, recordSet.scope, '$apply')),
      }
    case 'compute':
      return bindCompute(recordSet, step.items)
    case 'orderby':
      // Records that are equal in the new order stay in the previous order.
      return {
        ...recordSet,
        order: [...step.terms.map(t => bindOrder(t, recordSet.scope)), ...recordSet.order],
      }
    case 'top':
    case 'skip':
      return applyTopSkip(recordSet, { [step.kind]: step.count })
    case 'identity':
      return recordSet
    case 'group':
      return applyGroupBy(recordSet, step)
    case 'other':
      return fail({ kind: 'NotImplemented', feature: step.feature, at: step.at })
  }
}

/** Appends a window. A window passes all columns through, so bound expressions remain valid after it. */
function applyTopSkip(recordSet: RecordSet, window: Pick<WindowTransform, 'top' | 'skip'>): RecordSet {
  const { filter: _, ...rest } = recordSet
  return {
    ...rest,
    from: toDerivedTable(recordSet, {
      kind: 'window',
      orderBy: totalOrder(recordSet.order, recordSet.tieBreakers),
      ...window,
    }),
  }
}

function toDerivedTable(
  { scope, from, filter }: RecordSet,
  transformation: DerivedTable['transform'],
): DerivedTable {
  return {
    entity: scope.entity,
    ...(from && { from }),
    row: scope.row,
    ...(filter && { filter }),
    transform: transformation,
  }
}

interface ResultColumn<T> {
  readonly name: string
  readonly value: T
}

/** Appends a grouping. The resulting records have the grouping properties and the aggregates only. */
function applyGroupBy(
  recordSet: RecordSet,
  { by, aggregates: items }: TransformationAst & { kind: 'group' },
): RecordSet {
  const groups = by.map(g => bindGroup(g, recordSet.scope))
  const duplicate = by.find((g, i) => groups.findIndex(other => other.name === g.names.join('/')) < i)
  if (duplicate) fail({ kind: 'DuplicateItem', item: duplicate.names.join('/'), at: duplicate.at })
  const usedNames = [...recordSet.computed.keys(), ...groups.map(g => g.name)]
  const aggregates = items.map((item, i) =>
    bindAggregate(item, recordSet, [...usedNames, ...items.slice(0, i).map(other => other.name)]),
  )
  const scope = Scope.root(resultEntity(recordSet.scope.entity))
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
  const transformation: GroupByTransform = {
    kind: 'groups',
    groups: groups.map(g => g.value),
    aggregates: aggregates.map(a => a.value),
  }
  return {
    scope: columns.reduce((around, [name, value]) => around.withComputed(name, value), scope),
    from: toDerivedTable(recordSet, transformation),
    computed: new Map(columns),
    order: [],
    // Without grouping properties there is only one record.
    tieBreakers: (keys.length > 0 ? keys : columns.slice(0, 1)).map(([, value]) => value),
  }
}

/** Returns the entity of grouped records. It has no fields: groups and aggregates are computed values. */
function resultEntity(of: Entity): Entity {
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

function bindGroup({ names, at }: GroupAst, scope: Scope): ResultColumn<Expr> {
  const value = bindValue({ kind: 'path', names, at }, scope)
  if (value.type.startsWith('Collection'))
    fail({ kind: 'WrongType', expected: EXPECTED_TYPE.groupable, found: value.type, at })
  return { name: names.join('/'), value }
}

function bindAggregate(
  { of, name, at }: AggregateAst,
  recordSet: RecordSet,
  usedNames: readonly string[],
): ResultColumn<Aggregate> {
  checkComputedName(name, recordSet, usedNames, at)
  if (!of) return { name, value: { type: 'Int64' } }
  const { method } = of
  if (of.expr.kind === 'path') checkNoCollectionPath(of.expr.names, recordSet.scope, of.expr.at)
  const expr = bindValue(of.expr, recordSet.scope)
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

/**
 * Refuses to aggregate the records of a collection, which the standard allows and the service does not
 * implement.
 */
function checkNoCollectionPath(
  [first = '', ...rest]: readonly string[],
  { entity }: Scope,
  at: SourceLocation,
): void {
  const field = entity.fields.get(first)
  if (rest.length > 0 && field?.kind === 'navigation' && field.collection)
    fail({ kind: 'NotImplemented', feature: FEATURES.aggregateRelated(first), at })
}
