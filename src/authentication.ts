import type { IncomingMessage } from 'node:http'
import type { RequestHandler } from 'express'
import type { Logger } from 'pino'
import type { Config } from './config/config.js'
import { insertRevokedToken, insertUsedAssertion } from './data/clients/token-store.js'
import type { Database } from './data/database.js'
import { SCOPES } from './domain/actor.js'
import { createTokenIssuer } from './http/auth/access-token.js'
import { type ClientAuthentication, createTokenVerifier, type TokenVerifier } from './http/auth/bearer.js'
import { ClientAuthenticator } from './http/auth/client-authenticator.js'
import { createOAuthRouter } from './oauth/router.js'
import { DatabaseClientDirectory } from './service/clients/directory.js'
import { SigningKeyService } from './service/clients/signing-keys.js'
import { UsageRecorder } from './service/clients/usage-recorder.js'
import { LimitService, type LimitServiceDependencies } from './service/limits/limit-service.js'

type RequestErrorReporter = (error: unknown, req: IncomingMessage) => string

/** The parts of an application that authenticate requests. */
export interface Authentication {
  readonly verifier: TokenVerifier
  /** The endpoints of the authorization server. */
  readonly oauth: RequestHandler
  readonly directory: DatabaseClientDirectory
  readonly limits: LimitService
  /** Writes what is not in the database yet, after the last request. */
  close(): Promise<void>
}

/** Creates the verifier of tokens, and the authorization server for the clients of the database. */
export function createAuthentication(
  config: Config,
  database: Database,
  logger: Logger,
  report: RequestErrorReporter,
  onRefusal: LimitServiceDependencies['onRefusal'],
): Authentication {
  const usage = new UsageRecorder(database)
  const clients = createClientAuthentication(config, database, usage)
  const limits = new LimitService({ database, directory: clients.directory, usage, onRefusal })
  return {
    verifier: createTokenVerifier(config, logger, clients),
    oauth: createOAuth(config, database, clients, report),
    directory: clients.directory.start(logger),
    limits,
    close: async () => {
      await limits.close()
      await usage.close()
    },
  }
}

/**
 * Creates the authentication of clients. Without PUBLIC_URL the issuer is this machine, and in production there is none:
 * the host of a request does not name it.
 */
function createClientAuthentication(
  { publicUrl, production, port, jwtAudience }: Config,
  database: Database,
  usage: UsageRecorder,
): ClientAuthentication & { readonly directory: DatabaseClientDirectory } {
  const directory = new DatabaseClientDirectory(database)
  const issuer = publicUrl ?? (production ? undefined : `http://localhost:${port}`)
  return {
    directory,
    authenticator: new ClientAuthenticator(directory, id => usage.noteSecret(id)),
    issuer: issuer === undefined ? undefined : createTokenIssuer(issuer, jwtAudience),
  }
}

/** Creates the authorization server, if there is an issuer. */
function createOAuth(
  { accessTokenSeconds, signingKeyEncryption, trustProxy }: Config,
  database: Database,
  { directory, authenticator, issuer }: ClientAuthentication,
  report: RequestErrorReporter,
): RequestHandler {
  if (!issuer) return (_req, _res, next) => next()
  const keys = new SigningKeyService({
    database,
    directory,
    encryptionKey: signingKeyEncryption,
    tokenLifetimeMs: accessTokenSeconds * 1000,
  })
  return createOAuthRouter({
    issuer,
    directory,
    authenticator,
    accessTokenSeconds,
    trustProxy,
    report,
    scopes: SCOPES,
    currentKey: () => keys.current(),
    publishedKeys: () => keys.published(),
    recordAssertion: use => insertUsedAssertion(database, use),
    revokeToken: token => insertRevokedToken(database, token),
  })
}
