import { FEATURES } from '../../errors/features.js'
import { COMPLEXITY_UNITS, EXPECTED_TYPE } from '../../errors/phrases.js'
import { fail, type SourceLocation } from '../../errors/problem.js'
import type { ComputeAst, OrderAst, SearchAst } from '../ast.js'
import { checkComplexity } from '../complexity.js'
import { MAX_NAME_BYTES, SEARCHABLE_ENTITIES } from '../limits.js'
import { columnOf, type DerivedTable, type Expr, type OrderByTerm, rowSource } from '../plan.js'
import { bindValue } from './expression.js'
import type { Scope } from './scope.js'

/** A set of records that options apply to: the records of an entity, or the result of transformations. */
export interface RecordSet {
  readonly scope: Scope
  readonly from?: DerivedTable
  readonly filter?: Expr
  /** Computed values by name, in their order. */
  readonly computed: ReadonlyMap<string, Expr>
  readonly order: readonly OrderByTerm[]
  /** The expressions that make a record unique, at least one. They complete an order to a total order. */
  readonly tieBreakers: readonly Expr[]
}

/** Returns the set of all records of the scope's entity. */
export const allRecordsOf = (scope: Scope): RecordSet => ({
  scope,
  computed: new Map(),
  order: [],
  tieBreakers: [columnOf(scope.entity.key, rowSource(scope.row))],
})

/** Adds named computed values, which other options and later values can use (OData 4.01 Part 2, 5.1.3.1). */
export const bindCompute = (recordSet: RecordSet, items: readonly ComputeAst[]): RecordSet =>
  items.reduce(bindComputeItem, recordSet)

function bindComputeItem(recordSet: RecordSet, { expr, name, at }: ComputeAst): RecordSet {
  const { scope, computed } = recordSet
  checkComputedName(name, recordSet, computed.keys(), at)
  const value = bindValue(expr, scope)
  if (value.type.startsWith('Geography'))
    fail({ kind: 'WrongType', expected: EXPECTED_TYPE.computable, found: value.type, at: expr.at })
  checkComplexity(value, expr.at)
  return {
    ...recordSet,
    scope: scope.withComputed(name, value),
    computed: new Map([...computed, [name, value]]),
  }
}

/** Refuses a name that is a field, another computed value, or the first segment of a grouping path. */
export function checkComputedName(
  name: string,
  { scope }: RecordSet,
  takenNames: Iterable<string>,
  at: SourceLocation,
): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    fail({ kind: 'QueryTooComplex', what: COMPLEXITY_UNITS.nameBytes, limit: MAX_NAME_BYTES, at })
  if (
    scope.entity.fields.has(name) ||
    [...takenNames].some(other => other === name || other.startsWith(`${name}/`))
  )
    fail({ kind: 'NameTaken', name, at })
}

export function bindSearch(search: SearchAst, { entity: of, row }: Scope, source: string): Expr {
  if (!SEARCHABLE_ENTITIES.has(of.name))
    return fail({ kind: 'NotImplemented', feature: FEATURES.searchIn(of.name), at: { source } })
  return { kind: 'search', search, entity: of, row, type: 'Boolean' }
}

export function bindOrder({ expr, descending }: OrderAst, scope: Scope): OrderByTerm {
  if (expr.kind === 'path') {
    const target = scope.resolve(expr.names, expr.at)
    if (target.kind === 'record' || target.kind === 'records')
      fail({ kind: 'NotSortable', field: expr.names.join('/'), at: expr.at })
  }
  const bound = bindValue(expr, scope)
  if (!isSortable(bound))
    return fail({
      kind: 'NotSortable',
      field: expr.kind === 'path' ? expr.names.join('/') : bound.type,
      at: expr.at,
    })
  return { expr: bound, descending }
}

const isSortable = ({ type }: Expr) => !type.startsWith('Collection') && !type.startsWith('Geography')

/**
 * Appends the tie-breakers to make the order total. They follow the direction of the last term, so that one
 * index serves both directions.
 */
export function totalOrder(
  requested: readonly OrderByTerm[],
  tieBreakers: readonly Expr[],
): readonly OrderByTerm[] {
  const positions = tieBreakers.map(tie => requested.findIndex(({ expr }) => isSameColumn(expr, tie)))
  // Terms after the last tie-breaker have no effect.
  if (!positions.includes(-1)) return requested.slice(0, Math.max(...positions) + 1)
  const descending = requested.at(-1)?.descending ?? false
  return [
    ...requested,
    ...tieBreakers.filter((_, i) => positions[i] === -1).map(expr => ({ expr, descending })),
  ]
}

function isSameColumn(a: Expr, b: Expr): boolean {
  if (a.kind === 'column' && b.kind === 'column')
    return (
      a.scalar === b.scalar &&
      a.source.kind === 'row' &&
      b.source.kind === 'row' &&
      a.source.row === b.source.row
    )
  return a.kind === 'result' && b.kind === 'result' && a.name === b.name
}
