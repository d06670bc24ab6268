import type { VersionCondition } from '../domain/write-shape.js'
import { EXPECTED_HEADER } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'

/**
 * Returns the ETag of a version. ETags are weak, because the same version of a record has several
 * representations.
 */
export const toETag = (version: string): string => `W/"${version}"`

const ENTITY_TAG = /\s*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/y

/**
 * Reads If-Match or If-None-Match (RFC 9110, 13.1). Weak and strong tags compare equal, because our tags are
 * weak and OData requires them in If-Match (Part 1, 8.2.4).
 * @throws ProblemError BadHeader
 */
export function readEntityTags(
  header: 'If-Match' | 'If-None-Match',
  text: string | undefined,
): VersionCondition | undefined {
  return text === undefined
    ? undefined
    : (parseEntityTags(text) ??
        fail({ kind: 'BadHeader', header, expected: EXPECTED_HEADER.etags, found: text }))
}

/** Returns the versions in a list of entity tags, or undefined if the text is not such a list. */
export function parseEntityTags(text: string): VersionCondition | undefined {
  if (text.trim() === '*') return '*'
  const versions: string[] = []
  ENTITY_TAG.lastIndex = 0
  while (ENTITY_TAG.lastIndex < text.length) {
    const found = ENTITY_TAG.exec(text)
    if (!found) return undefined
    versions.push(found[1] ?? '')
  }
  return versions.length > 0 ? versions : undefined
}

/** Returns true if the condition includes the version. Events have no version. */
export const matchesETag = (tags: VersionCondition, version: string | null): boolean =>
  tags === '*' || (version !== null && tags.includes(version))
