import type { Entity } from '../../model/model.js'
import { ENTITY_OF_TYPE } from './names.js'

/** What a global id names. */
export interface Named {
  readonly of: Entity
  readonly key: string
}

/**
 * The opaque id of a record (Relay, Object Identification). Ids of records that are read are made by
 * PostgreSQL, in the same form.
 */
export const toGlobalId = ({ of, key }: Named): string =>
  Buffer.from(`${of.typeName}:${key}`, 'utf8').toString('base64url')

/** Within 64 bits, and as PostgreSQL writes it: any other form would find a record whose id it is not. */
const SEQUENCE = /^(?:0|[1-9]\d{0,17})$/

/** What an id names; undefined if this service made no such id. */
export function readGlobalId(id: string): Named | undefined {
  const text = Buffer.from(id, 'base64url').toString('utf8')
  const cut = text.indexOf(':')
  const of = ENTITY_OF_TYPE.get(text.slice(0, cut))
  const named = of && { of, key: text.slice(cut + 1) }
  if (named?.of.key.type === 'Int64' && !SEQUENCE.test(named.key)) return undefined
  return named && toGlobalId(named) === id ? named : undefined
}
