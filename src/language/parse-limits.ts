import { fail, type SourceLocation } from '../errors/problem.js'
import type { Ast, SearchAst } from '../query/ast.js'

/**
 * What a text may cost. `depth`: nesting of the text and height of the tree; `nodes`: size of the tree;
 * `list`: items of one list.
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

/** Enough for what people and programs write, far below what recursion on the tree can bear. */
export const DEFAULT_PARSE_LIMITS: ParseLimits = { maxDepth: 100, maxNodes: 5000, maxListItems: 2000 }

/**
 * Counts what one text costs while it is parsed, the texts of its aliases included, and refuses it with
 * `QueryTooComplex` before the work is done. Aliases can name aliases, so that a short text could stand for
 * an endless tree: they pay from the same purse.
 */
export class ComplexityLimiter {
  private nodes = 0
  private depth = 0
  private readonly heights = new WeakMap<Ast | SearchAst, number>()
  private readonly activeAliases = new Set<string>()

  constructor(readonly context: ParseContext) {}

  /** Runs a step of the parser that can call itself. */
  nested<T>(at: SourceLocation, step: () => T): T {
    this.checkLimit('nested parts', ++this.depth, this.context.limits.maxDepth, at)
    const result = step()
    this.depth--
    return result
  }

  /**
   * Pays for a node. Chains like `a add b add c ...` grow without nesting: the height of their tree counts.
   */
  countNode<T extends Ast | SearchAst>(
    node: T,
    at: SourceLocation,
    children: readonly (Ast | SearchAst)[] = [],
  ): T {
    this.checkLimit('parts', ++this.nodes, this.context.limits.maxNodes, at)
    const height = children.reduce((max, child) => Math.max(max, 1 + (this.heights.get(child) ?? 0)), 0)
    this.checkLimit('nested parts', height, this.context.limits.maxDepth, at)
    this.heights.set(node, height)
    return node
  }

  checkListLength(length: number, at: SourceLocation): void {
    this.checkLimit('items in a list', length, this.context.limits.maxListItems, at)
  }

  /** Runs a step inside the text of an alias; an alias whose text leads back to itself is refused. */
  insideAlias<T>(name: string, at: SourceLocation, step: () => T): T {
    if (this.activeAliases.has(name)) return fail({ kind: 'UndefinedAlias', alias: name, at })
    this.activeAliases.add(name)
    const result = this.nested(at, step)
    this.activeAliases.delete(name)
    return result
  }

  private checkLimit(what: string, used: number, limit: number, at: SourceLocation): void {
    if (used > limit) fail({ kind: 'QueryTooComplex', what, limit, at })
  }
}
