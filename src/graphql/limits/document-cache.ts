import type { DocumentNode } from 'graphql'
import { LRUCache } from 'lru-cache'

/**
 * Maximum characters of the cached documents. The document, its tokens and its plan take several hundred
 * bytes per character.
 */
const MAX_CACHED_DOCUMENT_CHARACTERS = 2 ** 19

/** Valid documents by their text or a digest of it. */
type DocumentCache = LRUCache<string, DocumentNode>

export const createDocumentCache = (): DocumentCache =>
  new LRUCache({
    maxSize: MAX_CACHED_DOCUMENT_CHARACTERS,
    sizeCalculation: ({ loc }) => 1 + (loc?.source.body.length ?? 0),
  })

/**
 * The cache for Apollo. Its own cache serializes each document to determine its size, and takes several
 * hundred megabytes.
 */
export function createDocumentStore() {
  const documents = createDocumentCache()
  return {
    get: async (key: string) => documents.get(key),
    set: async (key: string, document: DocumentNode) => void documents.set(key, document),
    delete: async (key: string) => documents.delete(key),
  }
}
