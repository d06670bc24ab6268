import { type Actor, requireScope } from '../domain/actor.js'
import type { JsonObject } from '../domain/json.js'
import { statusFields } from '../domain/lifecycle.js'
import { referencedKeys } from '../domain/references.js'
import type { WriteRequest } from '../domain/write-shape.js'
import { getEntity } from '../model/model.js'
import type { Query } from '../query/ast.js'
import { objectId } from '../query/memoize.js'
import type { PlanCache, PlanCacheLevel } from '../query/plan-cache.js'
import type { ReadRequest } from './reading.js'

/**
 * The requested response to a write. With `isMinimal` the response has only the version, and its JSON is an
 * empty object.
 */
export interface ReturnRequest extends ReadRequest {
  readonly isMinimal?: boolean
  /** The client requested the whole representation (Prefer: return=representation). */
  readonly isWhole?: boolean
  /** The option that selects fields. Undefined for a field of GraphQL, which always selects. */
  readonly selectOption?: string
}

const PROPERTY = getEntity('Property')

/** Fields that every create returns (interface 4.1). */
const CREATED_FIELDS: readonly string[] = [
  PROPERTY.key.name,
  ...Object.keys(statusFields('Incomplete')),
  'ModificationTimestamp',
  'OriginatingSystemName',
]

/**
 * The fields of a body that the response may contain. Fields that the service sets are excluded,
 * since they would disclose values.
 */
const RETURNED_FIELDS: ReadonlySet<string> = new Set([
  ...CREATED_FIELDS,
  ...PROPERTY.scalars.filter(s => s.setBy === 'client' && s.readableBy !== 'nobody').map(s => s.name),
])

/** Queries by the fields that a body contains. Clients usually write the same few sets of fields. */
const RESPONSE_QUERY_LEVEL: PlanCacheLevel<Query> = { name: 'write response', sizeOf: () => 8 }

/**
 * Limits the response to a write for a token that cannot read listings to the fields of the request and those
 * that every create returns.
 * @throws ProblemError ScopeMissing if the client requested more
 */
export function limitResponse<R extends ReturnRequest>(
  request: R,
  body: JsonObject,
  actor: Actor,
  plans: PlanCache,
): R {
  if (actor.scopes.has('listings:read') || request.isMinimal) return request
  const { query } = request
  const sent = new Set([...CREATED_FIELDS, ...Object.keys(body).filter(name => RETURNED_FIELDS.has(name))])
  const requestsMore =
    request.isWhole ||
    [query.expand, query.compute].some(items => items !== undefined && items.length > 0) ||
    query.select?.some(({ name }) => !sent.has(name))
  if (requestsMore) requireScope(actor, 'listings:read')
  if (query.select) return request
  const names = PROPERTY.scalars.map(s => s.name).filter(name => sent.has(name))
  return {
    ...request,
    query: plans.getOrCreate(
      RESPONSE_QUERY_LEVEL,
      `${objectId(query)} ${names.join()}`,
      (): Query => ({
        ...query,
        select: names.map(name => ({ name, at: { source: '$select' } })),
      }),
    ),
  }
}

/** Returns true if the response contains more than the written record. */
export const needsSeparateRead = ({ query, isMinimal = false }: ReturnRequest): boolean =>
  !isMinimal && [query.expand, query.compute].some(items => items !== undefined && items.length > 0)

/** Returns the keys of the members and offices that the rules of a write may look up. */
export const keysOf = ({ changes, actor }: WriteRequest): readonly string[] => [
  ...referencedKeys(changes.values),
  ...(actor.memberKey === undefined ? [] : [actor.memberKey]),
]
