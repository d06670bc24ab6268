import fc from 'fast-check'
import { type Entity, getEntity, type Scalar } from '../../../src/model/model.js'
import {
  CASTS,
  type ExprType,
  FUNCTIONS,
  type FunctionName,
  type Signature,
  type ValueType,
} from '../../../src/query/functions.js'
import {
  type Collection,
  type ColumnSource,
  columnOf,
  type Expr,
  type RowName,
} from '../../../src/query/plan.js'
import { LITERALS } from './random-expressions.js'

/** The record of a condition, and the row of the next lambda or count. */
interface RecordContext {
  readonly of: Entity
  readonly source: ColumnSource
  readonly next: number
}
type FilterBranch = () => fc.Arbitrary<Expr>

const PATTERNS = ['^D', 'en.*', '[A-C]', '^$', '\\d+']
const POINTS = ['-105 39.7', '-104.99025 39.739236', '0 0']
const POLYGONS = ['-106 39,-104 39,-104 40.5,-106 40.5,-106 39', '0 0,1 0,1 1,0 0']

const booleanCall = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
  kind: 'call',
  fn,
  args,
  type: 'Boolean',
})
const rowOf = (n: number): RowName => `r${n}`
const oneOfBranches = (branches: readonly FilterBranch[]): fc.Arbitrary<Expr> =>
  fc.constantFrom(...branches).chain(build => build())

/**
 * Functions of a value followed by literals. Combinations of conditions are generated here, and null is
 * always a literal.
 */
const CALLS = (Object.keys(FUNCTIONS) as FunctionName[]) // its keys
  .filter(fn => fn !== 'and' && fn !== 'or' && fn !== 'not')
  .flatMap(fn => FUNCTIONS[fn].map((s: Signature) => ({ ...s, fn })))

/** Generates a literal argument. For tests it may be null. */
function literal(fn: FunctionName, type: ExprType, nullable: boolean): fc.Arbitrary<Expr> {
  const item = /^Collection\((\w+)\)$/.exec(type)?.[1] as ValueType | undefined // by construction of Type
  if (item)
    return fc
      .array(literal(fn, item, true), { maxLength: 4 })
      .map(items => ({ kind: 'list', items, type: type }))
  const value = fc.constantFrom(...valuesOf(fn, type as ValueType)) // no collection
  return (nullable ? fc.option(value, { freq: 10 }) : value).map(v => ({
    kind: 'literal',
    value: v,
    type: type as ValueType,
  }))
}

function valuesOf(fn: FunctionName, type: ValueType): readonly (string | number | boolean)[] {
  if (fn === 'matchespattern') return PATTERNS
  if (type === 'GeographyPoint') return POINTS
  if (type === 'GeographyPolygon') return POLYGONS
  // GraphQL has no notation for infinities and NaN.
  return (LITERALS[type] ?? []).filter(v => type !== 'Double' || Number.isFinite(Number(v)))
}

/** Generates a condition on a value: a comparison, or a function with a condition on its result. */
function valueCondition(value: Expr, fuel: number): fc.Arbitrary<Expr> {
  const calls = CALLS.filter(c => c.args[0] === value.type)
  const tests = calls.filter(c => c.returns === 'Boolean')
  const steps = fuel === 0 ? [] : calls.filter(c => c.returns !== 'Boolean')
  const isPoint = value.type === 'GeographyPoint'
  const branches: readonly FilterBranch[] = [
    ...tests.map(({ fn, args }) => () => fc.tuple(...args.slice(1).map(a => literal(fn, a, fn !== 'matchespattern' && !a.startsWith('Geo')))).map(rest => booleanCall(fn, value, ...rest))),
    ...steps.map(({ fn, args, returns }) => () =>
      fc.tuple(...args.slice(1).map(a => literal(fn, a, false))).chain(rest => valueCondition({ kind: 'call', fn, args: [value, ...rest], type: returns }, fuel - 1)),
    ),
    ...(fuel === 0 ? [] : castsOf(value.type).map(type => () => valueCondition({ kind: 'cast', arg: value, type }, fuel - 1))),
    ...(isPoint ? (['eq', 'ne'] as const).map(fn => () => fc.constant(booleanCall(fn, value, { kind: 'literal', value: null, type: 'GeographyPoint' }))) : []),
    ...(fuel === 0 ? [] : [() => combinedCondition(inner => valueCondition(value, inner), fuel)]),
  ] // biome-ignore format: one branch a kind
  return oneOfBranches(branches)
}

const castsOf = (from: ExprType) =>
  (Object.keys(CASTS) as ValueType[]).filter(to => to !== from && CASTS[to]?.some(t => t === from)) // its keys

function combinedCondition(make: (fuel: number) => fc.Arbitrary<Expr>, fuel: number): fc.Arbitrary<Expr> {
  return oneOfBranches([
    () => fc.tuple(make(fuel - 1), make(fuel - 1)).map(args => booleanCall('and', ...args)),
    () => fc.array(make(fuel - 1), { minLength: 2, maxLength: 3 }).map(args => booleanCall('or', ...args)),
    () => make(fuel - 1).map(arg => booleanCall('not', arg)),
  ])
}

/** Generates a condition on a record from everything that typed filters can express. */
function recordCondition(place: RecordContext, fuel: number): fc.Arbitrary<Expr> {
  const { of, source, next } = place
  const readable = of.scalars.filter(s => s.readableBy !== 'nobody')
  const column =
    (s: Scalar): FilterBranch =>
    () =>
      valueCondition(columnOf(s, source), fuel)
  const values =
    (scalar: Scalar): FilterBranch =>
    () =>
      collectionCondition({ kind: 'values', scalar, source }, next, fuel)
  // One column of each type: there are many texts and few points.
  const types = [...new Set(readable.filter(s => !s.collection).map(s => s.type))]
  const scalars = types.map(
    (type): FilterBranch =>
      () =>
        oneOfBranches(readable.filter(s => s.type === type && !s.collection).map(column)),
  )
  const collections = readable.filter(s => s.collection)
  if (fuel === 0) return oneOfBranches(scalars)
  return oneOfBranches([
    ...scalars,
    ...(collections.length > 0 ? [() => oneOfBranches(collections.map(values))] : []),
    ...of.navigations.map((navigation): FilterBranch => () =>
      navigation.collection
        ? collectionCondition({ kind: 'records', navigation, source }, next, fuel)
        : recordCondition({ of: getEntity(navigation.target), source: { kind: 'via', navigation, from: source }, next }, fuel - 1),
    ),
    () => combinedCondition(inner => recordCondition(place, inner), fuel),
  ]) // biome-ignore format: one branch a kind
}

function collectionCondition(over: Collection, next: number, fuel: number): fc.Arbitrary<Expr> {
  const row = rowOf(next)
  const body = (left: number): fc.Arbitrary<Expr> =>
    over.kind === 'values'
      ? valueCondition({ kind: 'element', row, type: over.scalar.type }, left)
      : recordCondition(
          { of: getEntity(over.navigation.target), source: { kind: 'row', row }, next: next + 1 },
          left,
        )
  const any: Expr = { kind: 'lambda', quantifier: 'any', over, row, type: 'Boolean' }
  const count: Expr = { kind: 'count', over, row, type: 'Int64' }
  const common: readonly FilterBranch[] = [
    () =>
      fc
        .record({ quantifier: fc.constantFrom('any' as const, 'all' as const), body: body(fuel - 1) })
        .map(parts => ({ ...any, ...parts })),
    () => fc.constantFrom(any, booleanCall('not', any)),
    () => valueCondition(count, fuel - 1),
  ]
  if (over.kind !== 'values')
    return oneOfBranches([
      ...common,
      () => body(fuel - 1).chain(filter => valueCondition({ ...count, filter }, fuel - 1)),
    ])
  const column = columnOf(over.scalar, over.source)
  const has = fc
    .constantFrom('Brick', 'Wood', 'a')
    .map((value): Expr => booleanCall('in', { kind: 'literal', value, type: 'String' }, column))
  return oneOfBranches([...common, () => has, () => valueCondition(column, fuel - 1)])
}

/** Generates a condition on a record of a request that both notations can express. */
export const arbitraryCondition = (of: Entity, fuel: number): fc.Arbitrary<Expr> =>
  recordCondition({ of, source: { kind: 'row', row: 'r0' }, next: 1 }, fuel)
