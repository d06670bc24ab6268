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

/** Refuses the request (403, ScopeMissing) unless the token has a scope for writing. */
export function requireWriteScope(actor: Actor): void {
  if (!actor.scopes.has('listings:write:any')) requireScope(actor, 'listings:write')
}
