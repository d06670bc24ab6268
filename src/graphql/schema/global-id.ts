import type { Entity } from '../../model/model.js'
import { ENTITY_OF_TYPE } from './names.js'

/** What a global id names. */
export interface ResolvedGlobalId {
  readonly of: Entity
  readonly key: string
}

/**
 * The opaque id of a record (Relay, Object Identification). Ids of records that are read are made by
 * PostgreSQL, in the same form.
 */
export const toGlobalId = ({ of, key }: ResolvedGlobalId): string =>
  Buffer.from(`${of.typeName}:${key}`, 'utf8').toString('base64url')

/** Within 64 bits, and as PostgreSQL writes it: any other form would find a record whose id it is not. */
const INT64_KEY = /^(?:0|[1-9]\d{0,17})$/

/** What an id names; undefined if this service made no such id. */
export function readGlobalId(id: string): ResolvedGlobalId | undefined {
  const text = Buffer.from(id, 'base64url').toString('utf8')
  const separator = text.indexOf(':')
  const of = ENTITY_OF_TYPE.get(text.slice(0, separator))
  const resolved = of && { of, key: text.slice(separator + 1) }
  if (resolved?.of.key.type === 'Int64' && !INT64_KEY.test(resolved.key)) return undefined
  return resolved && toGlobalId(resolved) === id ? resolved : undefined
}
