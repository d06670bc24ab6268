import { type Expr, isRowColumn } from '../../query/plan.js'
import type { PrismaRecord } from './record-json.js'

/**
 * Returns true if a read permission holds for a record. The condition consists of comparisons of the record's
 * own fields with literals, as `isFieldReadable` builds it. Null equals only null (OData 4.01 Part 2,
 * 5.1.1.1).
 * @throws Error for any other expression
 */
export function evaluateCondition(expr: Expr, record: PrismaRecord): boolean {
  if (expr.kind === 'literal') return expr.value === true
  if (expr.kind === 'call') {
    const { fn, args } = expr
    if (fn === 'and') return args.every(arg => evaluateCondition(arg, record))
    if (fn === 'or') return args.some(arg => evaluateCondition(arg, record))
    if (fn === 'not') return args.every(arg => !evaluateCondition(arg, record))
    const [left, right] = args
    if (fn === 'eq') return operandValue(left, record) === operandValue(right, record)
    if (fn === 'ne') return operandValue(left, record) !== operandValue(right, record)
  }
  throw new Error(`A read permission cannot be evaluated: ${expr.kind === 'call' ? expr.fn : expr.kind}`)
}

function operandValue(expr: Expr | undefined, record: PrismaRecord): unknown {
  if (expr?.kind === 'literal') return expr.value
  if (isRowColumn(expr)) return record[expr.scalar.name] ?? null
  throw new Error(`A read permission compares ${expr?.kind}`)
}
