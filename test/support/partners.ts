import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import type { Database } from '../../src/data/database.js'
import { ClientService, type NewClient } from '../../src/service/clients/clients.js'
import { startTestApp, type TestApp, type TestAppSettings, type TestResponse } from './app.js'

/** A client with its secret. */
export interface TestClient {
  readonly id: string
  readonly secret: string
}

/** A service that issues tokens. */
export interface PartnerApp extends TestApp {
  readonly issuer: string
  readonly clients: ClientService
  /** Adds a client that reads, as staff. */
  addClient(values?: Partial<NewClient>): Promise<TestClient>
  /** Posts a form to an endpoint of the authorization server. */
  post(
    endpoint: 'token' | 'revoke' | 'introspect',
    form: Readonly<Record<string, string>> | string,
    headers?: Readonly<Record<string, string | null>>,
  ): Promise<TestResponse>
  /** Returns a new access token of a client. */
  tokenOf(client: TestClient, form?: Readonly<Record<string, string>>): Promise<string>
}

export const READING_CLIENT = { Scopes: ['listings:read'], AudienceClass: 'staff' } as const
export const basic = ({ id, secret }: TestClient): string =>
  `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`

/** Returns the random part of a secret, after its id. It may contain `_`. */
export const randomPartOf = (secret: string): string => secret.slice(secret.indexOf('_') + 1)

export const clientServiceOf = (database: Pick<Database, 'withClient'>): ClientService =>
  new ClientService(database, 'test')

/** A separate address for each request, so that failures of one test are not counted for another. */
export const randomAddress = () => `10.${randomInt(256)}.${randomInt(256)}.${randomInt(256)}`

/** Returns a port on which no program listens. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Starts a service whose PUBLIC_URL is its own address, or `env.PUBLIC_URL`. */
export async function startPartnerApp({ env = {}, ...settings }: TestAppSettings = {}): Promise<PartnerApp> {
  const port = await freePort()
  const issuer = env['PUBLIC_URL'] ?? `http://127.0.0.1:${port}`
  const app = await startTestApp({
    ...settings,
    env: { PORT: String(port), PUBLIC_URL: issuer, TRUST_PROXY: 'true', ...env },
  })
  const clients = clientServiceOf(app.database)
  const post: PartnerApp['post'] = (endpoint, form, headers = {}) =>
    app.send(`/oauth/${endpoint}`, {
      method: 'POST',
      headers: {
        Authorization: null,
        'X-Forwarded-For': randomAddress(),
        'Content-Type': 'application/x-www-form-urlencoded',
        ...headers,
      },
      rawBody: typeof form === 'string' ? form : new URLSearchParams(form).toString(),
    })
  return {
    ...app,
    issuer,
    clients,
    post,
    async addClient(values = {}) {
      const { client, secret } = await clients.add({ Name: 'Partner', ...READING_CLIENT, ...values })
      const added = { id: client.ClientId, secret }
      await waitUntilKnown(app, added)
      return added
    },
    async tokenOf(client, form = {}) {
      const answer = await post(
        'token',
        { grant_type: 'client_credentials', ...form },
        { Authorization: basic(client) },
      )
      if (answer.status !== 200) throw new Error(answer.text)
      return (answer.json as { readonly access_token: string }).access_token
    },
  }
}

/** A new client is known to the service after two seconds at most. */
async function waitUntilKnown(app: TestApp, client: TestClient): Promise<void> {
  const until = Date.now() + 30_000
  while (Date.now() < until) {
    const headers = { Authorization: basic(client), 'X-Forwarded-For': randomAddress() }
    if ((await app.send('/odata/', { headers })).status !== 401) return
    await new Promise(resolve => setTimeout(resolve, 50))
  }
  throw new Error('The service does not know a new client')
}

/** Signs with a new key, and returns the public key beside. */
export async function createSigner() {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const sign = (claims: JWTPayload, header: Readonly<Record<string, string>> = {}) =>
    new SignJWT(claims).setProtectedHeader({ alg: 'ES256', ...header }).sign(privateKey)
  return { publicKey, sign }
}
