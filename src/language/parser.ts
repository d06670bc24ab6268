import type { Ast, ExpandAst, OrderAst, Query, SearchAst, SelectAst } from '../query/ast.js'
import { ComplexityLimiter, type ParseContext } from './parse-limits.js'
import { ExpressionParser } from './parser-expression.js'
import { OptionParser } from './parser-options.js'
import type { SystemQueryOption } from './system-query-options.js'

/**
 * Parse the percent-decoded text of a query option to a tree (Part 2, 5; OData ABNF). Names remain text and
 * nothing has a type yet. They fail with `Syntax`, `BadLiteral`, `QueryTooComplex`, a problem of a nested
 * option, or `NotImplemented` for well-formed text that the service does not support.
 */
export const parseFilter = (text: string, context: ParseContext): Ast =>
  createParser('$filter', text, context).parseToEnd(p => p.expression(), 'noBlanks')
export const parseOrderBy = (text: string, context: ParseContext): readonly OrderAst[] =>
  createParser('$orderby', text, context).parseToEnd(p => p.orderByItems())
export const parseSelect = (text: string, context: ParseContext): readonly SelectAst[] =>
  createParser('$select', text, context).parseToEnd(p => p.selectItems())
export const parseExpand = (text: string, context: ParseContext): readonly ExpandAst[] =>
  createParser('$expand', text, context).parseToEnd(p => p.expandItems())
export const parseSearch = (text: string, context: ParseContext): SearchAst =>
  createParser('$search', text, context).parseToEnd(p => p.searchExpression())
export const parseCompute = (text: string, context: ParseContext): NonNullable<Query['compute']> =>
  createParser('$compute', text, context).parseToEnd(p => p.computeItems())

/** Parses one expression from another source, such as the value of a parameter alias or a key. */
export const parseExpression = (text: string, context: ParseContext, source: string): Ast =>
  new ExpressionParser(text, source, new ComplexityLimiter(context)).parseToEnd(p => p.expression())

/** Parses the value of any option that is part of a query. */
export const parseOption = (name: SystemQueryOption, text: string, context: ParseContext): Partial<Query> =>
  createParser(name, text, context).parseToEnd(
    p => p.option(name),
    name === '$filter' ? 'noBlanks' : 'blanks',
  )

const createParser = (name: SystemQueryOption, text: string, context: ParseContext) =>
  new OptionParser(text, name, new ComplexityLimiter(context))
