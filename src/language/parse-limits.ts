import type { Phrase } from '../errors/phrase.js'
import { COMPLEXITY_UNITS } from '../errors/phrases.js'
import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast, SearchAst } from '../query/ast.js'

/**
 * Limits on the complexity of a text: nesting of the text and height of the tree, size of the tree, and items
 * of a list.
 */
export interface ParseLimits {
  readonly maxDepth: number
  readonly maxNodes: number
  readonly maxListItems: number
}

export interface ParseContext {
  readonly limits: ParseLimits
  /** Texts of the parameter aliases, by name without `@`. */
  readonly aliases: ReadonlyMap<string, string>
}

/**
 * Sufficient for the queries of people and programs, and far below the depth at which recursion would
 * overflow the stack.
 */
export const DEFAULT_PARSE_LIMITS: ParseLimits = { maxDepth: 100, maxNodes: 5000, maxListItems: 2000 }

/**
 * Counts the complexity of a text while it is parsed, and refuses a complex text with `QueryTooComplex` as
 * soon as a limit is exceeded. The texts of its aliases count too: aliases can refer to aliases, so a short
 * text could otherwise expand without limit.
 */
export class ComplexityLimiter {
  private nodes = 0
  private depth = 0
  private readonly heights = new WeakMap<Ast | SearchAst, number>()
  private readonly activeAliases = new Set<string>()

  constructor(readonly context: ParseContext) {}

  /** Runs a recursive step of the parser. */
  nested<T>(at: SourceLocation, step: () => T): T {
    this.checkLimit(COMPLEXITY_UNITS.nestedParts, ++this.depth, this.context.limits.maxDepth, at)
    const result = step()
    this.depth--
    return result
  }

  /**
   * Counts a node. Chains like `a add b add c ...` grow without nesting, so the height of their tree is
   * limited.
   */
  countNode<T extends Ast | SearchAst>(
    node: T,
    at: SourceLocation,
    children: readonly (Ast | SearchAst)[] = [],
  ): T {
    this.checkLimit(COMPLEXITY_UNITS.parts, ++this.nodes, this.context.limits.maxNodes, at)
    const height = children.reduce((max, child) => Math.max(max, 1 + (this.heights.get(child) ?? 0)), 0)
    this.checkLimit(COMPLEXITY_UNITS.nestedParts, height, this.context.limits.maxDepth, at)
    this.heights.set(node, height)
    return node
  }

  checkListLength(length: number, at: SourceLocation): void {
    this.checkLimit(COMPLEXITY_UNITS.listItems, length, this.context.limits.maxListItems, at)
  }

  /** Runs a step inside the text of an alias. Refuses an alias that refers to itself. */
  insideAlias<T>(name: string, at: SourceLocation, step: () => T): T {
    if (this.activeAliases.has(name)) return fail({ kind: 'UndefinedAlias', alias: name, at })
    this.activeAliases.add(name)
    const result = this.nested(at, step)
    this.activeAliases.delete(name)
    return result
  }

  private checkLimit(what: Phrase, used: number, limit: number, at: SourceLocation): void {
    if (used > limit) fail({ kind: 'QueryTooComplex', what, limit, at })
  }
}
