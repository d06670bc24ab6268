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
import type { Config } from '../../config/config.js'
import type { Phrase } from '../../errors/phrase.js'
import { COMPLEXITY_UNITS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { fragmentsOf } from '../execute/collect-fields.js'
import type { DocumentCache } from './document-cache.js'

export type DocumentLimits = Pick<
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

/**
 * Creates the check that refuses documents that would be too expensive to validate. It runs before everything
 * else, since validation compares fields with each other and follows fragments (graphql-js: 0.45 s for 4500
 * tokens of fragments that spread each other). A syntax error is left to Apollo's parser. The packages of
 * graphql-armor are not used: they are validation rules that run after those of the specification, are made
 * for Apollo Server 4, do not stop at a limit, and do not know the number of records that an argument
 * requests.
 * @throws ProblemError QueryTooComplex, from the returned function
 */
export function createDocumentLimitsCheck(
  limits: DocumentLimits,
  documents: Pick<DocumentCache, 'has'>,
): (text: string) => void {
  return text => {
    if (documents.has(text)) return
    if (text.length > limits.maxDocumentLength)
      failTooComplex(COMPLEXITY_UNITS.characters, limits.maxDocumentLength)
    const document = parseWithinLimits(text, limits)
    if (document) new DocumentLimitsChecker(fragmentsOf(document), limits).checkDocument(document)
  }
}

const failTooComplex = (
  what: Phrase,
  limit: number,
  node?: { readonly loc?: { readonly start: number } | undefined },
): never =>
  fail({
    kind: 'QueryTooComplex',
    what,
    limit,
    at: { source: 'query', ...(node?.loc && { offset: node.loc.start }) },
  })

function parseWithinLimits(text: string, limits: DocumentLimits): DocumentNode | undefined {
  try {
    return parse(text, { lexer: new LimitedLexer(new Source(text), limits) })
  } catch (error) {
    if (error instanceof GraphQLError) return undefined
    throw error
  }
}

const NESTING_DELTA: ReadonlyMap<TokenKind, number> = new Map([
  [TokenKind.BRACE_L, 1],
  [TokenKind.BRACKET_L, 1],
  [TokenKind.PAREN_L, 1],
  [TokenKind.BRACE_R, -1],
  [TokenKind.BRACKET_R, -1],
  [TokenKind.PAREN_R, -1],
])

/**
 * Counts tokens and brackets while it reads, so that nothing is built for a text that is too large, and the
 * recursive parser does not overflow the stack.
 */
class LimitedLexer extends Lexer {
  readonly #limits: DocumentLimits
  readonly #maxNesting: number
  #tokenCount = 0
  #nesting = 0

  constructor(source: Source, limits: DocumentLimits) {
    super(source)
    this.#limits = limits
    // A filter has two brackets for each of its levels, `{and: [`. A field with a filter has two more.
    this.#maxNesting = 2 * limits.maxDepth + limits.maxSelectionDepth + 2
  }

  override advance(): Token {
    const token = super.advance()
    if (++this.#tokenCount > this.#limits.maxDocumentTokens)
      failTooComplex(COMPLEXITY_UNITS.tokens, this.#limits.maxDocumentTokens)
    this.#nesting += NESTING_DELTA.get(token.kind) ?? 0
    if (this.#nesting > this.#maxNesting) failTooComplex(COMPLEXITY_UNITS.brackets, this.#maxNesting)
    return token
  }
}

/** A selection set or a node with one. */
export interface NodeWithSelectionSet {
  readonly selectionSet?: { readonly selections: readonly SelectionNode[] } | undefined
}

/**
 * Traverses operations as they would be executed. A fragment counts wherever it is spread, so fragments that
 * double thirty times reach the limit quickly.
 */
class DocumentLimitsChecker {
  #selectionCount = 0
  #aliasCount = 0
  #rootFieldCount = 0
  /** Fragments in the current path. A cycle is an error of validation. */
  readonly #activeFragments = new Set<string>()

  constructor(
    private readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>,
    private readonly limits: DocumentLimits,
  ) {}

  checkDocument({ definitions }: DocumentNode): void {
    for (const definition of definitions)
      if (definition.kind === Kind.OPERATION_DEFINITION) this.#checkOperation(definition)
  }

  #checkOperation(operation: OperationDefinitionNode): void {
    this.#aliasCount = 0
    this.#rootFieldCount = 0
    this.#checkDirectives(operation)
    this.#checkSelectionSet(operation, 1)
  }

  /** `level` is the level of the fields in the selection set, 1 at the root. */
  #checkSelectionSet({ selectionSet }: NodeWithSelectionSet, depth: number): void {
    for (const selection of selectionSet?.selections ?? []) this.#checkSelection(selection, depth)
  }

  #checkSelection(selection: SelectionNode, depth: number): void {
    if (++this.#selectionCount > this.limits.maxNodes)
      failTooComplex(COMPLEXITY_UNITS.fields, this.limits.maxNodes)
    this.#checkDirectives(selection)
    if (selection.kind === Kind.FIELD) this.#checkField(selection, depth)
    else if (selection.kind === Kind.INLINE_FRAGMENT) this.#checkSelectionSet(selection, depth)
    else this.#checkFragmentSpread(selection.name.value, depth)
  }

  #checkField(field: FieldNode, depth: number): void {
    const { maxSelectionDepth, maxAliases, maxRootFields } = this.limits
    if (depth > maxSelectionDepth) failTooComplex(COMPLEXITY_UNITS.fieldLevels, maxSelectionDepth, field)
    if (field.alias && ++this.#aliasCount > maxAliases)
      failTooComplex(COMPLEXITY_UNITS.aliases, maxAliases, field)
    if (depth === 1 && ++this.#rootFieldCount > maxRootFields)
      failTooComplex(COMPLEXITY_UNITS.rootFields, maxRootFields, field)
    this.#checkSelectionSet(field, depth + 1)
  }

  #checkFragmentSpread(name: string, depth: number): void {
    const fragment = this.fragments[name]
    if (!fragment || this.#activeFragments.has(name)) return
    this.#activeFragments.add(name)
    this.#checkDirectives(fragment)
    this.#checkSelectionSet(fragment, depth)
    this.#activeFragments.delete(name)
  }

  #checkDirectives(node: {
    readonly directives?: readonly unknown[] | undefined
    readonly loc?: { readonly start: number } | undefined
  }): void {
    const { maxFieldDirectives } = this.limits
    if ((node.directives?.length ?? 0) > maxFieldDirectives)
      failTooComplex(COMPLEXITY_UNITS.directives, maxFieldDirectives, node)
  }
}
