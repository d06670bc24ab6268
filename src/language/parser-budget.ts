import { type At, fail } from '../errors/problem.js'
import type { Ast, SearchAst } from '../query/ast.js'

/**
 * What a text may cost. `depth`: nesting of the text and height of the tree; `nodes`: size of the tree;
 * `list`: items of one list.
 */
export interface ParseLimits {
  readonly depth: number
  readonly nodes: number
  readonly list: number
}

export interface ParseContext {
  readonly limits: ParseLimits
  /** Texts of the parameter aliases, by name without `@`. */
  readonly aliases: ReadonlyMap<string, string>
}

/** Enough for what people and programs write, far below what recursion on the tree can bear. */
export const PARSE_LIMITS: ParseLimits = { depth: 100, nodes: 5000, list: 2000 }

/**
 * Counts what one text costs while it is parsed, the texts of its aliases included, and refuses it with
 * `QueryTooComplex` before the work is done. Aliases can name aliases, so that a short text could stand for
 * an endless tree: they pay from the same purse.
 */
export class Budget {
  private nodes = 0
  private depth = 0
  private readonly heights = new WeakMap<Ast | SearchAst, number>()
  private readonly open = new Set<string>()

  constructor(readonly context: ParseContext) {}

  /** Runs a step of the parser that can call itself. */
  nest<T>(at: At, step: () => T): T {
    this.check('nested parts', ++this.depth, this.context.limits.depth, at)
    const result = step()
    this.depth--
    return result
  }

  /**
   * Pays for a node. Chains like `a add b add c ...` grow without nesting: the height of their tree counts.
   */
  node<T extends Ast | SearchAst>(node: T, at: At, children: readonly (Ast | SearchAst)[] = []): T {
    this.check('parts', ++this.nodes, this.context.limits.nodes, at)
    const height = children.reduce((most, child) => Math.max(most, 1 + (this.heights.get(child) ?? 0)), 0)
    this.check('nested parts', height, this.context.limits.depth, at)
    this.heights.set(node, height)
    return node
  }

  list(length: number, at: At): void {
    this.check('items in a list', length, this.context.limits.list, at)
  }

  /** Runs a step inside the text of an alias; an alias whose text leads back to itself is refused. */
  alias<T>(name: string, at: At, step: () => T): T {
    if (this.open.has(name)) return fail({ kind: 'UndefinedAlias', alias: name, at })
    this.open.add(name)
    const result = this.nest(at, step)
    this.open.delete(name)
    return result
  }

  private check(what: string, used: number, limit: number, at: At): void {
    if (used > limit) fail({ kind: 'QueryTooComplex', what, limit, at })
  }
}
