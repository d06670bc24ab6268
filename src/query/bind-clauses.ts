import { fail, type SourceLocation } from '../errors/problem.js'
import type { ComputeAst, OrderAst, SearchAst } from './ast.js'
import { bindValue } from './bind-expression.js'
import { checkComplexity } from './complexity.js'
import { MAX_NAME_BYTES, SEARCHABLE_ENTITIES } from './limits.js'
import { columnOf, type Derived, type Expr, type OrderByTerm, rowSource } from './plan.js'
import type { Scope } from './scope.js'

/** Records that options work on: those of an entity, or what transformations have made of them so far. */
export interface Stage {
  readonly scope: Scope
  readonly from?: Derived
  readonly filter?: Expr
  /** Values that have names beside the fields of the entity, in their order. */
  readonly computed: ReadonlyMap<string, Expr>
  readonly order: readonly OrderByTerm[]
  /**
   * What makes each record different from all others: at the end of an order they make it total. At least
   * one.
   */
  readonly tieBreakers: readonly Expr[]
}

/** All records of the scope's entity. */
export const initialStage = (scope: Scope): Stage => ({
  scope,
  computed: new Map(),
  order: [],
  tieBreakers: [columnOf(scope.entity.key, rowSource(scope.row))],
})

/**
 * Computed values get names that the other options, and later values, may use (OData 4.01 Part 2, 5.1.3.1).
 */
export const bindCompute = (stage: Stage, items: readonly ComputeAst[]): Stage =>
  items.reduce(bindComputeItem, stage)

function bindComputeItem(stage: Stage, { expr, name, at }: ComputeAst): Stage {
  const { scope, computed } = stage
  checkComputedName(name, stage, computed.keys(), at)
  const value = bindValue(expr, scope)
  if (value.type.startsWith('Geography'))
    fail({ kind: 'WrongType', expected: 'a value that can be computed with', found: value.type, at: expr.at })
  checkComplexity(value, expr.at)
  return { ...stage, scope: scope.withComputed(name, value), computed: new Map([...computed, [name, value]]) }
}

/**
 * A new name is none of the fields, and none of those given already, nor the beginning of a path that has
 * been.
 */
export function checkComputedName(
  name: string,
  { scope }: Stage,
  takenNames: Iterable<string>,
  at: SourceLocation,
): void {
  if (Buffer.byteLength(name) > MAX_NAME_BYTES)
    fail({ kind: 'QueryTooComplex', what: 'bytes in a name', limit: MAX_NAME_BYTES, at })
  if (
    scope.entity.fields.has(name) ||
    [...takenNames].some(other => other === name || other.startsWith(`${name}/`))
  )
    fail({ kind: 'NameTaken', name, at })
}

export function bindSearch(search: SearchAst, { entity: of, row }: Scope, source: string): Expr {
  if (!SEARCHABLE_ENTITIES.has(of.name))
    return fail({ kind: 'NotImplemented', feature: `$search in ${of.name}`, at: { source } })
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
 * The key makes every order total. It follows the direction of the last term, so that one index serves both
 * directions.
 */
export function totalOrder(
  requested: readonly OrderByTerm[],
  tieBreakers: readonly Expr[],
): readonly OrderByTerm[] {
  const positions = tieBreakers.map(tie => requested.findIndex(({ expr }) => isSameColumn(expr, tie)))
  // What follows the last of them cannot matter any more.
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
