import { getEntity, type Navigation, type Scalar } from '../../../src/model/model.js'
import type { Value } from '../../../src/query/ast.js'
import type { ExprType, ValueType } from '../../../src/query/functions.js'
import type { Collection, ColumnSource, Expansion, Expr, Plan, RowName } from '../../../src/query/plan.js'
import { castValue, compareValues, ExactDecimal, type OracleValue, SEMANTICS } from './reference-semantics.js'

/** A record: columns by name. */
export type OracleRecord = Readonly<Record<string, unknown>>
/** Every record of every entity. */
export type Dataset = ReadonlyMap<string, readonly OracleRecord[]>

type RowBindings = Readonly<Record<RowName, OracleRecord | OracleValue | undefined>>

/** Returns the records that a plan selects, in its order. */
export const selectRecords = (plan: Plan, world: Dataset): readonly OracleRecord[] =>
  evaluatePlan(plan, world.get(plan.entity.name) ?? [], {}, world)

/**
 * The records that an expansion of a record of `r0` selects, in its order, and how many there are whatever
 * its window.
 */
export function expandRecord(
  { navigation, plan }: Expansion,
  from: OracleRecord,
  world: Dataset,
): { readonly records: readonly OracleRecord[]; readonly count: number } {
  const candidates = relatedRecords(navigation, from, world)
  const { top: _, ...all } = { ...plan, skip: 0 }
  return {
    records: evaluatePlan(plan, candidates, { r0: from }, world),
    count: evaluatePlan(all, candidates, { r0: from }, world).length,
  }
}

function evaluatePlan(
  plan: Plan,
  candidates: readonly OracleRecord[],
  outer: RowBindings,
  world: Dataset,
): readonly OracleRecord[] {
  const rows = (known: OracleRecord): RowBindings => ({ ...outer, [plan.row]: known })
  const chosen = candidates.filter(k => !plan.filter || evaluate(plan.filter, rows(k), world) === true)
  const keyed = chosen.map(known => ({
    known,
    values: plan.orderBy.map(o => toSortValue(evaluate(o.expr, rows(known), world), o.expr.type)),
  }))
  keyed.sort((a, b) => compareRows(a.values, b.values, plan))
  return keyed.map(k => k.known).slice(plan.skip, plan.top === undefined ? undefined : plan.skip + plan.top)
}

/** Points in time are sorted by microseconds. */
const toSortValue = (value: OracleValue, type: ExprType): OracleValue =>
  value instanceof ExactDecimal && (type === 'DateTimeOffset' || type === 'TimeOfDay')
    ? value.times(1e6).floor()
    : value

/** Null is below every value. */
function compareRows(a: readonly OracleValue[], b: readonly OracleValue[], { orderBy }: Plan): number {
  for (const [i, { descending }] of orderBy.entries()) {
    const [x = null, y = null] = [a[i], b[i]]
    const c = x === null || y === null ? Number(x !== null) - Number(y !== null) : compareValues(x, y)
    if (c !== 0) return descending ? -c : c
  }
  return 0
}

export function evaluate(expr: Expr, rows: RowBindings, world: Dataset): OracleValue {
  switch (expr.kind) {
    case 'literal':
      return fromLiteral(expr.value, expr.type)
    case 'list':
      return expr.items.map(i => evaluate(i, rows, world))
    case 'column':
      return columnValue(expr.scalar, expr.source, rows, world)
    case 'element':
      return (rows[expr.row] as OracleValue | undefined) ?? null // a lambda over values puts a value there
    case 'call':
      return SEMANTICS[expr.fn](promoteValues(expr, expr.args.map(a => evaluate(a, rows, world))), promotedTypes(expr))
    case 'cast':
      return castValue(evaluate(expr.arg, rows, world), expr.arg.type, expr.type)
    case 'nullUnless':
      return evaluate(expr.when, rows, world) === true ? evaluate(expr.value, rows, world) : null
    case 'parameter':
    case 'search':
    case 'inFeed':
    case 'result':
      throw new Error('not asked of the oracle')
    case 'lambda': {
      const each = collectionMembers(expr.over, rows, world).map(m => (expr.body ? evaluate(expr.body, { ...rows, [expr.row]: m }, world) === true : true))
      return expr.quantifier === 'any' ? each.includes(true) : !each.includes(false)
    }
    case 'count':
      return new ExactDecimal(collectionMembers(expr.over, rows, world).filter(m => !expr.filter || evaluate(expr.filter, { ...rows, [expr.row]: m }, world) === true).length)
  }
} // biome-ignore format: one row a kind

const promotedTypes = ({ args }: Expr & { kind: 'call' }): readonly ExprType[] => {
  const wide = (['Double', 'Decimal'] as const).find(t => args.some(a => a.type === t))
  return args.map(a => (wide && ['Int32', 'Int64', 'Decimal'].includes(a.type) ? wide : a.type))
}

const promoteValues = (
  { args }: Expr & { kind: 'call' },
  values: readonly OracleValue[],
): readonly OracleValue[] =>
  args.some(a => a.type === 'Double') ? values.map(v => (v instanceof ExactDecimal ? Number(v) : v)) : values

function fromLiteral(value: Value, type: ValueType): OracleValue {
  if (value === null || typeof value === 'boolean') return value
  switch (type) {
    case 'Int32': case 'Int64': case 'Decimal': case 'Duration':
      return new ExactDecimal(value)
    case 'Double':
      return Number(value === 'INF' ? 'Infinity' : value === '-INF' ? '-Infinity' : value)
    case 'DateTimeOffset':
      return toSeconds(String(value))
    case 'Date':
      return Date.parse(String(value)) / 86_400_000
    case 'TimeOfDay':
      return toSeconds(`1970-01-01T${value}Z`)
    default:
      return String(value)
  }
} // biome-ignore format: one case a group

function toSeconds(text: string): OracleValue {
  const [, start = '', fraction = ''] = /^(.*?)(\.\d+)?Z$/.exec(text) ?? []
  return new ExactDecimal(Date.parse(`${start}Z`)).div(1000).plus(`0${fraction}`)
}

function columnValue(scalar: Scalar, source: ColumnSource, rows: RowBindings, world: Dataset): OracleValue {
  const known = recordAt(source, rows, world)
  const value = known?.[scalar.name] ?? null
  if (value === null) return null
  if (Array.isArray(value)) return value as OracleValue[] // collections hold text only
  switch (scalar.type) {
    case 'DateTimeOffset':
      return new ExactDecimal((value as Date).getTime()).div(1000)
    case 'Date':
      return (value as Date).getTime() / 86_400_000
    case 'Int32': case 'Int64': case 'Decimal':
      return new ExactDecimal(String(value))
    case 'GeographyPoint':
      return JSON.stringify(value)
    default:
      return value as OracleValue
  }
} // biome-ignore format: one case for numbers

function recordAt(source: ColumnSource, rows: RowBindings, world: Dataset): OracleRecord | undefined {
  if (source.kind === 'key') throw new Error('not asked of the oracle')
  if (source.kind === 'row') return rows[source.row] as OracleRecord | undefined // a row holds a record
  return relatedRecords(source.navigation, recordAt(source.from, rows, world), world)[0]
}

function relatedRecords(
  navigation: Navigation,
  from: OracleRecord | undefined,
  world: Dataset,
): readonly OracleRecord[] {
  const value = from?.[navigation.local] ?? null
  return value === null
    ? []
    : (world.get(getEntity(navigation.target).name) ?? []).filter(k => k[navigation.foreign] === value)
}

function collectionMembers(
  over: Collection,
  rows: RowBindings,
  world: Dataset,
): readonly (OracleRecord | OracleValue)[] {
  if (over.kind === 'values')
    return (columnValue(over.scalar, over.source, rows, world) as readonly OracleValue[] | null) ?? []
  return relatedRecords(over.navigation, recordAt(over.source, rows, world), world)
}
