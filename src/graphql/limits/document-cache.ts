import { hash } from 'node:crypto'
import type { DocumentNode, GraphQLSchema } from 'graphql'
import { objectId } from '../../query/memoize.js'
import type { PlanCache, PlanCacheLevel } from '../../query/plan-cache.js'

/** Valid documents by the digest of their text. A document and its tokens take 0.1 KB per character. */
const DOCUMENT_LEVEL: PlanCacheLevel<DocumentNode> = {
  name: 'GraphQL document',
  sizeOf: (_, { loc }) => 4 + (loc?.source.body.length ?? 0) / 10,
}

/** The valid documents of a schema, for all its transports. A cached document has passed all checks. */
export class DocumentCache {
  readonly #schemaId: number

  constructor(
    private readonly plans: PlanCache,
    schema: GraphQLSchema,
  ) {
    this.#schemaId = objectId(schema)
  }

  /** Returns true if the document was accepted before. */
  has(text: string): boolean {
    return this.plans.has(DOCUMENT_LEVEL, this.#keyOf(digestOf(text)))
  }

  get(text: string): DocumentNode | undefined {
    return this.plans.get(DOCUMENT_LEVEL, this.#keyOf(digestOf(text)))
  }

  set(text: string, document: DocumentNode): void {
    this.plans.set(DOCUMENT_LEVEL, this.#keyOf(digestOf(text)), document)
  }

  /**
   * Returns the cache in the form that Apollo reads and writes. Apollo's own cache serializes each document to
   * determine its size, and takes several hundred megabytes.
   */
  toApolloStore() {
    return {
      get: async (key: string) => this.plans.get(DOCUMENT_LEVEL, this.#keyOf(digestInKey(key))),
      set: async (key: string, document: DocumentNode) =>
        this.plans.set(DOCUMENT_LEVEL, this.#keyOf(digestInKey(key)), document),
      delete: async () => undefined,
    }
  }

  /** Several schemas share the plan cache. A document that is valid for one is not valid for another. */
  #keyOf(digest: string): string {
    return `${this.#schemaId} ${digest}`
  }
}

/** The digest that persisted queries are named by. */
const digestOf = (text: string): string => hash('sha256', text, 'hex')

/** Apollo's keys are a digest of the schema, a colon, and the digest of the text. */
const digestInKey = (key: string): string => key.slice(key.lastIndexOf(':') + 1)
