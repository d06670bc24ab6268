import jwt, { type JwtPayload } from 'jsonwebtoken'
import type { Actor } from '../../domain/actor.js'
import { type Client, isActive } from '../../domain/clients/client.js'
import type { ClientDirectory, SigningKey } from '../../domain/clients/directory.js'
import type { Feed } from '../../domain/feeds/feed.js'
import type { Phrase } from '../../errors/phrase.js'
import { ProblemError } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'

/** Algorithm of access tokens. */
export const ACCESS_TOKEN_ALGORITHM = 'ES256'
/** Media type of access tokens (RFC 9068, 2.1). */
export const ACCESS_TOKEN_TYPE = 'at+jwt'

/** Minimum time between two reads of the keys caused by an unknown key. */
const KEY_REFRESH_MS = 50

/** The issuer of access tokens for registered clients. */
export interface TokenIssuer {
  readonly issuer: string
  /** Values of `aud` that this service accepts. The first one is the default. */
  readonly audiences: readonly string[]
}

/** An access token of an active client. */
export interface AccessToken {
  readonly client: Client
  readonly tokenId: string
  readonly keyId: string
  readonly scopes: readonly string[]
  readonly claims: JwtPayload
  /** ms since 1970. */
  readonly validUntil: number
}

/** Returns the audiences of an issuer: JWT_AUDIENCE or the issuer, and the addresses of both adapters. */
export function createTokenIssuer(issuer: string, jwtAudience: string | undefined): TokenIssuer {
  return { issuer, audiences: [jwtAudience ?? issuer, `${issuer}/odata`, `${issuer}/graphql`] }
}

/** Returns true for a token that names this issuer. Its signature is not checked. */
export function isIssuedBy(token: string, { issuer }: TokenIssuer): boolean {
  const payload = jwt.decode(token)
  return typeof payload === 'object' && payload?.iss === issuer
}

/**
 * Verifies an access token of the service. Only the service's own keys and the type `at+jwt` are accepted.
 * Other tokens signed with these keys, and assertions signed by clients, are therefore not access tokens.
 * @throws ProblemError TokenRefused, Unavailable 'clients'
 */
export async function verifyAccessToken(
  token: string,
  { issuer, audiences }: TokenIssuer,
  directory: ClientDirectory,
): Promise<AccessToken> {
  await directory.ready()
  const header = jwt.decode(token, { complete: true })?.header
  if (!/^(application\/)?at\+jwt$/i.test(header?.typ ?? '')) refuse(REASONS.tokenTypeNotAccess)
  const { id: keyId, publicKey } = await findKey(header?.kid, directory)
  const claims = jwt.verify(token, publicKey, {
    algorithms: [ACCESS_TOKEN_ALGORITHM],
    issuer,
    audience: [audiences[0] ?? issuer, ...audiences.slice(1)],
  })
  if (typeof claims === 'string' || !claims.jti || !claims.exp || typeof claims['client_id'] !== 'string')
    return refuse(REASONS.tokenWithoutClaims)
  if (directory.isRevoked(issuer, claims.jti)) refuse(REASONS.tokenRevoked)
  const client = directory.find(claims['client_id'])
  if (!client || !isActive(client)) return refuse(REASONS.clientNotActive)
  return {
    client,
    claims,
    tokenId: claims.jti,
    keyId,
    scopes: String(claims['scope'] ?? '').split(' '),
    validUntil: Math.min(claims.exp * 1000, client.expiresAt ?? Number.POSITIVE_INFINITY),
  }
}

/** Another process may have added the key a moment ago. */
async function findKey(kid: string | undefined, directory: ClientDirectory): Promise<SigningKey> {
  if (kid === undefined) return refuse(REASONS.tokenKeyUnknown)
  if (!directory.findKey(kid)) await directory.refresh(KEY_REFRESH_MS).catch(() => undefined)
  return directory.findKey(kid) ?? refuse(REASONS.tokenKeyUnknown)
}

/**
 * Returns the actor of a client with its current rights. A token can reduce the scopes of the stored client,
 * but not extend them.
 */
export function toClientActor(
  client: Client,
  directory: Pick<ClientDirectory, 'findFeed'>,
  scopes: readonly string[] = client.scopes,
): Actor {
  const { audience, memberKey, officeKey } = client
  const feed = client.feed === undefined ? undefined : findFeed(client.feed, directory)
  return Object.freeze({
    scopes: new Set(client.scopes.filter(scope => scopes.includes(scope))),
    audience,
    client: client.id,
    subject: client.id,
    ...(memberKey !== undefined && { memberKey }),
    ...(officeKey !== undefined && { officeKey }),
    ...(feed && { feed }),
  })
}

/**
 * Returns the feed with a name.
 * @throws ProblemError TokenRefused for a feed that does not exist, was removed, or cannot be used
 */
const findFeed = (name: string, directory: Pick<ClientDirectory, 'findFeed'>): Feed =>
  directory.findFeed(name) ?? refuse(REASONS.clientFeedUnknown)

/**
 * Returns an actor with the feed that the token of another issuer names. Without the claim, the actor has no
 * feed. A claim that names no existing feed is refused.
 * @throws ProblemError TokenRefused, Unavailable 'clients'
 */
export async function withFeedOfClaim(
  actor: Actor,
  claim: unknown,
  directory: Pick<ClientDirectory, 'findFeed' | 'ready'> | undefined,
): Promise<Actor> {
  if (claim === undefined) return actor
  if (typeof claim !== 'string' || !directory) return refuse(REASONS.clientFeedUnknown)
  await directory.ready()
  return Object.freeze({ ...actor, feed: findFeed(claim, directory) })
}

/** Returns true if two actors have the same rights. */
export const hasSameRights = (a: Actor, b: Actor): boolean =>
  a.audience === b.audience &&
  a.memberKey === b.memberKey &&
  a.officeKey === b.officeKey &&
  a.feed === b.feed &&
  a.scopes.size === b.scopes.size &&
  [...a.scopes].every(scope => b.scopes.has(scope))

const refuse = (reason: Phrase): never => {
  throw new ProblemError({ kind: 'TokenRefused', reason })
}
