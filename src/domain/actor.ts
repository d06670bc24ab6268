import { fail } from '../errors/problem.js'

export type TokenScope = 'listings:read' | 'listings:write' | 'listings:write:any' | 'admin'

/** Every scope that the service knows; none implies another. */
export const SCOPES: readonly TokenScope[] = [
  'listings:read',
  'listings:write',
  'listings:write:any',
  'admin',
]

/** The class of reader a token stands for. */
export type Audience = 'public' | 'member' | 'staff'

export const AUDIENCES: readonly Audience[] = ['public', 'member', 'staff']

/** Who asks: what a verified token says, and nothing else. */
export interface Actor {
  /** Scopes of the token; unknown ones are kept and mean nothing. */
  readonly scopes: ReadonlySet<string>
  readonly memberKey?: string
  readonly officeKey?: string
  readonly audience: Audience
}

/** Refuses the request (403, ScopeMissing) unless the token holds the scope. */
export function requireScope(actor: Actor, scope: TokenScope): void {
  if (!actor.scopes.has(scope)) fail({ kind: 'ScopeMissing', scope })
}

/** Who lists a property. */
export interface ListingOwners {
  readonly ListAgentKey: string | null
  readonly ListOfficeKey: string | null
}

/** Refuses the request (403, ScopeMissing) unless the token holds a scope to write at all. */
export function requireWriteScope(actor: Actor): void {
  if (!actor.scopes.has('listings:write:any')) requireScope(actor, 'listings:write')
}

/**
 * The token may write a listing of these owners (decisions 6); `isWritable` in visibility.ts is the same rule
 * as a condition.
 */
export function canWriteListing(
  { scopes, memberKey, officeKey }: Actor,
  { ListAgentKey, ListOfficeKey }: ListingOwners,
): boolean {
  if (scopes.has('listings:write:any')) return true
  const isOwn = (key: string | undefined, ...owners: readonly (string | null)[]) =>
    key !== undefined && owners.includes(key)
  return (
    scopes.has('listings:write') &&
    (isOwn(memberKey, ListAgentKey, ListOfficeKey) || isOwn(officeKey, ListOfficeKey))
  )
}
