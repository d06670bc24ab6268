import { describe, expect, test } from 'vitest'
import { toCondition, toSql } from '../../src/data/sql/expression.js'
import { getEntity } from '../../src/model/model.js'
import {
  CASTS,
  type ExprType,
  FUNCTIONS,
  type FunctionName,
  type Signature,
  type ValueType,
} from '../../src/query/functions.js'
import { columnOf, type Expr, rowSource } from '../../src/query/plan.js'

// A rendering that names an operand twice doubles the statement with each level of nesting, up to the depth
// that a query may have: a short filter would produce megabytes of SQL.

const PROPERTY = getEntity('Property')
const column = (type: ExprType): Expr | undefined => {
  const scalar = PROPERTY.scalars.find(s => s.type === type && !s.collection)
  return scalar && columnOf(scalar, rowSource('r0'))
}
const literal = (type: ExprType): Expr => ({ kind: 'literal', type: type as ValueType, value: '2' }) // not a collection
const operand = (type: ExprType): Expr => {
  const item = /^Collection\((\w+)\)$/.exec(type)?.[1] as ValueType | undefined
  return item
    ? { kind: 'list', items: [column(item) ?? literal(item), literal(item)], type }
    : (column(type) ?? literal(type))
}

/** Calls of which an argument has the type of the result. */
const NESTABLE = (Object.keys(FUNCTIONS) as FunctionName[]).flatMap(fn =>
  FUNCTIONS[fn].flatMap((signature: Signature) =>
    signature.args.flatMap((arg, index) => (arg === signature.returns ? [{ fn, signature, index }] : [])),
  ),
)

type Wrap = (inner: Expr) => Expr

const wrapInCall =
  ({ fn, signature, index }: (typeof NESTABLE)[number]): Wrap =>
  inner => ({
    kind: 'call',
    fn,
    args: signature.args.map((type, i) => (i === index ? inner : operand(type))),
    type: signature.returns,
  })

const cast = (arg: Expr, type: ValueType): Expr => ({ kind: 'cast', arg, type })

const lengthOf = (
  wrap: Wrap,
  start: Expr,
  levels: number,
  render: (expr: Expr) => { readonly sql: string },
) => {
  let expr = start
  for (let level = 0; level < levels; level++) expr = wrap(expr)
  return render(expr).sql.length
}

/** Twice the levels, twice the length. */
function expectLinear(wrap: Wrap, start: Expr): void {
  for (const render of [toSql, (expr: Expr) => toCondition(expr), (expr: Expr) => toCondition(expr, true)])
    expect(lengthOf(wrap, start, 40, render)).toBeLessThan(2.5 * lengthOf(wrap, start, 20, render))
}

describe('the SQL of nested', () => {
  test.each(NESTABLE)('$fn($signature.args), in argument $index, grows with the levels', nestable =>
    expectLinear(wrapInCall(nestable), operand(nestable.signature.returns)),
  )

  const pairs = Object.entries(CASTS).flatMap(
    ([to, from]) =>
      from
        .filter(other => CASTS[other]?.some(back => back === to))
        .map(other => [other, to as ValueType] as const), // a key of CASTS
  )
  test.each(pairs)('casts between %s and %s grows with the levels', (from, to) =>
    expectLinear(inner => cast(cast(inner, to), from), operand(from)),
  )

  test('in over computed values grows with the levels', () => {
    const item: Expr = { kind: 'call', fn: 'not', args: [operand('Boolean')], type: 'Boolean' }
    const list: Expr = { kind: 'list', items: [item, item], type: 'Collection(Boolean)' }
    expectLinear(inner => ({ kind: 'call', fn: 'in', args: [inner, list], type: 'Boolean' }), item)
  })

  test('sums with fine durations grows with the levels', () => {
    const fine: Expr = { kind: 'literal', type: 'Duration', value: '0.0000001' }
    expectLinear(
      inner => ({ kind: 'call', fn: 'add', args: [inner, fine], type: 'DateTimeOffset' }),
      operand('DateTimeOffset'),
    )
  })
})
