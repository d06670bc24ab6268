import { FEATURES } from '../errors/features.js'
import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX, HINTS } from '../errors/phrases.js'
import type { SourceLocation } from '../errors/problem.js'
import type { AggregateAst, GroupAst, TransformationAst } from '../query/ast.js'
import { AGGREGATES, type AggregateMethod, isAggregateMethod } from '../query/functions.js'
import { ItemParser } from './parser-items.js'

/** Parsers of the arguments of each transformation. */
const TRANSFORMATION_RULES: ReadonlyMap<string, (parser: ApplyParser) => TransformationAst> = new Map([
  ['filter', p => ({ kind: 'filter', filter: p.expression() })],
  ['search', p => ({ kind: 'search', search: p.searchExpression() })],
  ['compute', p => ({ kind: 'compute', items: p.computeItems() })],
  ['orderby', p => ({ kind: 'orderby', terms: p.orderByItems() })],
  ['top', p => ({ kind: 'top', count: p.nonNegativeInteger() })],
  ['skip', p => ({ kind: 'skip', count: p.nonNegativeInteger() })],
  ['aggregate', p => ({ kind: 'group', by: [], aggregates: p.aggregateExpressions() })],
  ['groupby', p => p.groupBy()],
  ['concat', p => p.concatenation()],
])

/** Standard transformations that the service does not implement. */
// biome-ignore format: table
const UNSUPPORTED_TRANSFORMATIONS: ReadonlySet<string> = new Set([
  'topcount', 'topsum', 'toppercent', 'bottomcount', 'bottomsum', 'bottompercent', 'expand', 'nest', 'addnested', 'join', 'outerjoin',
  'ancestors', 'descendants', 'traverse',
])

/** Methods of other services and databases that neither the standard nor this service has. */
const UNSUPPORTED_METHODS: ReadonlySet<string> = new Set([
  'median', 'mode', 'percentile', 'stdev', 'stdevp', 'stddev', 'stddev_pop', 'stddev_samp', 'var', 'varp', 'variance', 'var_pop', 'var_samp', 'first', 'last',
]) // biome-ignore format: words

/** Hierarchies in groupby: lists of levels in brackets. */
const ROLLUPS = ['rollup', 'rolluprecursive']

const EXPECTED_TRANSFORMATION = EXPECTED_SYNTAX.transformation(['identity', ...TRANSFORMATION_RULES.keys()])
const EXPECTED_AGGREGATE_METHOD = EXPECTED_SYNTAX.aggregateMethod(Object.keys(AGGREGATES))

/** Parses `$apply`: transformations separated by slashes (OData Data Aggregation 4.0, 3). */
export class ApplyParser extends ItemParser {
  /** The first unsupported part of a well-formed text. It is refused after the whole text has been parsed. */
  private unsupported: (TransformationAst & { kind: 'other' }) | undefined

  transformations(): readonly TransformationAst[] {
    const steps = this.transformationSequence()
    return this.unsupported ? [this.unsupported] : steps
  }

  aggregateExpressions(): readonly AggregateAst[] {
    return this.commaSeparated(() => this.aggregateExpression())
  }

  groupBy(): TransformationAst {
    this.expect('(')
    const by = this.expectClosing(this.commaSeparated(() => this.groupingProperty()))
    if (!this.accept(',')) return { kind: 'group', by, aggregates: [] }
    const at = this.position()
    const [step, ...others] = this.transformationSequence()
    if (step?.kind === 'group' && step.by.length === 0 && others.length === 0)
      return { kind: 'group', by, aggregates: step.aggregates }
    return this.markUnsupported(FEATURES.groupTransformations, at)
  }

  concatenation(): TransformationAst {
    const at = this.position()
    this.transformationSequence()
    this.expect(',')
    this.commaSeparated(() => this.transformationSequence())
    return this.markUnsupported(FEATURES.concat, at)
  }

  /** Parses a non-negative integer. */
  nonNegativeInteger(): number {
    const token = this.next
    if (token.kind !== 'number' || !/^\d+$/.test(token.text))
      this.unexpected(EXPECTED_SYNTAX.nonNegativeInteger)
    this.advance()
    return Math.min(Number(token.text), Number.MAX_SAFE_INTEGER)
  }

  /** Each step is nested inside the steps after it, so a long sequence counts as deep. */
  private transformationSequence(): readonly TransformationAst[] {
    const at = this.position()
    const step = this.transformation()
    return this.acceptAdjacent('/')
      ? [step, ...this.limiter.nested(at, () => this.transformationSequence())]
      : [step]
  }

  private transformation(): TransformationAst {
    const at = this.position()
    const token = this.expectKind('name', EXPECTED_TRANSFORMATION)
    const name = token.text.toLowerCase()
    if (name === 'identity') return { kind: 'identity' }
    const rule = TRANSFORMATION_RULES.get(name)
    if (!rule && !UNSUPPORTED_TRANSFORMATIONS.has(name) && !name.includes('.'))
      this.unexpected(EXPECTED_TRANSFORMATION, token)
    if (!this.acceptAdjacent('(')) this.unexpected(EXPECTED_SYNTAX.text('('))
    return this.limiter.nested(at, () =>
      this.expectClosing(rule ? rule(this) : this.skipBalanced(FEATURES.transformation(token.text), at)),
    )
  }

  private groupingProperty(): GroupAst {
    const at = this.position()
    if (this.next.text === '$all') {
      this.markUnsupported(FEATURES.allInGroupBy, at)
      return { names: [this.advance().text], at }
    }
    const rollup = ROLLUPS.find(word => this.isKeyword(word))
    const names = [this.expectQualifiedName(EXPECTED_SYNTAX.groupingField)]
    if (rollup && this.acceptAdjacent('('))
      this.expectClosing(this.skipBalanced(FEATURES.transformation(rollup), at))
    while (this.acceptAdjacent('/')) names.push(this.expectQualifiedName(EXPECTED_SYNTAX.field))
    // `groupby((year(X)))`: groups are fields and values with a name.
    if (!this.isPunctuation(',') && !this.isPunctuation(')'))
      this.unexpected(EXPECTED_SYNTAX.endOfGroupingField, this.next, HINTS.computeGroup)
    return { names, at }
  }

  private aggregateExpression(): AggregateAst {
    const at = this.position()
    if (this.next.text === '$count') {
      this.advance()
      return this.asAlias(EXPECTED_SYNTAX.alias)
    }
    const expr = this.expression()
    const method = this.aggregateMethod()
    while (this.isOperatorKeyword('from')) {
      this.markUnsupported(FEATURES.fromInAggregate, at)
      this.advance()
      this.expression()
      this.aggregateMethod()
    }
    if (method) return { of: { expr, method }, ...this.asAlias(EXPECTED_SYNTAX.operatorOrAlias) }
    this.markUnsupported(FEATURES.customAggregates, at)
    return this.isOperatorKeyword('as') ? this.asAlias(EXPECTED_SYNTAX.alias) : { name: '', at }
  }

  /** Parses `with` and a method. A method with a dot in its name is a custom method. */
  private aggregateMethod(): AggregateMethod | undefined {
    if (!this.isOperatorKeyword('with')) return undefined
    this.advance()
    const token = this.expectKind('name', EXPECTED_AGGREGATE_METHOD)
    const name = token.text.toLowerCase()
    if (isAggregateMethod(name)) return name
    if (!name.includes('.') && !UNSUPPORTED_METHODS.has(name))
      this.unexpected(EXPECTED_AGGREGATE_METHOD, token)
    this.markUnsupported(FEATURES.method(token.text), this.position(token))
    return undefined
  }

  private isOperatorKeyword(word: string): boolean {
    return this.next.hasLeadingWhitespace && this.isKeyword(word)
  }

  private markUnsupported(feature: Phrase, at: SourceLocation): TransformationAst {
    this.unsupported ??= { kind: 'other', feature, at }
    return this.unsupported
  }

  /** Skips everything up to the matching closing bracket. */
  private skipBalanced(feature: Phrase, at: SourceLocation): TransformationAst {
    for (let open = 0; this.next.kind !== 'end' && (open > 0 || !this.isPunctuation(')')); this.advance()) {
      if (this.next.kind === 'unknown') this.unexpected(EXPECTED_SYNTAX.operatorOr(')'))
      if (this.isPunctuation('(')) open++
      else if (this.isPunctuation(')')) open--
    }
    return this.markUnsupported(feature, at)
  }
}
