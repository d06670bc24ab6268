import { LRUCache } from 'lru-cache'
import { fail } from '../errors/problem.js'
import { type Entity, isAdminEntity } from '../model/model.js'
import { getOrCreate, memoize, objectId } from '../query/memoize.js'

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
  /** Restricts what the actor can read. */
  readonly feed?: import('./feeds/feed.js').Feed
  /** Scopes of the token. Unknown scopes are stored and have no effect. */
  readonly scopes: ReadonlySet<string>
  readonly memberKey?: string
  readonly officeKey?: string
  readonly audience: Audience
  /** The registered client that the token was issued to. */
  readonly client?: string
  /** The subject of the token: the claim `sub`, else `client_id`. */
  readonly subject?: string
}

const MAX_READERS = 1000
const READERS = new LRUCache<string, Actor>({ max: MAX_READERS })

/**
 * Returns the same actor for all tokens with the same rights to read. Plans are cached by it, so they are shared
 * by these tokens, and remain when a token is verified again.
 */
export const readerOf = memoize(function readerOf(actor: Actor): Actor {
  const { feed, scopes, memberKey, officeKey, audience } = actor
  const rights = [feed && objectId(feed), audience, memberKey, officeKey, ...[...scopes].sort()]
  return getOrCreate(READERS, JSON.stringify(rights), () => actor)
})

/** The author of a change and the address of the request, as the audit log names them. */
export interface Writer {
  readonly actor: string
  readonly client?: string | undefined
  readonly subject?: string | undefined
  readonly member?: string | undefined
  readonly address?: string | undefined
}

/** The author of a change: of a request, or the name of an actor such as `command root`. */
export type Author = Writer | string

/** Returns the author of the changes of a request. */
export const writerOf = ({ client, subject, memberKey }: Actor, address?: string): Writer => ({
  actor: client !== undefined ? `client ${client}` : subject !== undefined ? `subject ${subject}` : 'token',
  client,
  subject,
  member: memberKey,
  address,
})

/** Refuses the request (403, ScopeMissing) unless the token has the scope. */
export function requireScope(actor: Actor, scope: TokenScope): void {
  if (!actor.scopes.has(scope)) fail({ kind: 'ScopeMissing', scope })
}

/** Refuses the request (403, ScopeMissing) unless the token has the scope for reading records of the entity. */
export const requireReadScope = (actor: Actor, of: Pick<Entity, 'table'>): void =>
  requireScope(actor, isAdminEntity(of) ? 'admin' : 'listings:read')

/** Refuses the request (403, ScopeMissing) unless the token has a scope for writing records of the entity. */
export function requireWriteScope(actor: Actor, of: Pick<Entity, 'table'> = {}): void {
  if (isAdminEntity(of)) requireScope(actor, 'admin')
  else if (!actor.scopes.has('listings:write:any')) requireScope(actor, 'listings:write')
}
