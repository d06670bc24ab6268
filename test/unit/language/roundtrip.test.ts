import fc from 'fast-check'
import { expect, test } from 'vitest'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import { parseFilter } from '../../../src/language/parser.js'
import { getEntity } from '../../../src/model/model.js'
import { bindCondition } from '../../../src/query/bind/expression.js'
import { Scope } from '../../../src/query/bind/scope.js'
import type { Expr } from '../../../src/query/plan.js'
import { printFilter } from '../../support/oracle/print-expression.js'
import { arbitraryExpression, generatorScope } from '../../support/oracle/random-expressions.js'

// Plan, text, plan: an expression that is bound, printed and bound again must be the same.

const RUNS = Number(process.env.PARITY_RUNS ?? 300) * 5
const PROPERTY = getEntity('Property')
const CONTEXT = { limits: DEFAULT_PARSE_LIMITS, aliases: new Map<string, string>() }

const read = (text: string): Expr => bindCondition(parseFilter(text, CONTEXT), Scope.root(PROPERTY))

/** Lists of dates and times have no form in JSON, so a set function of them has no text. */
function hasText(expr: Expr): boolean {
  if (expr.kind === 'list') return expr.items.every(hasText)
  if (expr.kind === 'cast') return hasText(expr.arg)
  if (expr.kind === 'lambda') return !expr.body || hasText(expr.body)
  if (expr.kind === 'count') return !expr.filter || hasText(expr.filter)
  if (expr.kind !== 'call') return true
  if (
    expr.fn.startsWith('hassub') &&
    expr.args.some(a => a.kind === 'list' && !/\((?:String|Int32)\)/.test(a.type))
  )
    return false
  // The parser folds chains, and a pattern must be one.
  return expr.fn !== 'matchespattern' && expr.args.every(hasText)
}

test(`${RUNS} random filters are equal after printing and parsing`, { timeout: 60_000 + RUNS * 10 }, () => {
  fc.assert(
    fc.property(arbitraryExpression('Boolean', generatorScope(PROPERTY, 3)), filter => {
      fc.pre(hasText(filter))
      const plan = read(printFilter(filter))
      expect(read(printFilter(plan))).toEqual(plan)
    }),
    { numRuns: RUNS, seed: Number(process.env.PARITY_SEED ?? 20261128), endOnFailure: true },
  )
})
