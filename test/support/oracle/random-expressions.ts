import fc from 'fast-check'
import { type Entity, getEntity } from '../../../src/model/model.js'
import {
  CASTS,
  type ExprType,
  FUNCTIONS,
  type FunctionName,
  type Signature,
  type ValueType,
} from '../../../src/query/functions.js'
import { toPostgresRegex } from '../../../src/query/pattern.js'
import {
  type Collection,
  type ColumnSource,
  columnOf,
  type Expr,
  type RowName,
} from '../../../src/query/plan.js'

/** A record that an expression can use. */
interface ReachableRecord {
  readonly of: Entity
  readonly source: ColumnSource
}
interface GeneratorScope {
  readonly reach: readonly ReachableRecord[]
  readonly elements: readonly (Expr & { kind: 'element' })[]
  readonly depth: number
}

/**
 * Values near each other and near those of the fixture, so that comparisons are often equal and never all
 * alike.
 */
// biome-ignore format: table
export const LITERALS: { readonly [type in ValueType]?: readonly (string | number | boolean)[] } = {
  Boolean:        [true, false],
  Int32:          [-7, -1, 0, 1, 2, 3, 7, 30, 2020, 2024],
  Int64:          ['-1', '0', '2', '5000000000'],
  Decimal:        ['-1.5', '0', '0.1', '0.5', '1', '2.25', '1000', '250000', '1999.99'],
  Double:         ['-0.5', '0', '2.5', '1.7976931348623157e+308', 'INF', '-INF', 'NaN'],
  String:         ['', 'a', 'A', 'Denver', 'den', 'Vail', '%', '_', '\\', "O'", 'M1', 'Brick', 'Wood', 'ß', 'é', '🏠', ' ', '2020', 'INF', '-INF', 'NaN', '1e400', '-1e-400', '2023-12-31T23:59:59.9989999999Z', '2024-02-30', '11:59:59.9999995'],
  DateTimeOffset: ['2024-01-01T00:00:00Z', '2024-05-01T00:00:00Z', '2023-12-31T23:59:59.999Z', '2023-12-31T23:59:59.9989999Z', '2023-12-31T23:59:59.9999999Z', '2024-02-29T12:30:15.5Z', '2024-05-01T00:00:00.000000000001Z', '1969-12-31T23:59:59.9999995Z'],
  Date:           ['2024-02-29', '2023-12-31', '2024-05-01'],
  TimeOfDay:      ['00:00:00', '12:30:00', '23:59:59.999', '23:59:59.9989999999', '11:59:59.9999995', '00:00:00.000000000001'],
  Duration:       ['0', '-3600', '86400', '0.5', '90061', '0.0000001', '-0.0000009', '59.9999995', '6000000000.0000015'],
}

const NULL_FREQUENCY = 12
const literal = (type: ValueType): fc.Arbitrary<Expr> =>
  fc
    .option(fc.constantFrom(...(LITERALS[type] ?? [])), { freq: NULL_FREQUENCY })
    .map(value => ({ kind: 'literal', value, type }))

const CALLS: readonly (Signature & { readonly fn: FunctionName })[] = (
  Object.keys(FUNCTIONS) as FunctionName[]
)
  .filter(fn => fn !== 'now')
  .flatMap(fn => FUNCTIONS[fn].map(s => ({ ...s, fn })))
  .filter(({ args }) => !args.some(a => a === 'Collection(GeographyPoint)'))

const hasLeaf = (type: ExprType) =>
  Object.hasOwn(LITERALS, type) || type === 'GeographyPoint' || type === 'Collection(String)'

/** Any expression of the type, over all functions, casts, lambdas, counts and navigations. */
export function arbitraryExpression(type: ExprType, around: GeneratorScope): fc.Arbitrary<Expr> {
  const leaf = leafExpressions(type, around)
  if (around.depth === 0) return leaf
  const inner = { ...around, depth: around.depth - 1 }
  const branches = [
    ...callBranches(type, inner),
    ...castBranches(type, inner),
    ...collectionBranches(type, inner),
  ]
  // Each branch is built when it is chosen: all of them together would be millions.
  return branches.length === 0
    ? leaf
    : fc.oneof(
        { weight: 1, arbitrary: leaf },
        { weight: 3, arbitrary: fc.constantFrom(...branches).chain(build => build()) },
      )
}

type Branch = () => fc.Arbitrary<Expr>

function leafExpressions(type: ExprType, { reach, elements }: GeneratorScope): fc.Arbitrary<Expr> {
  const columns = reach
    .flatMap(({ of, source }) =>
      of.scalars.filter(s => s.readableBy !== 'nobody').map(s => columnOf(s, source)),
    )
    .filter(c => c.type === type)
  const known = [...columns, ...elements.filter(e => e.type === type)].map(e => fc.constant<Expr>(e))
  const item = /^Collection\((\w+)\)$/.exec(type)?.[1] as ValueType | undefined // by construction of Type
  const fixed = item ? [list(item)] : Object.hasOwn(LITERALS, type) ? [literal(type as ValueType)] : []
  return fc.oneof(...fixed, ...(known.length > 0 ? [fc.oneof(...known)] : []))
}

const list = (item: ValueType): fc.Arbitrary<Expr> =>
  fc
    .array(literal(item), { maxLength: 4 })
    .map(items => ({ kind: 'list', items, type: `Collection(${item})` }))

function callBranches(type: ExprType, inner: GeneratorScope): readonly Branch[] {
  return CALLS.filter(c => c.returns === type && c.args.every(a => hasLeaf(a) || a.startsWith('Collection'))).map(({ fn, args, returns }) => () =>
    fc.tuple(...args.map((a, i) => argument(fn, a, inner, allowsPromotion(fn, args, i)))).filter(bound => !isRefusedByBinder(fn, bound)).map((bound): Expr => ({ kind: 'call', fn, args: bound, type: returns })),
  ) // biome-ignore format: one row
}

/** `in` takes a list or a collection, the others only collections of records. */
function argument(
  fn: FunctionName,
  type: ExprType,
  inner: GeneratorScope,
  narrower: boolean,
): fc.Arbitrary<Expr> {
  if (fn === 'length' && type.startsWith('Collection'))
    return fc.oneof(
      ...inner.reach.flatMap(r =>
        r.of.scalars.filter(s => s.collection).map(s => fc.constant<Expr>(columnOf(s, r.source))),
      ),
    )
  if (type === 'GeographyPoint') return leafExpressions(type, inner)
  if (fn === 'in' && !Object.hasOwn(LITERALS, type) && !type.startsWith('Collection'))
    return leafExpressions(type, inner)
  return narrower
    ? fc.oneof(
        { weight: 3, arbitrary: arbitraryExpression(type, inner) },
        { weight: 1, arbitrary: arbitraryExpression('Int32', inner) },
      )
    : arbitraryExpression(type, inner)
}

/** An integer can replace a decimal, unless all arguments are integers and another overload accepts them. */
function allowsPromotion(fn: FunctionName, args: readonly ExprType[], index: number): boolean {
  const takesIntegers = FUNCTIONS[fn].some(
    ({ args: other }) => other.length === args.length && other[0] === 'Int32',
  )
  return args[index] === 'Decimal' && (!takesIntegers || (args.length > 1 && index === 0))
}

/**
 * Returns true for arguments that the binder rejects: a division by a literal zero, a negative literal
 * length, an invalid pattern.
 */
function isRefusedByBinder(fn: FunctionName, args: readonly Expr[]): boolean {
  const last = args.at(-1)
  if (fn === 'matchespattern')
    return (
      last?.kind !== 'literal' || (last.value !== null && toPostgresRegex(String(last.value)) === undefined)
    )
  if (last?.kind !== 'literal') return false
  return ['div', 'divby', 'mod'].includes(fn)
    ? Number(last.value) === 0
    : fn === 'substring' && args.length === 3 && Number(last.value) < 0
}

function castBranches(type: ExprType, inner: GeneratorScope): readonly Branch[] {
  const from = (CASTS[type as ValueType] ?? []).filter(
    t =>
      hasLeaf(t) &&
      !['TimeOfDay', 'Duration'].includes(t) &&
      !(t === 'Double' && type === 'String') &&
      !(t === 'String' && type === 'String'),
  )
  return from.map(
    t => () =>
      arbitraryExpression(t, inner).map((arg): Expr => ({ kind: 'cast', arg, type: type as ValueType })),
  )
}

function collectionBranches(type: ExprType, inner: GeneratorScope): readonly Branch[] {
  if (type !== 'Boolean' && type !== 'Int64') return []
  return inner.reach.flatMap(({ of, source }) => [
    ...of.scalars.filter(s => s.collection).slice(0, 3).map((scalar): Collection => ({ kind: 'values', scalar, source })),
    ...of.navigations.filter(n => n.collection).map((navigation): Collection => ({ kind: 'records', navigation, source })),
  ]).map(over => () => (type === 'Boolean' ? lambda(over, inner) : count(over, inner))) // biome-ignore format: one row
}

function enterCollection(over: Collection, around: GeneratorScope, row: RowName): GeneratorScope {
  if (over.kind === 'values')
    return { ...around, elements: [...around.elements, { kind: 'element', row, type: over.scalar.type }] }
  return {
    ...around,
    reach: [...around.reach, { of: getEntity(over.navigation.target), source: { kind: 'row', row } }],
  }
}

const nextRowName = ({ reach, elements }: GeneratorScope): RowName =>
  `r${Math.max(...[...reach.map(r => (r.source.kind === 'row' ? r.source.row : 'r0')), ...elements.map(e => e.row)].map(r => Number(r.slice(1)))) + 1}`

function lambda(over: Collection, inner: GeneratorScope): fc.Arbitrary<Expr> {
  const row = nextRowName(inner)
  return fc
    .record({
      quantifier: fc.constantFrom('any', 'all'),
      body: fc.option(arbitraryExpression('Boolean', enterCollection(over, inner, row)), { freq: 6 }),
    })
    .map(
      ({ quantifier, body }): Expr => ({
        kind: 'lambda',
        quantifier: body ? quantifier : 'any',
        over,
        row,
        ...(body && { body }),
        type: 'Boolean',
      }),
    )
}

function count(over: Collection, inner: GeneratorScope): fc.Arbitrary<Expr> {
  const row = nextRowName(inner)
  if (over.kind === 'values') return fc.constant<Expr>({ kind: 'count', over, row, type: 'Int64' })
  return fc
    .option(arbitraryExpression('Boolean', enterCollection(over, inner, row)), { freq: 2 })
    .map((filter): Expr => ({ kind: 'count', over, row, ...(filter && { filter }), type: 'Int64' }))
}

/** The record of a request, and those that its single navigations lead to. */
export function generatorScope(of: Entity, depth: number): GeneratorScope {
  const source: ColumnSource = { kind: 'row', row: 'r0' }
  const via = of.navigations
    .filter(n => !n.collection)
    .map(
      (navigation): ReachableRecord => ({
        of: getEntity(navigation.target),
        source: { kind: 'via', navigation, from: source },
      }),
    )
  return { reach: [{ of, source }, ...via.slice(0, 2)], elements: [], depth }
}

/** A record of an expansion, and the record of the request it is expanded from. */
export const nestedGeneratorScope = (of: Entity, outer: Entity, depth: number): GeneratorScope => ({
  reach: [
    { of, source: { kind: 'row', row: 'r1' } },
    { of: outer, source: { kind: 'row', row: 'r0' } },
  ],
  elements: [],
  depth,
})
