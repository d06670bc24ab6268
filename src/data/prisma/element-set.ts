import type { CallExpr, Expr, RowName } from '../../query/plan.js'
import { isComparisonOperator } from '../sql/comparison.js'
import type { ThreeValuedBoolean } from './condition.js'
import { notExpressible } from './not-expressible.js'

/** A set of texts: these, or all but these. */
export interface ElementSet {
  readonly complement: boolean
  readonly texts: ReadonlySet<string>
}

const NO_ELEMENT: ElementSet = { complement: false, texts: new Set() }
const EVERY_ELEMENT: ElementSet = { complement: true, texts: new Set() }

/**
 * Returns the values of a collection for which a condition has a result.
 *   `m eq 'Log' or m eq 'Stone'` → Log, Stone; `m ne 'Log'` → all but Log
 * @throws NotExpressibleError for text functions and orders, since Prisma can only test whether a list has values
 */
export function toElementSet(expr: Expr, element: RowName, truth: ThreeValuedBoolean): ElementSet {
  if (expr.kind === 'literal') return expr.value === truth ? EVERY_ELEMENT : NO_ELEMENT
  if (expr.kind !== 'call') return failElements(expr.kind)
  const setOf = (arg: Expr, result: ThreeValuedBoolean) => toElementSet(arg, element, result)
  switch (expr.fn) {
    case 'not':
      return expr.args.map(arg => setOf(arg, truth === null ? null : !truth))[0] ?? NO_ELEMENT
    case 'and':
    case 'or': {
      const decisive = expr.fn === 'or'
      if (truth === null) {
        const undecided = expr.args.map(arg => union(setOf(arg, null), setOf(arg, !decisive)))
        return intersection(...undecided, union(...expr.args.map(arg => setOf(arg, null))))
      }
      const sets = expr.args.map(arg => setOf(arg, truth))
      return truth === decisive ? union(...sets) : intersection(...sets)
    }
    default:
      return truth === null ? NO_ELEMENT : toComparedSet(expr, element, truth)
  }
}

/** The values that equal, or do not equal, one of some literals. A value of a collection is never null. */
function toComparedSet({ fn, args: [left, right] }: CallExpr, element: RowName, truth: boolean): ElementSet {
  const [compared, other] = left?.kind === 'element' ? [left, right] : [right, left]
  const isComparable = fn === 'in' ? compared === left : fn === 'eq' || fn === 'ne'
  if (compared?.kind !== 'element' || compared.row !== element || !isComparable)
    return failElements(isComparisonOperator(fn) ? `the operator ${fn}` : `the function ${fn}`)
  const items = other?.kind === 'list' ? other.items : other ? [other] : []
  const texts = items.map(item => (item.kind === 'literal' ? item.value : failElements('another value')))
  const found = { complement: false, texts: new Set(texts.filter(text => text !== null).map(String)) }
  return (fn === 'ne') === truth ? complement(found) : found
}

const failElements = (what: string): never =>
  notExpressible(`any and all over the values of a collection, other than equality: ${what}`)

/** Returns the values that are not in a set. */
export const complement = ({ complement: is, texts }: ElementSet): ElementSet => ({ complement: !is, texts })

/** Returns the values that are in any of the sets. */
export const union = (...sets: readonly ElementSet[]): ElementSet => sets.reduce(uniteTwo, NO_ELEMENT)

const intersection = (...sets: readonly ElementSet[]): ElementSet =>
  complement(union(...sets.map(complement)))

function uniteTwo(a: ElementSet, b: ElementSet): ElementSet {
  const keep = (texts: ReadonlySet<string>, test: (text: string) => boolean) =>
    new Set([...texts].filter(test))
  if (!a.complement && !b.complement) return { complement: false, texts: new Set([...a.texts, ...b.texts]) }
  if (a.complement && b.complement)
    return { complement: true, texts: keep(a.texts, text => b.texts.has(text)) }
  const [excluded, included] = a.complement ? [a.texts, b.texts] : [b.texts, a.texts]
  return { complement: true, texts: keep(excluded, text => !included.has(text)) }
}
