import type { DocumentNode } from 'graphql'
import { LRUCache } from 'lru-cache'

/**
 * Characters of the documents that are kept. What is made of one, with its tokens and its frame, takes some
 * hundred bytes for each.
 */
const MAX_CACHED_DOCUMENT_CHARACTERS = 2 ** 19

/** Valid documents, by their text or a digest of it. */
type DocumentCache = LRUCache<string, DocumentNode>

export const createDocumentCache = (): DocumentCache =>
  new LRUCache({
    maxSize: MAX_CACHED_DOCUMENT_CHARACTERS,
    sizeCalculation: ({ loc }) => 1 + (loc?.source.body.length ?? 0),
  })

/**
 * The same for Apollo, whose own store writes each document as JSON to know its size, and keeps some hundred
 * megabytes.
 */
export function createDocumentStore() {
  const documents = createDocumentCache()
  return {
    get: async (key: string) => documents.get(key),
    set: async (key: string, document: DocumentNode) => void documents.set(key, document),
    delete: async (key: string) => documents.delete(key),
  }
}
