import { toFilterSql } from '../../data/feeds/filter-sql.js'
import { toFailure } from '../../errors/catalog.js'
import { ChangeError } from '../../errors/change-error.js'
import { messageOf, ProblemError } from '../../errors/problem.js'
import { DEFAULT_PARSE_LIMITS } from '../../language/parse-limits.js'
import { parseExpression } from '../../language/parser.js'
import { getEntity } from '../../model/model.js'
import { bindCondition } from '../../query/bind/expression.js'
import { Scope } from '../../query/bind/scope.js'
import { checkEvaluations } from '../../query/complexity.js'
import type { Collection, ColumnSource, Expr } from '../../query/plan.js'

/** An invalid value of a feed. The message is for the operator. */
export class FeedError extends ChangeError {}

/** Returns the error for a value of a field. */
export const feedValueError = (field: string, reason: string): FeedError =>
  new FeedError(reason, { kind: 'ValueRefused', field, reason })

const filterError = (reason: string): FeedError => feedValueError('Filter', reason)

const PROPERTY = getEntity('Property')
const SOURCE = 'the filter'
/** Fields that the change log sets when a listing is written. */
const LOG_FIELDS: readonly string[] = ['ModificationTimestamp', 'LastEventSequence']
/**
 * Maximum length of a filter, since it is evaluated for each write of a listing, and twice for a failed one.
 */
const MAX_FILTER_LENGTH = 10_000

/**
 * Compiles the filter of a feed to SQL over the row `r0`. The filter may use only fields of the listing
 * itself, so that only a write of the listing or a change of the feed can move the listing into or out of the
 * feed.
 * @throws FeedError with the position of the fault
 */
export function compileFeedFilter(text: string): string {
  if (text.trim() === '') throw filterError("The filter is empty. 'true' shows all listings.")
  if (text.length > MAX_FILTER_LENGTH)
    throw filterError(`The filter has more than ${MAX_FILTER_LENGTH} characters.`)
  const filter = bindFilter(text)
  checkOwnFields(filter)
  return toFilterSql(filter)
}

/** A stored filter has no query with parameter aliases. */
class NoAliases extends Map<string, string> {
  override get(name: string): never {
    throw filterError(`The filter uses the parameter alias '@${name}', which has no value in a feed.`)
  }
}

function bindFilter(text: string): Expr {
  try {
    const ast = parseExpression(text, { limits: DEFAULT_PARSE_LIMITS, aliases: new NoAliases() }, SOURCE)
    const filter = bindCondition(ast, Scope.root(PROPERTY))
    checkEvaluations({ filter, orderBy: [], select: [] }, ast.at)
    return filter
  } catch (error) {
    if (error instanceof ProblemError) throw filterError(toFailure(error.problems).message)
    throw filterError(messageOf(error))
  }
}

function checkOwnFields(expr: Expr): void {
  if (expr.kind === 'column') checkColumn(expr.scalar.name, expr.source)
  if (expr.kind === 'call' && expr.fn === 'now')
    refuse('uses now(), so listings would enter and leave the feed without a change')
  if (expr.kind === 'lambda' || expr.kind === 'count') checkCollection(expr.over)
  for (const part of partsOf(expr)) checkOwnFields(part)
}

function partsOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'call':
      return expr.args
    case 'list':
      return expr.items
    case 'cast':
      return [expr.arg]
    case 'lambda':
      return expr.body ? [expr.body] : []
    case 'count':
      return expr.filter ? [expr.filter] : []
    case 'literal':
    case 'column':
    case 'element':
      return []
    default:
      return refuse(`has an expression of the kind ${expr.kind}`)
  }
}

function checkColumn(name: string, source: ColumnSource): void {
  if (source.kind !== 'row') refuse(`uses ${name} of another record`)
  if (LOG_FIELDS.includes(name)) refuse(`uses ${name}, which changes with every write`)
}

function checkCollection(over: Collection): void {
  if (over.kind === 'records') refuse(`uses the records of ${over.navigation.name}`)
  else checkColumn(over.scalar.name, over.source)
}

function refuse(reason: string): never {
  throw filterError(`The filter of a feed may use only fields of the listing; this one ${reason}.`)
}
