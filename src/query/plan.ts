import type { Entity, Navigation, Scalar } from '../model/model.js'
import type { MetaField, SearchAst, Value } from './ast.js'
import type { AggregateMethod, ExprType, FunctionName, ValueType } from './functions.js'

/** A query that is known to make sense: every name is a model object, every expression has a type. */
export interface Plan {
  readonly entity: Entity
  /** What it reads instead of the entity's table. */
  readonly from?: Derived
  /** The name by which expressions speak of this plan's record. */
  readonly row: RowName
  readonly filter?: Expr
  /** Always ends with the key, so that the order is total. */
  readonly orderBy: readonly OrderByTerm[]
  readonly select: readonly SelectItem[]
  readonly expand: readonly Expansion[]
  readonly metaFields?: readonly MetaField[]
  readonly memberOrder?: readonly string[]
  /** Size of the page; absent: every record (inside an expansion). */
  readonly top?: number
  readonly skip: number
  readonly count: boolean
  /** Order values of the last record of the page before, one for each term of `orderBy`. */
  readonly after?: KeysetPosition
  /** The same of the first record of the page behind: only records before it. */
  readonly before?: KeysetPosition
}

/** Where a record stands in an order: its value of each term, as text. */
export type KeysetPosition = readonly (string | null)[]

/** The records that transformations make of others: a window on them, or groups. */
export interface Derived {
  readonly entity: Entity
  readonly from?: Derived
  readonly row: RowName
  readonly filter?: Expr
  readonly transform: WindowTransform | GroupByTransform
}

/** Some of the records, as they are. */
export interface WindowTransform {
  readonly kind: 'window'
  readonly orderBy: readonly OrderByTerm[]
  readonly top?: number
  readonly skip?: number
}

/**
 * One record of each group, or of all records if there are no groups. Its columns are named by place: `g0`,
 * `g1`, and so on, and `a0`, `a1`.
 */
export interface GroupByTransform {
  readonly kind: 'groups'
  readonly groups: readonly Expr[]
  readonly aggregates: readonly Aggregate[]
}

/** Without `of`: how many records there are. */
export interface Aggregate {
  readonly of?: { readonly expr: Expr; readonly method: AggregateMethod }
  readonly type: ValueType
}

/**
 * `r0` is the record of the request, deeper rows are those of lambdas and expansions: equal questions have
 * equal names.
 */
export type RowName = `r${number}`

export interface OrderByTerm {
  readonly expr: Expr
  readonly descending: boolean
}

export type SelectItem =
  /** `readableIf` absent: the reader may see the field in every record. */
  | { readonly kind: 'field'; readonly scalar: Scalar; readonly as?: string; readonly readableIf?: Expr }
  | { readonly kind: 'computed'; readonly name: string; readonly value: Expr }

export interface Expansion {
  readonly navigation: Navigation
  readonly as?: string
  readonly form: 'records' | 'references' | 'count'
  readonly plan: Plan
}

/**
 * Where a column is read: in a row, in the one record that a navigation leads to from there, or in a record
 * named by its key; all null if there is none.
 */
export type ColumnSource =
  | { readonly kind: 'row'; readonly row: RowName }
  | { readonly kind: 'via'; readonly navigation: Navigation; readonly from: ColumnSource }
  | { readonly kind: 'key'; readonly entity: Entity; readonly key: Expr }

/** What a lambda or a count runs over. */
export type Collection =
  | { readonly kind: 'values'; readonly scalar: Scalar; readonly source: ColumnSource }
  | { readonly kind: 'records'; readonly navigation: Navigation; readonly source: ColumnSource }
  /**
   * Of the records that a navigation leads to, the one with the next lower key than the row's own: at most
   * one. The navigation leads back to the row's entity.
   */
  | { readonly kind: 'previous'; readonly navigation: Navigation; readonly source: RowSource }

export type Expr =
  | { readonly kind: 'literal'; readonly value: Value; readonly type: ValueType }
  | { readonly kind: 'list'; readonly items: readonly Expr[]; readonly type: ExprType }
  | {
      readonly kind: 'column'
      readonly scalar: Scalar
      readonly source: ColumnSource
      readonly type: ExprType
    }
  /** A column of the groups that the row's plan reads. */
  | {
      readonly kind: 'result'
      readonly name: `g${number}` | `a${number}`
      readonly row: RowName
      readonly type: ExprType
    }
  /** The value that a lambda over a collection of values stands at. */
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | {
      readonly kind: 'call'
      readonly fn: FunctionName
      readonly args: readonly Expr[]
      readonly type: ValueType
    }
  /** The value where the condition is true, elsewhere null: how a field is kept from a reader. */
  | { readonly kind: 'nullUnless'; readonly when: Expr; readonly value: Expr; readonly type: ExprType }
  | { readonly kind: 'cast'; readonly arg: Expr; readonly type: ValueType }
  /** The record's text matches what `$search` asks for. */
  | {
      readonly kind: 'search'
      readonly search: SearchAst
      readonly entity: Entity
      readonly row: RowName
      readonly type: 'Boolean'
    }
  | {
      readonly kind: 'lambda'
      readonly quantifier: 'any' | 'all'
      readonly over: Collection
      readonly row: RowName
      readonly body?: Expr
      readonly type: 'Boolean'
    }
  | {
      readonly kind: 'count'
      readonly over: Collection
      readonly row: RowName
      readonly filter?: Expr
      readonly type: 'Int64'
    }

export const TRUE: Expr = { kind: 'literal', value: true, type: 'Boolean' }
export const FALSE: Expr = { kind: 'literal', value: false, type: 'Boolean' }

/** Members of a plan that hold objects of the model, and not parts of the plan. */
export const MODEL_MEMBERS: ReadonlySet<string> = new Set(['entity', 'scalar', 'navigation'])

/** All of them hold; true of none. */
export function allOf(...terms: readonly (Expr | undefined)[]): Expr {
  const undecided = terms.filter(t => t !== undefined).filter(t => !isTrue(t))
  if (undecided.some(isFalse)) return FALSE
  return undecided.length > 1
    ? { kind: 'call', fn: 'and', args: undecided, type: 'Boolean' }
    : (undecided[0] ?? TRUE)
}

/** At least one of them holds; false of none. */
export function anyOf(...terms: readonly Expr[]): Expr {
  const undecided = terms.filter(t => !isFalse(t))
  if (undecided.some(isTrue)) return TRUE
  return undecided.length > 1
    ? { kind: 'call', fn: 'or', args: undecided, type: 'Boolean' }
    : (undecided[0] ?? FALSE)
}

export const isTrue = (expr: Expr) => expr.kind === 'literal' && expr.value === true
export const isFalse = (expr: Expr) => expr.kind === 'literal' && expr.value === false
/** A column of the record itself, not of one that it leads to. */
export const isRowColumn = (expr: Expr | undefined): expr is Expr & { kind: 'column' } =>
  expr?.kind === 'column' && expr.source.kind === 'row'
/** A literal that is not null. */
export const isNonNullLiteral = (expr: Expr | undefined): expr is Expr & { kind: 'literal' } =>
  expr?.kind === 'literal' && expr.value !== null
export const isNull = (expr: Expr) => expr.kind === 'literal' && expr.value === null

export type RowSource = ColumnSource & { readonly kind: 'row' }

const ROW_SOURCES = new Map<RowName, RowSource>()

/**
 * The source that is this row: one object for all, since what is made of rows is known by it. There are as
 * many rows as levels of a query.
 */
export function rowSource(row: RowName): RowSource {
  const known = ROW_SOURCES.get(row)
  if (known) return known
  const source: RowSource = { kind: 'row', row }
  ROW_SOURCES.set(row, source)
  return source
}

export function columnOf(scalar: Scalar, source: ColumnSource): Expr {
  return {
    kind: 'column',
    scalar,
    source,
    type: scalar.collection ? `Collection(${scalar.type})` : scalar.type,
  }
}

export const nullLiteral = (type: ValueType): Expr => ({ kind: 'literal', value: null, type })
export const textLiteral = (value: string): Expr => ({ kind: 'literal', value, type: 'String' })
export const predicate = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
  kind: 'call',
  fn,
  args,
  type: 'Boolean',
})

/** The same records from the other end. Nulls, which are below every value, change ends too. */
export const reverseOrder = <P extends Pick<Plan, 'orderBy'>>(plan: P): P => ({
  ...plan,
  orderBy: plan.orderBy.map(o => ({ ...o, descending: !o.descending })),
})

/**
 * The plan, or what it reads from, of those records only for which the condition holds: before any
 * transformation.
 */
export function withFilter<P extends { readonly filter?: Expr; readonly from?: Derived }>(
  plan: P,
  condition: Expr,
): P {
  return plan.from
    ? { ...plan, from: withFilter(plan.from, condition) }
    : { ...plan, filter: allOf(condition, plan.filter) }
}
