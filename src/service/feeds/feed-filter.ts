import { toFilterSql } from '../../data/feeds/filter-sql.js'
import { toFailure } from '../../errors/catalog.js'
import { ChangeError, refuseFaults, valueFault } from '../../errors/change-error.js'
import { messageOf, type Problem, ProblemError } from '../../errors/problem.js'
import { DEFAULT_PARSE_LIMITS } from '../../language/parse-limits.js'
import { parseExpression } from '../../language/parser.js'
import { getEntity } from '../../model/model.js'
import { bindCondition } from '../../query/bind/expression.js'
import { Scope } from '../../query/bind/scope.js'
import { checkEvaluations } from '../../query/complexity.js'
import type { Collection, ColumnSource, Expr } from '../../query/plan.js'

/** An invalid value of a feed. The message is for the operator. */
export class FeedChangeError extends ChangeError {}

const PROPERTY = getEntity('Property')
const SOURCE = 'the filter'
/** Fields that the change log sets when a listing is written. */
const LOG_FIELDS: readonly string[] = ['ModificationTimestamp', 'LastEventSequence']
/**
 * Maximum length of a filter, since it is evaluated for each write of a listing, and twice for a failed one.
 */
const MAX_FILTER_LENGTH = 10_000

/** A filter as SQL, which cannot be used if there are faults. */
export interface CompiledFilter {
  readonly sql: string
  readonly faults: readonly Problem[]
}

/**
 * Compiles the filter of a feed to SQL over the row `r0`. The filter may use only fields of the listing
 * itself, so that only a write of the listing or a change of the feed can move the listing into or out of the
 * feed. Faults of syntax have a position.
 */
export function readFeedFilter(text: string): CompiledFilter {
  if (text.trim() === '') return toFaults(["The filter is empty. 'true' shows all listings."])
  if (text.length > MAX_FILTER_LENGTH)
    return toFaults([`The filter has more than ${MAX_FILTER_LENGTH} characters.`])
  try {
    const ast = parseExpression(text, { limits: DEFAULT_PARSE_LIMITS, aliases: new NoAliases() }, SOURCE)
    const filter = bindCondition(ast, Scope.root(PROPERTY))
    checkEvaluations({ filter, orderBy: [], select: [] }, ast.at)
    const reasons = [...new Set(foreignPartsOf(filter))]
    return reasons.length > 0
      ? toFaults(
          reasons.map(
            reason => `The filter of a feed may use only fields of the listing; this one ${reason}.`,
          ),
        )
      : { sql: toFilterSql(filter), faults: [] }
  } catch (error) {
    if (error instanceof ProblemError)
      return toFaults(error.problems.map(problem => toFailure([problem]).message))
    return toFaults([messageOf(error)])
  }
}

/** Returns the SQL of a filter. @throws ChangeError with all faults */
export function compileFeedFilter(text: string): string {
  const { sql, faults } = readFeedFilter(text)
  refuseFaults([], faults)
  return sql
}

const toFaults = (reasons: readonly string[]): CompiledFilter => ({
  sql: '',
  faults: reasons.map(reason => valueFault('Filter', reason)),
})

/** A stored filter has no query with parameter aliases. */
class NoAliases extends Map<string, string> {
  override get(name: string): never {
    throw new FeedChangeError(`The filter uses the parameter alias '@${name}', which has no value in a feed.`)
  }
}

/** Returns the reasons for which an expression uses more than fields of the listing. */
function foreignPartsOf(expr: Expr): readonly string[] {
  const own =
    expr.kind === 'column'
      ? reasonOfColumn(expr.scalar.name, expr.source)
      : expr.kind === 'call' && expr.fn === 'now'
        ? 'uses now(), so listings would enter and leave the feed without a change'
        : expr.kind === 'lambda' || expr.kind === 'count'
          ? reasonOfCollection(expr.over)
          : undefined
  return [...(own === undefined ? [] : [own]), ...partsOf(expr).flatMap(foreignPartsOf)]
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
      throw new FeedChangeError(`The filter of a feed cannot have an expression of the kind ${expr.kind}.`)
  }
}

function reasonOfColumn(name: string, source: ColumnSource): string | undefined {
  if (source.kind !== 'row') return `uses ${name} of another record`
  return LOG_FIELDS.includes(name) ? `uses ${name}, which changes with every write` : undefined
}

const reasonOfCollection = (over: Collection): string | undefined =>
  over.kind === 'records'
    ? `uses the records of ${over.navigation.name}`
    : reasonOfColumn(over.scalar.name, over.source)
