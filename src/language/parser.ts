import type { Ast, ExpandAst, OrderAst, Query, SearchAst, SelectAst } from '../query/ast.js'
import type { OptionName } from './option-table.js'
import { Budget, type ParseContext } from './parser-budget.js'
import { ExpressionParser } from './parser-expression.js'
import { OptionParser } from './parser-options.js'

/**
 * The texts of query options, percent-decoded, to trees (Part 2, 5; OData ABNF). Names stay text and nothing
 * has a type yet. Fails with `Syntax`, `BadLiteral`, `QueryTooComplex`, a problem of a nested option, or
 * `NotImplemented` for what is well formed and not built.
 */
export const parseFilter = (text: string, context: ParseContext): Ast =>
  parse('$filter', text, context).whole(p => p.expression(), 'noBlanks')
export const parseOrderBy = (text: string, context: ParseContext): readonly OrderAst[] =>
  parse('$orderby', text, context).whole(p => p.orderItems())
export const parseSelect = (text: string, context: ParseContext): readonly SelectAst[] =>
  parse('$select', text, context).whole(p => p.selectItems())
export const parseExpand = (text: string, context: ParseContext): readonly ExpandAst[] =>
  parse('$expand', text, context).whole(p => p.expandItems())
export const parseSearch = (text: string, context: ParseContext): SearchAst =>
  parse('$search', text, context).whole(p => p.search())
export const parseCompute = (text: string, context: ParseContext): NonNullable<Query['compute']> =>
  parse('$compute', text, context).whole(p => p.computeItems())

/** One expression of another source, like the value of a parameter alias or a key. */
export const parseExpression = (text: string, context: ParseContext, source: string): Ast =>
  new ExpressionParser(text, source, new Budget(context)).whole(p => p.expression())

/** The value of any option that is part of a query. */
export const parseOption = (name: OptionName, text: string, context: ParseContext): Partial<Query> =>
  parse(name, text, context).whole(p => p.option(name), name === '$filter' ? 'noBlanks' : 'blanks')

const parse = (name: OptionName, text: string, context: ParseContext) =>
  new OptionParser(text, name, new Budget(context))
