import type { At } from '../errors/problem.js'
import type { Ast, OrderAst, Query } from '../query/ast.js'
import { ExpressionParser } from './parser-expression.js'

/** Lists of items that options and transformations share. */
export class ItemParser extends ExpressionParser {
  orderItems(): readonly OrderAst[] {
    return this.list(() => {
      const expr = this.expression()
      const descending = this.isWord('desc')
      if ((descending || this.isWord('asc')) && this.next.blank) this.advance()
      return { expr, descending }
    })
  }

  computeItems(): NonNullable<Query['compute']> {
    return this.list(() => {
      const expr: Ast = this.expression()
      return { expr, ...this.naming("an operator or 'as' and a name") }
    })
  }

  /** `as` and the name of a value. */
  protected naming(expected: string): { readonly name: string; readonly at: At } {
    if (!this.next.blank || !this.isWord('as')) this.unexpected(expected)
    this.advance()
    const at = this.at()
    return { name: this.identifier('a name for the value'), at }
  }
}
