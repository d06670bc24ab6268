import type { VersionCondition } from '../domain/precondition.js'
import { fail } from '../errors/problem.js'

/** ETags are weak: the same version of a record is written in more than one form. */
export const toETag = (version: string): string => `W/"${version}"`

const ENTITY_TAG = /\s*(?:W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*(?:,|$)/y

/**
 * Reads If-Match or If-None-Match (RFC 9110, 13.1). Weak and strong tags are compared alike: ours are weak,
 * and OData wants them in If-Match (Part 1, 8.2.4). Fails with `BadHeader`.
 */
export function readEntityTags(
  header: 'If-Match' | 'If-None-Match',
  text: string | undefined,
): VersionCondition | undefined {
  return text === undefined
    ? undefined
    : (parseEntityTags(text) ?? fail({ kind: 'BadHeader', header, found: text }))
}

/** The versions in a list of entity tags; undefined if it is none. */
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

/** Whether a record of that version is meant. Entries of the log have no version. */
export const matchesETag = (tags: VersionCondition, version: string | null): boolean =>
  tags === '*' || (version !== null && tags.includes(version))
