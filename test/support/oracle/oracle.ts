import { entity, type Navigation, type Scalar } from '../../../src/model/model.js'
import type { Value } from '../../../src/query/ast.js'
import type { Type, ValueType } from '../../../src/query/functions.js'
import type { Collection, Expansion, Expr, Plan, RowName, Source } from '../../../src/query/plan.js'
import { castMeaning, clockOf, Exact, MEANING, type Meant, order } from './reference-semantics.js'

/** A record as the tests know it: columns by name. */
export type Known = Readonly<Record<string, unknown>>
/** Every record of every entity. */
export type World = ReadonlyMap<string, readonly Known[]>

type Rows = Readonly<Record<RowName, Known | Meant | undefined>>

/** The records a plan selects, in its order. */
export const select = (plan: Plan, world: World): readonly Known[] =>
  choose(plan, world.get(plan.entity.name) ?? [], {}, world)

/**
 * The records that an expansion of a record of `r0` selects, in its order, and how many there are whatever
 * its window.
 */
export function expand(
  { navigation, plan }: Expansion,
  from: Known,
  world: World,
): { readonly records: readonly Known[]; readonly count: number } {
  const candidates = related(navigation, from, world)
  const { top: _, ...all } = { ...plan, skip: 0 }
  return {
    records: choose(plan, candidates, { r0: from }, world),
    count: choose(all, candidates, { r0: from }, world).length,
  }
}

function choose(plan: Plan, candidates: readonly Known[], outer: Rows, world: World): readonly Known[] {
  const rows = (known: Known): Rows => ({ ...outer, [plan.row]: known })
  const chosen = candidates.filter(k => !plan.filter || evaluate(plan.filter, rows(k), world) === true)
  const keyed = chosen.map(known => ({
    known,
    values: plan.orderBy.map(o => evaluate(o.expr, rows(known), world)),
  }))
  keyed.sort((a, b) => compareRows(a.values, b.values, plan))
  return keyed.map(k => k.known).slice(plan.skip, plan.top === undefined ? undefined : plan.skip + plan.top)
}

/** Null is below every value. */
function compareRows(a: readonly Meant[], b: readonly Meant[], { orderBy }: Plan): number {
  for (const [i, { descending }] of orderBy.entries()) {
    const [x = null, y = null] = [a[i], b[i]]
    const c = x === null || y === null ? Number(x !== null) - Number(y !== null) : order(x, y)
    if (c !== 0) return descending ? -c : c
  }
  return 0
}

export function evaluate(expr: Expr, rows: Rows, world: World): Meant {
  switch (expr.kind) {
    case 'literal':
      return fromLiteral(expr.value, expr.type)
    case 'list':
      return expr.items.map(i => evaluate(i, rows, world))
    case 'column':
      return columnValue(expr.scalar, expr.source, rows, world)
    case 'element':
      return (rows[expr.row] as Meant | undefined) ?? null // a lambda over values puts a value there
    case 'call':
      return MEANING[expr.fn](promote(expr, expr.args.map(a => evaluate(a, rows, world))), widest(expr))
    case 'cast':
      return castMeaning(evaluate(expr.arg, rows, world), expr.arg.type, expr.type)
    case 'guarded':
      return evaluate(expr.when, rows, world) === true ? evaluate(expr.value, rows, world) : null
    case 'search':
    case 'result':
      throw new Error('not asked of the oracle')
    case 'lambda': {
      const each = members(expr.over, rows, world).map(m => (expr.body ? evaluate(expr.body, { ...rows, [expr.row]: m }, world) === true : true))
      return expr.quantifier === 'any' ? each.includes(true) : !each.includes(false)
    }
    case 'count':
      return new Exact(members(expr.over, rows, world).filter(m => !expr.filter || evaluate(expr.filter, { ...rows, [expr.row]: m }, world) === true).length)
  }
} // biome-ignore format: one row a kind

const widest = ({ args }: Expr & { kind: 'call' }): readonly Type[] => {
  const wide = (['Double', 'Decimal'] as const).find(t => args.some(a => a.type === t))
  return args.map(a => (wide && ['Int32', 'Int64', 'Decimal'].includes(a.type) ? wide : a.type))
}

const promote = ({ args }: Expr & { kind: 'call' }, values: readonly Meant[]): readonly Meant[] =>
  args.some(a => a.type === 'Double') ? values.map(v => (v instanceof Exact ? Number(v) : v)) : values

function fromLiteral(value: Value, type: ValueType): Meant {
  if (value === null || typeof value === 'boolean') return value
  switch (type) {
    case 'Int32': case 'Int64': case 'Decimal': case 'Duration':
      return new Exact(value)
    case 'Double':
      return Number(value === 'INF' ? 'Infinity' : value === '-INF' ? '-Infinity' : value)
    case 'DateTimeOffset':
      return toMicroseconds(String(value))
    case 'Date':
      return Date.parse(String(value)) / 86_400_000
    case 'TimeOfDay':
      return clockOf(toMicroseconds(`1970-01-01T${value}Z`))
    default:
      return String(value)
  }
} // biome-ignore format: one case a group

function toMicroseconds(text: string): bigint {
  const [, start = '', fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(text) ?? []
  return BigInt(Date.parse(`${start}Z`)) * 1000n + BigInt(fraction.padEnd(6, '0').slice(0, 6))
}

function columnValue(scalar: Scalar, source: Source, rows: Rows, world: World): Meant {
  const known = recordAt(source, rows, world)
  const value = known?.[scalar.name] ?? null
  if (value === null) return null
  if (Array.isArray(value)) return value as Meant[] // collections hold text only
  switch (scalar.type) {
    case 'DateTimeOffset':
      return BigInt((value as Date).getTime()) * 1000n
    case 'Date':
      return (value as Date).getTime() / 86_400_000
    case 'Int32': case 'Int64': case 'Decimal':
      return new Exact(String(value))
    case 'GeographyPoint':
      return JSON.stringify(value)
    default:
      return value as Meant
  }
} // biome-ignore format: one case for numbers

function recordAt(source: Source, rows: Rows, world: World): Known | undefined {
  if (source.kind === 'key') throw new Error('not asked of the oracle')
  if (source.kind === 'row') return rows[source.row] as Known | undefined // a row holds a record
  return related(source.navigation, recordAt(source.from, rows, world), world)[0]
}

function related(navigation: Navigation, from: Known | undefined, world: World): readonly Known[] {
  const value = from?.[navigation.local] ?? null
  return value === null
    ? []
    : (world.get(entity(navigation.target).name) ?? []).filter(k => k[navigation.foreign] === value)
}

function members(over: Collection, rows: Rows, world: World): readonly (Known | Meant)[] {
  if (over.kind === 'records') return related(over.navigation, recordAt(over.source, rows, world), world)
  return (columnValue(over.scalar, over.source, rows, world) as readonly Meant[] | null) ?? []
}
