import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_SYNTAX } from '../errors/phrases.js'
import type { SourceLocation } from '../errors/problem.js'
import type { Ast, OrderAst, Query } from '../query/ast.js'
import { ExpressionParser } from './parser-expression.js'

/** Parses lists that options and transformations share. */
export class ItemParser extends ExpressionParser {
  orderByItems(): readonly OrderAst[] {
    return this.commaSeparated(() => {
      const expr = this.expression()
      const descending = this.isKeyword('desc')
      if ((descending || this.isKeyword('asc')) && this.next.hasLeadingWhitespace) this.advance()
      return { expr, descending }
    })
  }

  computeItems(): NonNullable<Query['compute']> {
    return this.commaSeparated(() => {
      const expr: Ast = this.expression()
      return { expr, ...this.asAlias(EXPECTED_SYNTAX.operatorOrAlias) }
    })
  }

  /** Parses `as` and a name. */
  protected asAlias(expected: Phrase): { readonly name: string; readonly at: SourceLocation } {
    if (!this.next.hasLeadingWhitespace || !this.isKeyword('as')) this.unexpected(expected)
    this.advance()
    const at = this.position()
    return { name: this.expectIdentifier(EXPECTED_SYNTAX.aliasName), at }
  }
}
