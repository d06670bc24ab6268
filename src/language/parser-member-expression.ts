import { FEATURES } from '../errors/features.js'
import { EXPECTED_SYNTAX } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast, SearchAst } from '../query/ast.js'
import type { Token } from './lexer.js'
import { parseSearchExpression } from './parser-search.js'
import { TokenReader } from './token-reader.js'

type Quantifier = 'any' | 'all'
interface CollectionPrefix {
  readonly names: readonly string[]
  readonly filter?: Ast
  readonly at: SourceLocation
}

const EXPECTED_MEMBER = EXPECTED_SYNTAX.member

/** Names with `$` that a path can begin with. */
const IMPLICIT_VARIABLES: ReadonlySet<string> = new Set(['$it', '$this'])

/**
 * Parses paths and their suffixes: `A/B`, `A/any(x:...)`, `A/$count(...)`, `A/$filter(...)/$count`,
 * `$root/A('k')/B` (Part 2, 5.1.1.11 to 5.1.1.15).
 */
export abstract class MemberExpressionParser extends TokenReader {
  /** Variables of the surrounding lambdas. They hide fields and keywords. */
  protected readonly lambdaVariables: string[] = []

  abstract expression(): Ast
  protected abstract operand(): Ast

  /** Parses a path. `first` is its first token, which has been consumed. */
  protected pathExpression(first: Token): Ast {
    if (first.text === '$root') return this.rootExpression(this.position(first))
    if (first.text === '$these')
      return fail({ kind: 'NotImplemented', feature: FEATURES.these, at: this.position(first) })
    if (first.text.startsWith('$') && !IMPLICIT_VARIABLES.has(first.text))
      this.unexpected(EXPECTED_SYNTAX.operandWithoutFunction, first)
    const names = [first.text]
    while (this.acceptAdjacent('/')) {
      const end = this.pathSuffix({ names, at: this.position(first) })
      if (end) return end
      names.push(this.memberName())
    }
    if (!this.next.hasLeadingWhitespace) this.refuseAnnotation()
    return this.limiter.countNode({ kind: 'path', names, at: this.position(first) }, this.position(first))
  }

  /** Parses a suffix after a slash that is not a field name. */
  private pathSuffix(prefix: CollectionPrefix): Ast | undefined {
    if (this.next.hasLeadingWhitespace) this.unexpected(EXPECTED_MEMBER)
    this.refuseAnnotation()
    const quantifier = this.next.text.toLowerCase()
    if ((quantifier === 'any' || quantifier === 'all') && this.text[this.next.end] === '(')
      return this.lambdaExpression(quantifier, prefix)
    if (quantifier === 'aggregate' && this.text[this.next.end] === '(')
      return fail({ kind: 'NotImplemented', feature: FEATURES.aggregateInExpression, at: this.position() })
    if (this.next.text === '$count') return this.countExpression(prefix)
    if (this.next.text === '$filter') return this.filterSegment(prefix)
    return undefined
  }

  /** `City@Core.Permissions`, `City/@Core.Permissions`: a term of a vocabulary instead of a field. */
  private refuseAnnotation(): void {
    const { kind, text } = this.next
    if (kind === 'alias')
      fail({
        kind: 'NotImplemented',
        feature: FEATURES.annotationInExpression(text),
        at: this.position(),
      })
  }

  private memberName(): string {
    if (this.next.hasLeadingWhitespace || this.next.text.startsWith('$')) this.unexpected(EXPECTED_MEMBER)
    return this.expectKind('name', EXPECTED_MEMBER).text
  }

  private lambdaExpression(quantifier: Quantifier, { names: over, filter, at }: CollectionPrefix): Ast {
    if (filter) return fail({ kind: 'NotImplemented', feature: FEATURES.afterFilterSegment(quantifier), at })
    this.advance()
    this.expect('(')
    if (quantifier === 'any' && this.accept(')'))
      return this.limiter.countNode({ kind: 'lambda', quantifier, over, at }, at)
    const variable = this.expectIdentifier(EXPECTED_SYNTAX.variable)
    this.expect(':')
    this.lambdaVariables.push(variable)
    const body = this.expectClosing(this.limiter.nested(at, () => this.expression()))
    this.lambdaVariables.pop()
    return this.limiter.countNode({ kind: 'lambda', quantifier, over, variable, body, at }, at, [body])
  }

  private countExpression({ names: over, filter: outer, at }: CollectionPrefix): Ast {
    this.advance()
    const { filter: inner, search } = this.acceptAdjacent('(')
      ? this.limiter.nested(at, () => this.countOptions())
      : {}
    const filter = outer && inner ? this.callNode('and', [outer, inner], at) : (outer ?? inner)
    const node: Ast = { kind: 'count', over, ...(filter && { filter }), ...(search && { search }), at }
    return this.limiter.countNode(node, at, [...(filter ? [filter] : []), ...(search ? [search] : [])])
  }

  private countOptions(): { readonly filter?: Ast; readonly search?: SearchAst } {
    const found: { filter?: Ast; search?: SearchAst } = {}
    do {
      const option = this.expectKind('name', EXPECTED_SYNTAX.filterOrSearch)
      const name = option.text.replace(/^\$/, '').toLowerCase()
      if (name !== 'filter' && name !== 'search') this.unexpected(EXPECTED_SYNTAX.filterOrSearch, option)
      if (found[name]) fail({ kind: 'DuplicateOption', option: `$${name}` })
      this.expect('=')
      if (name === 'filter') found.filter = this.expression()
      else found.search = this.searchExpression()
    } while (this.accept(';'))
    return this.expectClosing(found)
  }

  private filterSegment(prefix: CollectionPrefix): Ast {
    const { at } = prefix
    this.advance()
    this.expect('(')
    const condition = this.expectClosing(this.limiter.nested(at, () => this.expression()))
    const filter = prefix.filter ? this.callNode('and', [prefix.filter, condition], at) : condition
    const end = this.acceptAdjacent('/') ? this.pathSuffix({ ...prefix, filter }) : undefined
    return end ?? fail({ kind: 'NotImplemented', feature: FEATURES.filterSegmentWithoutCount, at })
  }

  private rootExpression(at: SourceLocation): Ast {
    this.expect('/')
    const entity = this.memberName()
    if (!this.acceptAdjacent('('))
      return fail({ kind: 'NotImplemented', feature: FEATURES.rootCollection, at })
    const key = this.expectClosing(this.rootKeyPredicate())
    const names: string[] = []
    while (this.acceptAdjacent('/')) names.push(this.memberName())
    return this.limiter.countNode({ kind: 'root', entity, key, names, at }, at, [key])
  }

  private rootKeyPredicate(): Ast {
    if (this.next.kind === 'name' && this.text[this.next.end] === '=') {
      this.advance()
      this.expect('=')
    }
    const first = this.next
    const key = this.operand()
    return key.kind === 'literal' ? key : this.unexpected(EXPECTED_SYNTAX.key, first)
  }

  searchExpression(): SearchAst {
    const place = this.source === '$search' ? 'alone' : 'inBrackets'
    return this.delegateTo((text, offset) =>
      parseSearchExpression(text, offset, this.source, this.limiter, place),
    )
  }
}
