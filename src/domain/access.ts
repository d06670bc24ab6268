import { fail } from '../errors/problem.js'

export type Scope = 'listings:read' | 'listings:write' | 'listings:write:any' | 'admin'

/** Every scope that the service knows; none implies another. */
export const SCOPES: readonly Scope[] = ['listings:read', 'listings:write', 'listings:write:any', 'admin']

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
export function requireScope(actor: Actor, scope: Scope): void {
  if (!actor.scopes.has(scope)) fail({ kind: 'ScopeMissing', scope })
}
