import type { At } from '../errors/problem.js'
import type { AggregateAst, GroupAst, TransformationAst } from '../query/ast.js'
import { AGGREGATES, type AggregateMethod, isAggregateMethod } from '../query/functions.js'
import { ItemParser } from './parser-items.js'

/** How what stands in the brackets of each transformation is read. */
const RULES: ReadonlyMap<string, (parser: ApplyParser) => TransformationAst> = new Map([
  ['filter', p => ({ kind: 'filter', filter: p.expression() })],
  ['search', p => ({ kind: 'search', search: p.search() })],
  ['compute', p => ({ kind: 'compute', items: p.computeItems() })],
  ['orderby', p => ({ kind: 'orderby', terms: p.orderItems() })],
  ['top', p => ({ kind: 'top', count: p.number() })],
  ['skip', p => ({ kind: 'skip', count: p.number() })],
  ['aggregate', p => ({ kind: 'group', by: [], aggregates: p.aggregateItems() })],
  ['groupby', p => p.groupBy()],
  ['concat', p => p.concatenation()],
])

/** Transformations of the standard and of 4.01 that the service knows and does not offer. */
// biome-ignore format: table
const NOT_BUILT: ReadonlySet<string> = new Set([
  'topcount', 'topsum', 'toppercent', 'bottomcount', 'bottomsum', 'bottompercent', 'expand', 'nest', 'addnested', 'join', 'outerjoin',
  'ancestors', 'descendants', 'traverse',
])

const TRANSFORMATION = `a transformation (identity, ${[...RULES.keys()].join(', ')})`
const METHOD = `a method (${Object.keys(AGGREGATES).join(', ')})`

/** `$apply`: transformations with slashes between them (OData Data Aggregation 4.0, 3). */
export class ApplyParser extends ItemParser {
  /** What is well formed and not built: it is refused only when the whole text has been read. */
  private missing: (TransformationAst & { kind: 'other' }) | undefined

  transformations(): readonly TransformationAst[] {
    const steps = this.sequence()
    return this.missing ? [this.missing] : steps
  }

  aggregateItems(): readonly AggregateAst[] {
    return this.list(() => this.aggregateItem())
  }

  groupBy(): TransformationAst {
    this.expect('(')
    const by = this.closing(this.list(() => this.groupItem()))
    if (!this.skip(',')) return { kind: 'group', by, aggregates: [] }
    const at = this.at()
    const [step, ...others] = this.sequence()
    if (step?.kind === 'group' && step.by.length === 0 && others.length === 0)
      return { kind: 'group', by, aggregates: step.aggregates }
    return this.miss('transformations of groups other than aggregate', at)
  }

  concatenation(): TransformationAst {
    const at = this.at()
    this.sequence()
    this.expect(',')
    this.list(() => this.sequence())
    return this.miss('concat', at)
  }

  /** A non-negative whole number. */
  number(): number {
    const token = this.next
    if (token.kind !== 'number' || !/^\d+$/.test(token.text)) this.unexpected('a whole number, 0 or more')
    this.advance()
    return Math.min(Number(token.text), Number.MAX_SAFE_INTEGER)
  }

  /** Each step stands around those before it, so a long sequence is as deep as it is long. */
  private sequence(): readonly TransformationAst[] {
    const at = this.at()
    const step = this.transformation()
    return this.skipClose('/') ? [step, ...this.budget.nest(at, () => this.sequence())] : [step]
  }

  private transformation(): TransformationAst {
    const at = this.at()
    const token = this.take('name', TRANSFORMATION)
    const name = token.text.toLowerCase()
    if (name === 'identity') return { kind: 'identity' }
    const rule = RULES.get(name)
    if (!rule && !NOT_BUILT.has(name) && !name.includes('.')) this.unexpected(TRANSFORMATION, token)
    if (!this.skipClose('(')) this.unexpected("'('")
    return this.budget.nest(at, () => this.closing(rule ? rule(this) : this.balanced(token.text, at)))
  }

  private groupItem(): GroupAst {
    const at = this.at()
    if (this.next.text === '$all') {
      this.miss('$all in groupby', at)
      return { names: [this.advance().text], at }
    }
    const isRollup = this.isWord('rollup')
    const names = [this.qualified('a field to group by')]
    if (isRollup && this.skipClose('(')) this.closing(this.balanced('rollup', at))
    while (this.skipClose('/')) names.push(this.qualified('a field'))
    return { names, at }
  }

  private aggregateItem(): AggregateAst {
    const at = this.at()
    if (this.next.text === '$count') {
      this.advance()
      return this.naming("'as' and a name")
    }
    const expr = this.expression()
    const method = this.method()
    while (this.sees('from')) {
      this.miss('from in aggregate', at)
      this.advance()
      this.expression()
      this.method()
    }
    if (method) return { of: { expr, method }, ...this.naming("an operator or 'as' and a name") }
    this.miss('aggregates of the service (a method stands behind with)', at)
    return this.sees('as') ? this.naming('') : { name: '', at }
  }

  /** `with` and a method. Those with a dot in their names are a service's own. */
  private method(): AggregateMethod | undefined {
    if (!this.sees('with')) return undefined
    this.advance()
    const token = this.take('name', METHOD)
    const name = token.text.toLowerCase()
    if (isAggregateMethod(name)) return name
    if (!name.includes('.')) this.unexpected(METHOD, token)
    this.miss(`the method ${token.text}`, this.at(token))
    return undefined
  }

  private sees(word: string): boolean {
    return this.next.blank && this.isWord(word)
  }

  private miss(feature: string, at: At): TransformationAst {
    this.missing ??= { kind: 'other', feature, at }
    return this.missing
  }

  /** Anything up to the bracket that closes it. */
  private balanced(feature: string, at: At): TransformationAst {
    for (let open = 0; this.next.kind !== 'end' && (open > 0 || !this.is(')')); this.advance()) {
      if (this.next.kind === 'unknown') this.unexpected("an operator or ')'")
      if (this.is('(')) open++
      else if (this.is(')')) open--
    }
    return this.miss(feature, at)
  }
}
