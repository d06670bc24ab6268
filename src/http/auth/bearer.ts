import { createHmac, hash, randomBytes } from 'node:crypto'
import jwt from 'jsonwebtoken'
import { LRUCache } from 'lru-cache'
import type { Logger } from 'pino'
import type { Actor } from '../../domain/actor.js'
import type { Client } from '../../domain/clients/client.js'
import type { ClientDirectory } from '../../domain/clients/directory.js'
import { fail, ProblemError } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import {
  type AccessToken,
  isIssuedBy,
  type TokenIssuer,
  toClientActor,
  verifyAccessToken,
} from './access-token.js'
import { readBasicCredentials } from './basic.js'
import type { ClientAuthenticator } from './client-authenticator.js'
import { KeySet, type KeySetListeners } from './jwks.js'
import {
  decodeHeader,
  refusalReason,
  refuseToken,
  type VerifiedClaims,
  type VerifierSettings,
  verifyToken,
} from './verify-token.js'

export interface TokenVerifier {
  /**
   * Returns the actor for an `Authorization` header, and the time until which the result is valid. Tokens are
   * read from this header only, because URLs are written to logs.
   * @param address counts failed attempts of Basic authentication
   * @throws ProblemError TokenMissing, TokenRefused, TooManyRequests, or Unavailable 'keys' or 'clients'
   */
  authenticate(authorization: string | undefined, address?: string): Promise<VerifiedToken>
  /** Returns the actor for an `Authorization` header; see `authenticate`. */
  verify(authorization: string | undefined, address?: string): Promise<Actor>
  /** Returns the cached result of `authenticate`, if the token was verified before. */
  findCached(authorization: string | undefined): VerifiedToken | undefined
  /** Returns the registered client that a refused `Authorization` header names, for the log. */
  findClaimedClient(authorization: string | undefined): string | undefined
  /** Calls `listener` when the rights of clients may have changed. Returns a function that unsubscribes. */
  onClientChange(listener: () => void): () => void
}

/** Authentication of registered clients. */
export interface ClientAuthentication {
  readonly directory: ClientDirectory
  readonly authenticator: ClientAuthenticator
  /** Undefined if the service issues no tokens. */
  readonly issuer: TokenIssuer | undefined
}

/** A verified token, and the time until which it remains valid (ms since 1970). */
export interface VerifiedToken {
  readonly actor: Actor
  readonly validUntil: number
  /** Fingerprint that identifies the token in memory. */
  readonly name: string
  /**
   * The client that the token was issued to: `client_id`, else `sub`, else the token itself. The service
   * divides its connections among clients.
   */
  readonly clientId: string
  /** The claim `sub`. */
  readonly subject?: string
  /** The registered client, as it was when the token was verified. */
  readonly client?: Client
  /** The id and the signing key of an access token of the service. */
  readonly accessToken?: Pick<AccessToken, 'tokenId' | 'keyId'>
}

const MAX_CACHED_TOKENS = 10_000

const SILENT_LOGGER = { warn: () => undefined }

/**
 * Creates a token verifier. Verified tokens are cached until they expire or their keys are due for a refresh.
 */
export function createTokenVerifier(
  config: VerifierSettings,
  logger: Pick<Logger, 'warn'> = SILENT_LOGGER,
  clients?: ClientAuthentication,
): TokenVerifier {
  const fingerprint = createFingerprint()
  const cache = new LRUCache<string, VerifiedToken>({ max: MAX_CACHED_TOKENS })
  const keySet = createKeySet(config, {
    onChange: () => cache.clear(),
    onUnusable: keys => logger.warn({ keys }, 'unusable keys in JWKS_URL'),
  })
  function findCached(name: string): VerifiedToken | undefined {
    const cached = cache.get(name)
    return cached !== undefined && Date.now() < cached.validUntil && isCurrent(cached, clients)
      ? cached
      : undefined
  }
  async function verifyHeader(authorization: string, address: string): Promise<VerifiedClaims> {
    const credentials = config.basicAuth && clients ? readBasicCredentials(authorization) : undefined
    if (credentials && clients) return verifyBasic(credentials, address, clients)
    const token = readBearerToken(authorization)
    return clients?.issuer && !isShared(token, config) && isIssuedBy(token, clients.issuer)
      ? verifyClientToken(token, clients.issuer, clients.directory)
      : verifyToken(token, config, keySet, clients?.directory)
  }
  async function authenticate(authorization = '', address = ''): Promise<VerifiedToken> {
    const name = fingerprint(authorization)
    const cached = findCached(name)
    if (cached) return cached
    const { clientId = `token ${name}`, ...claims } = await verifyHeader(authorization, address)
    const verified = { ...claims, name, clientId }
    cache.set(name, verified)
    return verified
  }
  return {
    authenticate,
    verify: async (authorization, address) => (await authenticate(authorization, address)).actor,
    findCached: (authorization = '') => findCached(fingerprint(authorization)),
    findClaimedClient: authorization => clients && findClaimedClient(authorization, clients.directory),
    onClientChange: listener => clients?.directory.subscribe(listener) ?? (() => undefined),
  }
}

/**
 * Creates the function that computes the fingerprint of an `Authorization` header: an HMAC, since the header
 * may contain a secret.
 */
function createFingerprint(): (authorization: string) => string {
  const key = randomBytes(32)
  return authorization =>
    /^\s*basic\s/i.test(authorization)
      ? createHmac('sha256', key).update(authorization).digest('base64')
      : tokenFingerprint(findBearerToken(authorization) ?? '')
}

/** Only ids of registered clients are returned: other text in the header may be a secret. */
function findClaimedClient(
  authorization: string | undefined,
  directory: ClientDirectory,
): string | undefined {
  try {
    const token = findBearerToken(authorization)
    const claims = token === undefined ? null : jwt.decode(token, { json: true })
    const id: unknown =
      token === undefined ? readBasicCredentials(authorization)?.id : (claims?.['client_id'] ?? claims?.sub)
    return typeof id === 'string' ? directory.find(id)?.id : undefined
  } catch {
    return undefined
  }
}

/** Returns true unless the client of a token has changed, or the token was revoked or its key withdrawn. */
function isCurrent(
  { actor: { feed }, client, accessToken }: VerifiedToken,
  clients: ClientAuthentication | undefined,
): boolean {
  if (!clients) return true
  const { directory, issuer } = clients
  // Tokens of other issuers have a feed and no client.
  if (feed && directory.findFeed(feed.name) !== feed) return false
  if (!client) return true
  return (
    directory.find(client.id) === client &&
    (accessToken === undefined ||
      issuer === undefined ||
      (directory.findKey(accessToken.keyId) !== undefined &&
        !directory.isRevoked(issuer.issuer, accessToken.tokenId)))
  )
}

/** Tokens of `npm run token` may name the issuer of the service in JWT_ISSUER. */
const isShared = (token: string, { jwtSecret }: VerifierSettings): boolean =>
  jwtSecret !== undefined && decodeHeader(token)?.alg === 'HS256'

async function verifyBasic(
  { id, secret }: { readonly id: string; readonly secret: string },
  address: string,
  { authenticator, directory }: ClientAuthentication,
): Promise<VerifiedClaims> {
  const { client } = await authenticator.authenticate(id, secret, address)
  return {
    actor: toClientActor(client, directory),
    validUntil: client.expiresAt ?? Number.POSITIVE_INFINITY,
    clientId: `client_id ${client.id}`,
    client,
  }
}

async function verifyClientToken(
  token: string,
  issuer: TokenIssuer,
  directory: ClientDirectory,
): Promise<VerifiedClaims> {
  try {
    const { client, tokenId, keyId, scopes, validUntil } = await verifyAccessToken(token, issuer, directory)
    return {
      actor: toClientActor(client, directory, scopes),
      validUntil,
      clientId: `client_id ${client.id}`,
      client,
      accessToken: { tokenId, keyId },
    }
  } catch (error) {
    if (error instanceof ProblemError) throw error
    return refuseToken(error instanceof jwt.JsonWebTokenError ? refusalReason(error) : REASONS.tokenMalformed)
  }
}

function createKeySet(config: VerifierSettings, listeners: KeySetListeners): KeySet | undefined {
  const { jwksUrl, jwksMaxAgeMs, jwksCooldownMs, jwksTimeoutMs } = config
  return jwksUrl === undefined
    ? undefined
    : new KeySet(
        { url: jwksUrl, maxAgeMs: jwksMaxAgeMs, cooldownMs: jwksCooldownMs, timeoutMs: jwksTimeoutMs },
        listeners,
      )
}

/** Returns the fingerprint that identifies a token in memory. The token itself is not stored. */
const tokenFingerprint = (token: string): string => hash('sha256', token, 'base64')

/**
 * Returns the token of an `Authorization` header. The scheme is case-insensitive, and spaces around the token
 * are allowed (RFC 9110, 11.4).
 * @throws ProblemError TokenMissing, also for another scheme
 */
const readBearerToken = (authorization: string | undefined): string =>
  findBearerToken(authorization) ?? fail({ kind: 'TokenMissing' })

const findBearerToken = (authorization = ''): string | undefined =>
  /^\s*bearer(?:\s+(.*))?$/i.exec(authorization)?.[1]?.trim() || undefined
