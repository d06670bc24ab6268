import { type At, fail } from '../errors/problem.js'
import type { Ast, SearchAst } from '../query/ast.js'
import type { Token } from './lexer.js'
import { TokenReader } from './parser-tokens.js'
import { readSearch } from './search.js'

type Quantifier = 'any' | 'all'
interface Over {
  readonly names: readonly string[]
  readonly filter?: Ast
  readonly at: At
}

const MEMBER = 'a field, $count, any or all'

/** Names that stand at the beginning of a path although they begin with `$`. */
const IMPLICIT: ReadonlySet<string> = new Set(['$it', '$this'])

/**
 * Paths and what can end them: `A/B`, `A/any(x:...)`, `A/$count(...)`, `A/$filter(...)/$count`,
 * `$root/A('k')/B` (Part 2, 5.1.1.11 to 5.1.1.15).
 */
export abstract class MemberParser extends TokenReader {
  /** Variables of the lambdas around, which hide fields and words of the language. */
  protected readonly variables: string[] = []

  abstract expression(): Ast
  protected abstract operand(): Ast

  /** A path, from the first name on, which is taken already. */
  protected path(first: Token): Ast {
    if (first.text === '$root') return this.root(this.at(first))
    if (first.text.startsWith('$') && !IMPLICIT.has(first.text)) this.unexpected('a value or a field', first)
    const names = [first.text]
    while (this.skipClose('/')) {
      const end = this.ending({ names, at: this.at(first) })
      if (end) return end
      names.push(this.memberName())
    }
    return this.budget.node({ kind: 'path', names, at: this.at(first) }, this.at(first))
  }

  /** What stands behind a slash and is no name of a field. */
  private ending(over: Over): Ast | undefined {
    if (this.next.blank) this.unexpected(MEMBER)
    const quantifier = this.next.text.toLowerCase()
    if ((quantifier === 'any' || quantifier === 'all') && this.text[this.next.end] === '(')
      return this.lambda(quantifier, over)
    if (this.next.text === '$count') return this.count(over)
    if (this.next.text === '$filter') return this.filtered(over)
    return undefined
  }

  private memberName(): string {
    if (this.next.blank || this.next.text.startsWith('$')) this.unexpected(MEMBER)
    return this.take('name', MEMBER).text
  }

  private lambda(quantifier: Quantifier, { names: over, filter, at }: Over): Ast {
    if (filter) return fail({ kind: 'NotImplemented', feature: `${quantifier} behind /$filter()`, at })
    this.advance()
    this.expect('(')
    if (quantifier === 'any' && this.skip(')'))
      return this.budget.node({ kind: 'lambda', quantifier, over, at }, at)
    const variable = this.identifier('a variable')
    this.expect(':')
    this.variables.push(variable)
    const body = this.closing(this.budget.nest(at, () => this.expression()))
    this.variables.pop()
    return this.budget.node({ kind: 'lambda', quantifier, over, variable, body, at }, at, [body])
  }

  private count({ names: over, filter: outer, at }: Over): Ast {
    this.advance()
    const { filter: inner, search } = this.skipClose('(')
      ? this.budget.nest(at, () => this.countOptions())
      : {}
    const filter = outer && inner ? this.call('and', [outer, inner], at) : (outer ?? inner)
    const node: Ast = { kind: 'count', over, ...(filter && { filter }), ...(search && { search }), at }
    return this.budget.node(node, at, [...(filter ? [filter] : []), ...(search ? [search] : [])])
  }

  private countOptions(): { readonly filter?: Ast; readonly search?: SearchAst } {
    const found: { filter?: Ast; search?: SearchAst } = {}
    do {
      const option = this.take('name', '$filter or $search')
      const name = option.text.replace(/^\$/, '').toLowerCase()
      if (name !== 'filter' && name !== 'search') this.unexpected('$filter or $search', option)
      if (found[name]) fail({ kind: 'DuplicateOption', option: `$${name}` })
      this.expect('=')
      if (name === 'filter') found.filter = this.expression()
      else found.search = this.search()
    } while (this.skip(';'))
    return this.closing(found)
  }

  private filtered(over: Over): Ast {
    const { at } = over
    this.advance()
    this.expect('(')
    const condition = this.closing(this.budget.nest(at, () => this.expression()))
    const filter = over.filter ? this.call('and', [over.filter, condition], at) : condition
    const end = this.skipClose('/') ? this.ending({ ...over, filter }) : undefined
    return end ?? fail({ kind: 'NotImplemented', feature: '/$filter() without /$count behind it', at })
  }

  private root(at: At): Ast {
    this.expect('/')
    const entity = this.memberName()
    if (!this.skipClose('(')) return fail({ kind: 'NotImplemented', feature: 'collections behind $root', at })
    const key = this.closing(this.rootKey())
    const names: string[] = []
    while (this.skipClose('/')) names.push(this.memberName())
    return this.budget.node({ kind: 'root', entity, key, names, at }, at, [key])
  }

  private rootKey(): Ast {
    if (this.next.kind === 'name' && this.text[this.next.end] === '=') {
      this.advance()
      this.expect('=')
    }
    const first = this.next
    const key = this.operand()
    return key.kind === 'literal' ? key : this.unexpected('a key', first)
  }

  search(): SearchAst {
    return this.lend((text, offset) => readSearch(text, offset, this.source, this.budget))
  }
}
