import fc from 'fast-check'
import { type Entity, getEntity, type Navigation, type Scalar } from '../../../src/model/model.js'
import type { FunctionName, ValueType } from '../../../src/query/functions.js'
import { type Collection, columnOf, type Expr, type RowName } from '../../../src/query/plan.js'
import type { Dataset } from './oracle.js'
import { printFilter } from './print-expression.js'
import { arbitraryExpression, generatorScope, LITERALS } from './random-expressions.js'

// Random OData URLs. Most of their conditions compare fields with values of the dataset, as clients do, so that
// both engines have work and pages have records.

type Text = fc.Arbitrary<string>

const ROOT: RowName = 'r0'
const SETS: readonly (readonly [name: string, weight: number])[] = [
  ['Property', 10],
  ['Media', 3],
  ['Member', 1],
  ['Office', 1],
  ['Rooms', 2],
  ['OpenHouse', 2],
  ['EntityEvent', 1],
]
/** Maximum nesting of conditions, and of expansions. */
const CONDITION_DEPTH = 3
const EXPAND_DEPTH = 2
/** Values per column. */
const MAX_VALUES = 40

const call = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
  kind: 'call',
  fn,
  args,
  type: 'Boolean',
})
const literal = (value: string | number | boolean | null, type: ValueType): Expr => ({
  kind: 'literal',
  value,
  type,
})
/** Chooses a branch before building it, since all branches together would be millions. */
const chosen = <T>(...branches: readonly (() => fc.Arbitrary<T>)[]): fc.Arbitrary<T> =>
  fc.constantFrom(...branches).chain(build => build())
const maybe = (text: Text, freq = 2): Text => fc.option(text, { freq }).map(found => found ?? '')

/** Generates random queries over the records of a dataset. */
export class QueryGenerator {
  readonly #values = new Map<Scalar, readonly (string | number | boolean)[]>()

  constructor(private readonly dataset: Dataset) {}

  /** The path and query of a GET request. */
  arbitraryUrl(): Text {
    return fc
      .oneof(...SETS.map(([name, weight]) => ({ weight, arbitrary: fc.constant(getEntity(name)) })))
      .chain(entity =>
        fc.oneof(
          { weight: 10, arbitrary: this.#collection(`/odata/${entity.name}`, entity) },
          { weight: 1, arbitrary: this.#count(entity) },
          { weight: 2, arbitrary: this.#record(entity) },
          { weight: 2, arbitrary: this.#related(entity) },
        ),
      )
      .map(encodeURI)
      .map(url => url.replaceAll('+', '%2B').replaceAll('#', '%23'))
  }

  #collection(path: string, entity: Entity): Text {
    return this.#options(entity, EXPAND_DEPTH, ROOT, '&').map(options => `${path}?${options}`)
  }

  #count(entity: Entity): Text {
    return this.#filter(entity, ROOT).map(filter => `/odata/${entity.name}/$count?${filter}`)
  }

  #record(entity: Entity): Text {
    return fc
      .tuple(this.#key(entity), this.#select(entity), this.#expand(entity, EXPAND_DEPTH, ROOT))
      .map(([key, ...options]) => `/odata/${entity.name}(${key})?${options.filter(Boolean).join('&')}`)
  }

  #related(entity: Entity): Text {
    const collections = entity.navigations.filter(({ collection }) => collection)
    if (collections.length === 0) return this.#record(entity)
    return fc
      .tuple(this.#key(entity), fc.constantFrom(...collections))
      .chain(([key, { name, target }]) =>
        this.#collection(`/odata/${entity.name}(${key})/${name}`, getEntity(target)),
      )
  }

  #key({ key }: Entity): Text {
    return fc
      .constantFrom(...this.#valuesOf(key))
      .map(value => printFilter(literal(value, key.type as ValueType)))
  }

  /** Query options, of a request or of an expansion. */
  #options(entity: Entity, depth: number, row: RowName, separator: string): Text {
    return fc
      .tuple(
        maybe(this.#filter(entity, row), 3),
        maybe(this.#orderBy(entity), 3),
        this.#select(entity),
        this.#expand(entity, depth, row),
        maybe(fc.nat(12).map(n => `$top=${n}`)),
        maybe(
          fc.nat(5).map(n => `$skip=${n}`),
          1,
        ),
        maybe(fc.constantFrom('$count=true', '$count=false')),
      )
      .map(options => options.filter(Boolean).join(separator))
  }

  #filter(entity: Entity, row: RowName): Text {
    const simple = this.#condition(entity, row, CONDITION_DEPTH)
    const any =
      // Expressions of every kind need a field of every type.
      row === ROOT && entity.name === 'Property'
        ? fc.oneof(
            { weight: 12, arbitrary: simple },
            { weight: 1, arbitrary: arbitraryExpression('Boolean', generatorScope(entity, 2)) },
          )
        : simple
    return any.map(condition => `$filter=${printFilter(condition, { row })}`)
  }

  #select(entity: Entity): Text {
    const names = entity.scalars.map(({ name }) => name)
    return maybe(
      fc
        .subarray(names, { minLength: 1, maxLength: Math.min(6, names.length) })
        .map(list => `$select=${list.join(',')}`),
    )
  }

  #orderBy(entity: Entity): Text {
    const own = entity.scalars.filter(isComparable).map(({ name }) => name)
    const counted = entity.navigations.filter(n => n.collection).map(({ name }) => `${name}/$count`)
    const single = entity.navigations
      .filter(n => !n.collection)
      .flatMap(({ name, target }) =>
        getEntity(target)
          .scalars.filter(isComparable)
          .map(s => `${name}/${s.name}`),
      )
    const groups = [own, counted, single].filter(list => list.length > 0)
    const term = fc.oneof(
      ...groups.map((list, i) => ({ weight: i === 0 ? 8 : 1, arbitrary: fc.constantFrom(...list) })),
    )
    return fc
      .uniqueArray(fc.tuple(term, fc.constantFrom('', ' asc', ' desc')), {
        minLength: 1,
        maxLength: 3,
        selector: ([name]) => name,
      })
      .map(terms => `$orderby=${terms.map(parts => parts.join('')).join(',')}`)
  }

  #expand(entity: Entity, depth: number, row: RowName): Text {
    if (depth === 0 || entity.navigations.length === 0) return fc.constant('')
    return maybe(
      fc
        .uniqueArray(fc.constantFrom(...entity.navigations), { minLength: 1, maxLength: 2 })
        .chain(list => fc.tuple(...list.map(navigation => this.#expansion(navigation, depth - 1, row))))
        .map(items => `$expand=${items.join(',')}`),
      1,
    )
  }

  #expansion({ name, target, collection }: Navigation, depth: number, row: RowName): Text {
    const entity = getEntity(target)
    const nested = nextRow(row)
    const options = collection
      ? this.#options(entity, depth, nested, ';')
      : fc
          .tuple(this.#select(entity), this.#expand(entity, depth, nested))
          .map(list => list.filter(Boolean).join(';'))
    return options.map(text => (text === '' ? name : `${name}(${text})`))
  }

  /** A condition on a record, as clients write them. */
  #condition(entity: Entity, row: RowName, depth: number): fc.Arbitrary<Expr> {
    const scalars = entity.scalars.filter(isComparable)
    const comparison = () =>
      fc.constantFrom(...scalars).chain(scalar => this.#comparison(entity, scalar, row))
    if (depth === 0) return comparison()
    const inner = () => this.#condition(entity, row, depth - 1)
    const lists = entity.scalars.filter(({ collection }) => collection)
    const related = entity.navigations.filter(({ collection }) => collection)
    return chosen<Expr>(
      comparison,
      comparison,
      () => fc.tuple(fc.constantFrom('and' as const, 'or' as const), inner(), inner()).map(([fn, ...args]) => call(fn, ...args)),
      () => inner().map(arg => call('not', arg)),
      ...(lists.length > 0 ? [() => fc.constantFrom(...lists).chain(scalar => this.#listCondition(scalar, row))] : []),
      ...(related.length > 0 ? [() => fc.constantFrom(...related).chain(n => this.#relatedCondition(n, row, depth - 1))] : []),
    ) // biome-ignore format: one branch a kind
  }

  #comparison(entity: Entity, scalar: Scalar, row: RowName): fc.Arbitrary<Expr> {
    const type = scalar.type as ValueType // no list
    const column = columnOf(scalar, { kind: 'row', row })
    const value = fc.constantFrom(...this.#valuesOf(scalar)).map(found => literal(found, type))
    const fn =
      type === 'Boolean'
        ? fc.constantFrom('eq' as const, 'ne' as const)
        : fc.constantFrom('eq', 'ne', 'lt', 'le', 'gt', 'ge' as const)
    const others = entity.scalars.filter(other => other.type === type && isComparable(other))
    return chosen<Expr>(
      () => fc.tuple(fn, value).map(([name, right]) => call(name, column, right)),
      () => fc.tuple(fn, value).map(([name, right]) => call(name, column, right)),
      () => fc.constantFrom('eq' as const, 'ne' as const).map(name => call(name, column, literal(null, type))),
      () => fc.array(value, { minLength: 1, maxLength: 4 }).map(items => call('in', column, { kind: 'list', items, type: `Collection(${type})` })),
      () => fc.tuple(fn, fc.constantFrom(...others)).map(([name, other]) => call(name, column, columnOf(other, { kind: 'row', row }))),
      ...(type === 'String' ? [() => this.#textCondition(column, scalar)] : []),
    ) // biome-ignore format: one branch a kind
  }

  #textCondition(column: Expr, scalar: Scalar): fc.Arbitrary<Expr> {
    const part = fc
      .tuple(fc.constantFrom(...this.#valuesOf(scalar)), fc.nat(4), fc.nat(4))
      .map(([value, start, length]) => [...String(value)].slice(start, start + length).join(''))
    return fc
      .tuple(fc.constantFrom('contains' as const, 'startswith' as const, 'endswith' as const), part)
      .map(([fn, text]) => call(fn, column, literal(text, 'String')))
  }

  #listCondition(scalar: Scalar, row: RowName): fc.Arbitrary<Expr> {
    const over: Collection = { kind: 'values', scalar, source: { kind: 'row', row } }
    const inner = nextRow(row)
    const element: Expr = { kind: 'element', row: inner, type: scalar.type as ValueType }
    const value = fc
      .constantFrom(...this.#valuesOf(scalar))
      .map(found => literal(found, scalar.type as ValueType))
    const body = chosen<Expr>(
      () => fc.tuple(fc.constantFrom('eq' as const, 'ne' as const), value).map(([fn, right]) => call(fn, element, right)),
      () => fc.array(value, { minLength: 1, maxLength: 3 }).map(items => call('in', element, { kind: 'list', items, type: `Collection(${scalar.type})` })),
    ) // biome-ignore format: one branch a kind
    return this.#lambda(over, inner, body)
  }

  #relatedCondition(navigation: Navigation, row: RowName, depth: number): fc.Arbitrary<Expr> {
    const over: Collection = { kind: 'records', navigation, source: { kind: 'row', row } }
    const inner = nextRow(row)
    const count: Expr = { kind: 'count', over, row: inner, type: 'Int64' }
    return chosen<Expr>(
      () => this.#lambda(over, inner, this.#condition(getEntity(navigation.target), inner, depth)),
      () => fc.tuple(fc.constantFrom('eq', 'ne', 'gt' as const), fc.constantFrom('0', '0', '2')).map(([fn, n]) => call(fn, count, literal(n, 'Int64'))),
    ) // biome-ignore format: one branch a kind
  }

  #lambda(over: Collection, row: RowName, body: fc.Arbitrary<Expr>): fc.Arbitrary<Expr> {
    const any = { kind: 'lambda', quantifier: 'any', over, row, type: 'Boolean' } as const
    return chosen<Expr>(
      () => body.map(condition => ({ ...any, body: condition })),
      () => body.map(condition => ({ ...any, quantifier: 'all', body: condition })),
      () => fc.constant(any),
    )
  }

  /** Values of a column in the dataset, and others near them. */
  #valuesOf(scalar: Scalar): readonly (string | number | boolean)[] {
    const known = this.#values.get(scalar)
    if (known) return known
    const found = [...this.dataset.values()]
      .flat()
      .flatMap(record => record[scalar.name] ?? [])
      .map(value => toLiteralValue(value, scalar))
    const values = [...new Set(found)].slice(0, MAX_VALUES)
    const all = [...values, ...(LITERALS[scalar.type as ValueType] ?? [])]
    this.#values.set(scalar, all)
    return all
  }
}

const nextRow = (row: RowName): RowName => `r${Number(row.slice(1)) + 1}`

const isComparable = ({ collection, type }: Scalar): boolean => !collection && type !== 'GeographyPoint'

function toLiteralValue(value: unknown, { type }: Scalar): string | number | boolean {
  if (value instanceof Date) return type === 'Date' ? value.toISOString().slice(0, 10) : value.toISOString()
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'string') return value
  return type === 'Decimal' ? (value as { toFixed(): string }).toFixed() : String(value)
}
