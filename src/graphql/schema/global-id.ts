import type { Entity } from '../../model/model.js'

/** The entity and key of a global id. */
export interface ResolvedGlobalId {
  readonly of: Entity
  readonly key: string
}

/**
 * Returns the opaque id of a record (Relay, Object Identification). PostgreSQL builds the ids of records that
 * are read, in the same form.
 */
export const toGlobalId = ({ of, key }: ResolvedGlobalId): string =>
  Buffer.from(`${of.typeName}:${key}`, 'utf8').toString('base64url')

/**
 * An integer within 64 bits in PostgreSQL's text form. Another form would find a record with a different id.
 */
const INT64_KEY = /^(?:0|[1-9]\d{0,17})$/

/**
 * Returns the entity and key of an id, or undefined if the id is not one of these entities.
 * @param entityOfType entities by the names of their object types
 */
export function readGlobalId(
  id: string,
  entityOfType: ReadonlyMap<string, Entity>,
): ResolvedGlobalId | undefined {
  const text = Buffer.from(id, 'base64url').toString('utf8')
  const separator = text.indexOf(':')
  const of = entityOfType.get(text.slice(0, separator))
  const resolved = of && { of, key: text.slice(separator + 1) }
  if (resolved?.of.key.type === 'Int64' && !INT64_KEY.test(resolved.key)) return undefined
  return resolved && toGlobalId(resolved) === id ? resolved : undefined
}
