import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  GraphQLError,
  Kind,
  Lexer,
  type OperationDefinitionNode,
  parse,
  type SelectionNode,
  Source,
  type Token,
  TokenKind,
} from 'graphql'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import { readFragments } from '../execute/operation.js'

export type ShapeLimits = Pick<
  Config,
  | 'maxDocumentLength'
  | 'maxDocumentTokens'
  | 'maxSelectionDepth'
  | 'maxAliases'
  | 'maxRootFields'
  | 'maxFieldDirectives'
  | 'maxNodes'
  | 'maxDepth'
>

/** Documents that have passed are known again by their text: clients send the same few. */
const KNOWN = { max: 1000, maxSize: 8_388_608, sizeCalculation: (_: true, text: string) => text.length }

/**
 * Refuses documents that would cost too much to validate: before that and before anything else, since
 * validation compares fields with each other and follows fragments (graphql-js: 0.45 s for 4500 tokens of
 * fragments that spread each other). Text that is no document is left to Apollo's parser. Own code, since the
 * packages of graphql-armor are rules of validation, come after those of the specification, are made for
 * Apollo Server 4 and neither stop at a budget nor know how many records an argument asks for.
 * @throws ProblemError QueryTooComplex, from the function that is returned
 */
export function createScreen(limits: ShapeLimits): (text: string) => void {
  const known = new LRUCache<string, true>(KNOWN)
  return text => {
    if (known.has(text)) return
    if (text.length > limits.maxDocumentLength) tooMany('characters', limits.maxDocumentLength)
    const document = read(text, limits)
    if (!document) return
    new Shape(readFragments(document), limits).check(document)
    known.set(text, true)
  }
}

const tooMany = (
  what: string,
  limit: number,
  node?: { readonly loc?: { readonly start: number } | undefined },
): never =>
  fail({
    kind: 'QueryTooComplex',
    what,
    limit,
    at: { source: 'query', ...(node?.loc && { offset: node.loc.start }) },
  })

function read(text: string, limits: ShapeLimits): DocumentNode | undefined {
  try {
    return parse(text, { lexer: new LimitedLexer(new Source(text), limits) })
  } catch (error) {
    if (error instanceof GraphQLError) return undefined
    throw error
  }
}

const LEVELS: ReadonlyMap<TokenKind, number> = new Map([
  [TokenKind.BRACE_L, 1],
  [TokenKind.BRACKET_L, 1],
  [TokenKind.PAREN_L, 1],
  [TokenKind.BRACE_R, -1],
  [TokenKind.BRACKET_R, -1],
  [TokenKind.PAREN_R, -1],
])

/**
 * Counts while it reads, so that nothing is built of a text that is too large, and the parser, which calls
 * itself for each bracket, never runs out of stack.
 */
class LimitedLexer extends Lexer {
  readonly #limits: ShapeLimits
  readonly #levels: number
  #tokens = 0
  #level = 0

  constructor(source: Source, limits: ShapeLimits) {
    super(source)
    this.#limits = limits
    // A filter has two brackets for each of its levels, `{and: [`; a field with a filter two more.
    this.#levels = 2 * limits.maxDepth + limits.maxSelectionDepth + 2
  }

  override advance(): Token {
    const token = super.advance()
    if (++this.#tokens > this.#limits.maxDocumentTokens) tooMany('tokens', this.#limits.maxDocumentTokens)
    this.#level += LEVELS.get(token.kind) ?? 0
    if (this.#level > this.#levels) tooMany('brackets within each other', this.#levels)
    return token
  }
}

/** A selection set, or what has one. */
export interface Selecting {
  readonly selectionSet?: { readonly selections: readonly SelectionNode[] } | undefined
}

/**
 * Walks operations as they would be executed: a fragment counts wherever it is spread, so one that doubles
 * thirty times soon comes to the end of the budget.
 */
class Shape {
  #fields = 0
  #aliases = 0
  #rootFields = 0
  /** Fragments that are being walked: one within itself is an error of validation. */
  readonly #open = new Set<string>()

  constructor(
    private readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    private readonly limits: ShapeLimits,
  ) {}

  check({ definitions }: DocumentNode): void {
    for (const definition of definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION) this.#operation(definition)
  }

  #operation(operation: OperationDefinitionNode): void {
    this.#aliases = 0
    this.#rootFields = 0
    this.#directives(operation)
    this.#selections(operation, 1)
  }

  /** `level`: that of the fields in it, 1 at the root. */
  #selections({ selectionSet }: Selecting, level: number): void {
    for (const selection of selectionSet?.selections ?? []) this.#selection(selection, level)
  }

  #selection(selection: SelectionNode, level: number): void {
    if (++this.#fields > this.limits.maxNodes) tooMany('fields', this.limits.maxNodes)
    this.#directives(selection)
    if (selection.kind === Kind.FIELD) this.#field(selection, level)
    else if (selection.kind === Kind.INLINE_FRAGMENT) this.#selections(selection, level)
    else this.#spread(selection.name.value, level)
  }

  #field(field: FieldNode, level: number): void {
    const { maxSelectionDepth, maxAliases, maxRootFields } = this.limits
    if (level > maxSelectionDepth) tooMany('levels of fields', maxSelectionDepth, field)
    if (field.alias && ++this.#aliases > maxAliases) tooMany('aliases', maxAliases, field)
    if (level === 1 && ++this.#rootFields > maxRootFields) tooMany('fields at its root', maxRootFields, field)
    this.#selections(field, level + 1)
  }

  #spread(name: string, level: number): void {
    const fragment = this.fragments[name]
    if (!fragment || this.#open.has(name)) return
    this.#open.add(name)
    this.#directives(fragment)
    this.#selections(fragment, level)
    this.#open.delete(name)
  }

  #directives(node: {
    readonly directives?: readonly unknown[] | undefined
    readonly loc?: { readonly start: number } | undefined
  }): void {
    const { maxFieldDirectives } = this.limits
    if ((node.directives?.length ?? 0) > maxFieldDirectives)
      tooMany('directives at one place', maxFieldDirectives, node)
  }
}
