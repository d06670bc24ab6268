import type { Entity, Navigation, Scalar } from '../model/model.js'
import type { ControlInformation, SearchAst, Value } from './ast.js'
import type { AggregateMethod, ExprType, FunctionName, ValueType } from './functions.js'

/** A validated query: every name is a model object and every expression has a type. */
export interface Plan {
  readonly entity: Entity
  /** The derived table to read instead of the entity's table. */
  readonly from?: DerivedTable
  /** The name of this plan's record in expressions. */
  readonly row: RowName
  readonly filter?: Expr
  /** Ends with the key, so that the order is total. */
  readonly orderBy: readonly OrderByTerm[]
  readonly select: readonly SelectItem[]
  readonly expand: readonly Expansion[]
  /** Navigations whose links belong to the record, if the representation has links. */
  readonly links?: readonly Navigation[]
  readonly controlInformation?: readonly ControlInformation[]
  readonly memberOrder?: readonly string[]
  /** Size of the page. Undefined in an expansion that has no limit. */
  readonly top?: number
  readonly skip: number
  readonly count: boolean
  /** Order values of the last record of the previous page, one for each term of `orderBy`. */
  readonly after?: PlanPosition
  /** Order values of the first record of the next page. Only records before it are read. */
  readonly before?: PlanPosition
}

/** The position of a record in an order: its value of each term, as text. */
export type KeysetPosition = readonly (string | null)[]

/** A position whose values are known or given by each request. */
export type PlanPosition = readonly (string | ParameterRef | null)[]

/**
 * A reference to a value of the request in a position or statement, by its index. Requests that differ only in
 * such values share the plan and everything that is cached by it.
 */
export class ParameterRef {
  constructor(readonly index: number) {}
}

/** A derived table: a window on other records, or groups of them. */
export interface DerivedTable {
  readonly entity: Entity
  readonly from?: DerivedTable
  readonly row: RowName
  readonly filter?: Expr
  readonly transform: WindowTransform | GroupByTransform
}

/** A range of the records, unchanged. */
export interface WindowTransform {
  readonly kind: 'window'
  readonly orderBy: readonly OrderByTerm[]
  readonly top?: number
  readonly skip?: number
}

/**
 * One record per group, or one of all records if there are no groups. The columns are named by position:
 * `g0`, `g1` and so on for groups, `a0`, `a1` and so on for aggregates.
 */
export interface GroupByTransform {
  readonly kind: 'groups'
  readonly groups: readonly Expr[]
  readonly aggregates: readonly Aggregate[]
}

/** An aggregate. Without `of` it counts the records. */
export interface Aggregate {
  readonly of?: { readonly expr: Expr; readonly method: AggregateMethod }
  readonly type: ValueType
}

/**
 * The name of a row. `r0` is the record of the request. Lambdas and expansions have higher numbers. Names
 * depend only on the nesting, so equal queries have equal names.
 */
export type RowName = `r${number}`

export interface OrderByTerm {
  readonly expr: Expr
  readonly descending: boolean
}

export type SelectItem =
  /** `readableIf` undefined: the reader can read the field of every record. */
  | { readonly kind: 'field'; readonly scalar: Scalar; readonly as?: string; readonly readableIf?: Expr }
  | { readonly kind: 'computed'; readonly name: string; readonly value: Expr }

export interface Expansion {
  readonly navigation: Navigation
  readonly as?: string
  readonly form: 'records' | 'references' | 'count'
  readonly plan: Plan
}

/**
 * The source of a column: a row, the single record that a navigation leads to, or a record with a key.
 * Columns are null if there is no such record.
 */
export type ColumnSource =
  | { readonly kind: 'row'; readonly row: RowName }
  | { readonly kind: 'via'; readonly navigation: Navigation; readonly from: ColumnSource }
  | { readonly kind: 'key'; readonly entity: Entity; readonly key: Expr }

/** The collection that a lambda or a count iterates over. */
export type Collection =
  | { readonly kind: 'values'; readonly scalar: Scalar; readonly source: ColumnSource }
  | { readonly kind: 'records'; readonly navigation: Navigation; readonly source: ColumnSource }

export type Expr =
  | { readonly kind: 'literal'; readonly value: Value; readonly type: ValueType }
  /** A parameter: a value that each request provides. It is not null. */
  | { readonly kind: 'parameter'; readonly index: number; readonly type: ValueType }
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
  /** The current value of a lambda over a collection of values. */
  | { readonly kind: 'element'; readonly row: RowName; readonly type: ValueType }
  | {
      readonly kind: 'call'
      readonly fn: FunctionName
      readonly args: readonly Expr[]
      readonly type: ValueType
    }
  /** The value if the condition is true, otherwise null. Hides a field from a reader. */
  | { readonly kind: 'nullUnless'; readonly when: Expr; readonly value: Expr; readonly type: ExprType }
  | { readonly kind: 'cast'; readonly arg: Expr; readonly type: ValueType }
  /** True if the record's text matches a `$search` expression. */
  | {
      readonly kind: 'search'
      readonly search: SearchAst
      readonly entity: Entity
      readonly row: RowName
      readonly type: 'Boolean'
    }
  /** True if the listing with the key is in a feed, and with `soldPrice` if the feed shows its sold price. */
  | {
      readonly kind: 'inFeed'
      readonly feed: number
      readonly soldPrice: boolean
      readonly key: Expr
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

export type CallExpr = Expr & { readonly kind: 'call' }
export type LiteralExpr = Expr & { readonly kind: 'literal' }
export type ColumnExpr = Expr & { readonly kind: 'column' }

export const TRUE: Expr = { kind: 'literal', value: true, type: 'Boolean' }
export const FALSE: Expr = { kind: 'literal', value: false, type: 'Boolean' }

/** Members of a plan that refer to objects of the model instead of parts of the plan. */
export const MODEL_MEMBERS: ReadonlySet<string> = new Set(['entity', 'scalar', 'navigation'])

/** Returns the conjunction of the terms, true for none. */
export function allOf(...terms: readonly (Expr | undefined)[]): Expr {
  const undecided = terms.filter(t => t !== undefined).filter(t => !isTrue(t))
  if (undecided.some(isFalse)) return FALSE
  return undecided.length > 1
    ? { kind: 'call', fn: 'and', args: undecided, type: 'Boolean' }
    : (undecided[0] ?? TRUE)
}

/** Returns the disjunction of the terms, false for none. */
export function anyOf(...terms: readonly Expr[]): Expr {
  const undecided = terms.filter(t => !isFalse(t))
  if (undecided.some(isTrue)) return TRUE
  return undecided.length > 1
    ? { kind: 'call', fn: 'or', args: undecided, type: 'Boolean' }
    : (undecided[0] ?? FALSE)
}

export const isTrue = (expr: Expr) => expr.kind === 'literal' && expr.value === true
export const isFalse = (expr: Expr) => expr.kind === 'literal' && expr.value === false
/** Returns true for a column of the record itself, as opposed to a related record. */
export const isRowColumn = (expr: Expr | undefined): expr is Expr & { kind: 'column' } =>
  expr?.kind === 'column' && expr.source.kind === 'row'
/** Returns true if a plan reads the records of its entity in the order of their keys. */
export const isInKeyOrder = ({ entity, from, orderBy: [first] }: Pick<Plan, 'entity' | 'from' | 'orderBy'>) =>
  !from && isRowColumn(first?.expr) && first.expr.scalar === entity.key
/** Returns true for a literal that is not null. */
export const isNonNullLiteral = (expr: Expr | undefined): expr is Expr & { kind: 'literal' } =>
  expr?.kind === 'literal' && expr.value !== null
/** Returns true for a literal or parameter that is not null. */
export const isNonNullValue = (expr: Expr | undefined): boolean =>
  isNonNullLiteral(expr) || expr?.kind === 'parameter'
export const isNull = (expr: Expr) => expr.kind === 'literal' && expr.value === null

export type RowSource = ColumnSource & { readonly kind: 'row' }

const ROW_SOURCES = new Map<RowName, RowSource>()

/**
 * Returns the source for a row. There is one object per row, since results that depend on rows are memoized
 * by it. The number of rows is bounded by the nesting of a query.
 */
export function rowSource(row: RowName): RowSource {
  const existing = ROW_SOURCES.get(row)
  if (existing) return existing
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
export const parameter = (index: number, type: ValueType): Expr => ({ kind: 'parameter', index, type })
export const textLiteral = (value: string): Expr => ({ kind: 'literal', value, type: 'String' })
export const predicate = (fn: FunctionName, ...args: readonly Expr[]): Expr => ({
  kind: 'call',
  fn,
  args,
  type: 'Boolean',
})

/** Returns the plan with its order reversed. Nulls, which sort below every value, change ends too. */
export const reverseOrder = <P extends Pick<Plan, 'orderBy'>>(plan: P): P => ({
  ...plan,
  orderBy: plan.orderBy.map(o => ({ ...o, descending: !o.descending })),
})

/** Adds a condition to a plan. If the plan has transformations, the condition applies before them. */
export function withFilter<P extends { readonly filter?: Expr; readonly from?: DerivedTable }>(
  plan: P,
  condition: Expr,
): P {
  return plan.from
    ? { ...plan, from: withFilter(plan.from, condition) }
    : { ...plan, filter: allOf(condition, plan.filter) }
}

/** Limits the records of a plan to `limit`, if it is given and lower than the limit that the plan has. */
export const withTopLimit = (plan: Plan, limit: number | undefined): Plan =>
  limit === undefined || (plan.top !== undefined && plan.top <= limit) ? plan : { ...plan, top: limit }
