import type { CallExpr, ColumnSource, Expr } from '../query/plan.js'
import type { FieldValue } from './values.js'

/** Fields of a record by name, in the text form of `Values`. */
export type RecordFields = { readonly [field: string]: FieldValue }

/** The data that an expression is evaluated on. */
export interface EvaluationContext {
  /** The record of `r0`. */
  readonly record: RecordFields
  /** Returns the record of another entity, or undefined if there is none. */
  readonly find: (entity: string, key: string) => RecordFields | undefined
  /** The values of the parameters. */
  readonly parameters: readonly unknown[]
}

/**
 * Evaluates an expression of a write rule on one record. Gives the same result as its SQL
 * (data/sql/expression.ts), for the kinds of expression that write rules use.
 *   `StandardStatus eq 'Active'` on { StandardStatus: null } → false
 */
export function evaluate(expr: Expr, context: EvaluationContext): FieldValue {
  switch (expr.kind) {
    case 'literal':
      return expr.value
    case 'parameter':
      return toFieldValue(context.parameters[expr.index])
    case 'column':
      return rowAt(expr.source, context)?.[expr.scalar.name] ?? null
    case 'call':
      return evaluateCall(expr, context)
    case 'list':
      return expr.items.map(item => String(evaluate(item, context)))
    // The feeds of a listing are unknown to a write, so it does not find listings of others that only a feed
    // shows.
    case 'inFeed':
      return false
    default:
      throw new Error(`A write rule has an expression of kind ${expr.kind}`)
  }
}

/** Returns true if the condition is true. Null counts as false, as in WHERE. */
export const isMet = (condition: Expr, context: EvaluationContext): boolean =>
  evaluate(condition, context) === true

function rowAt(source: ColumnSource, context: EvaluationContext): RecordFields | undefined {
  if (source.kind === 'row') return context.record
  if (source.kind === 'via') throw new Error('A write rule follows a navigation')
  const key = evaluate(source.key, context)
  return typeof key === 'string' ? context.find(source.entity.name, key) : undefined
}

function evaluateCall({ fn, args }: CallExpr, context: EvaluationContext): FieldValue {
  const [left, right] = args
  if (fn === 'and') return args.every(a => isMet(a, context))
  if (fn === 'or') return args.some(a => isMet(a, context))
  if (!left) throw new Error(`${fn} has no arguments`)
  if (fn === 'not') return !isMet(left, context)
  const value = evaluate(left, context)
  if (!right) throw new Error(`A write rule calls ${fn}`)
  if (fn === 'in') return isIn(value, right, context)
  const other = evaluate(right, context)
  // Equal values have equal text: decimals without redundant zeros, timestamps with milliseconds.
  if (fn === 'eq') return value === other
  if (fn === 'ne') return value !== other
  if (fn === 'gt') return value !== null && other !== null && Number(value) > Number(other)
  throw new Error(`A write rule calls ${fn}`)
}

const isIn = (value: FieldValue, list: Expr, context: EvaluationContext): boolean =>
  list.kind === 'list' && list.items.some(item => evaluate(item, context) === value)

const toFieldValue = (value: unknown): FieldValue =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null
