import { fail } from '../errors/problem.js'

export type TokenScope = 'listings:read' | 'listings:write' | 'listings:write:any' | 'admin'

/** Every scope of the service. No scope implies another. */
export const SCOPES: readonly TokenScope[] = [
  'listings:read',
  'listings:write',
  'listings:write:any',
  'admin',
]

/** The class of reader that a token identifies. */
export type Audience = 'public' | 'member' | 'staff'

export const AUDIENCES: readonly Audience[] = ['public', 'member', 'staff']

/** The identity and permissions of a verified token. */
export interface Actor {
  /** Scopes of the token. Unknown scopes are stored and have no effect. */
  readonly scopes: ReadonlySet<string>
  readonly memberKey?: string
  readonly officeKey?: string
  readonly audience: Audience
}

/** Refuses the request (403, ScopeMissing) unless the token has the scope. */
export function requireScope(actor: Actor, scope: TokenScope): void {
  if (!actor.scopes.has(scope)) fail({ kind: 'ScopeMissing', scope })
}

/** The agent and the office that a listing belongs to. */
export interface ListingOwners {
  readonly ListAgentKey: string | null
  readonly ListOfficeKey: string | null
}

/** Refuses the request (403, ScopeMissing) unless the token has a scope for writing. */
export function requireWriteScope(actor: Actor): void {
  if (!actor.scopes.has('listings:write:any')) requireScope(actor, 'listings:write')
}

/**
 * Returns true if the token may write a listing of these owners (decisions 6). `isWritableListing` in
 * visibility.ts is the same rule as a condition of a query.
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
