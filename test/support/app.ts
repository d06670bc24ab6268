import { request } from 'node:http'
import { fileURLToPath } from 'node:url'
import { pino } from 'pino'
import { createApp } from '../../src/app.js'
import { type Config, readConfig } from '../../src/config/config.js'
import { importFile } from '../../src/data/import/import.js'
import { loadLookups } from '../../src/data/import/lookup-seed.js'
import { type Grant, signToken } from '../../src/http/auth/sign-token.js'
import { createHttpServer } from '../../src/http/server.js'
import { DATABASE_KINDS, type DatabaseKind, openTestDatabase, type TestDatabase } from './database.js'

export interface TestResponse {
  readonly status: number
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly text: string
  /** The content, if it is JSON. */
  readonly json: unknown
}

export interface RequestOptions {
  readonly method?: string | undefined
  /** A header that is null is not sent, including the default Authorization. */
  readonly headers?: Readonly<Record<string, string | null>> | undefined
  /** Sent as JSON. `rawBody` is sent unchanged. */
  readonly body?: unknown
  readonly rawBody?: string | undefined
}

/** A service with real HTTP on its own port and a real database. */
export interface TestApp {
  readonly base: string
  readonly config: Config
  readonly database: TestDatabase
  /**
   * Sends a request with the token of `grant`. The target is sent unchanged, except that blanks and non-ASCII
   * characters are encoded.
   */
  send(target: string, parts?: RequestOptions): Promise<TestResponse>
  tokenFor(grant?: Partial<Grant>): string
  close(): Promise<void>
}

export interface TestAppSettings {
  readonly kind?: DatabaseKind
  /** Environment variables, which override the defaults of tests. */
  readonly env?: Readonly<Record<string, string>>
  /** A file of records to import, in test/cases. */
  readonly fixture?: 'fixture.json' | 'fixture-large.json'
  readonly grant?: Partial<Grant>
  /** Receives the lines of the log instead of standard output. */
  readonly onLogLine?: (line: string) => void
}

export const FULL_GRANT: Grant = {
  scopes: ['listings:read', 'listings:write', 'listings:write:any'],
  audience: 'staff',
  expiresIn: 3600,
}
const DEFAULT_ENV = {
  JWT_SECRET: 'a secret of the tests, long enough for HS256',
  LOG_LEVEL: 'silent',
  PORT: '0',
}
/** Executes GraphQL with graphql-js. Both executors must pass the same tests. */
const USES_GRAPHQL_JS = process.env['TEST_EXECUTION'] === 'ordinary'
const CASES = new URL('../cases/', import.meta.url)

/** Starts the service. Close it after the tests. */
export async function startTestApp({
  kind = DATABASE_KINDS[0] ?? 'embedded',
  env = {},
  fixture,
  grant,
  onLogLine,
}: TestAppSettings = {}): Promise<TestApp> {
  const config = readConfig({ ...DEFAULT_ENV, ...env })
  const database = await openTestDatabase(kind, env['POOL_WAIT_MS'] ? { poolWaitMs: config.poolWaitMs } : {})
  await loadLookups(database)
  if (fixture) await importFile(database, fileURLToPath(new URL(fixture, CASES)))
  const app = createApp({
    config,
    database,
    logger: pino({ level: config.logLevel }, ...(onLogLine ? [{ write: onLogLine }] : [])),
    isDraining: () => server.isDraining(),
    useReferenceExecutor: USES_GRAPHQL_JS,
  })
  const server = createHttpServer(app.requestListener, config, app)
  const { port } = await server.listen()
  const base = `http://127.0.0.1:${port}`
  const tokenFor = (wanted: Partial<Grant> = {}) => {
    if (!config.jwtSecret) throw new Error('These settings have no secret to sign with')
    return signToken({ ...FULL_GRANT, ...wanted }, config.jwtSecret, config)
  }
  const authorization = `Bearer ${tokenFor(grant)}`
  const close = async () => {
    await server.close()
    await database.close()
  }
  return { base, config, database, send: createSender(base, authorization), tokenFor, close }
}

/** Creates a function that sends requests to a service, with this Authorization header by default. */
export const createSender =
  (base: string, authorization: string): TestApp['send'] =>
  (target, parts) =>
    sendRequest(base, target, withDefaults(authorization, parts))

function withDefaults(
  authorization: string,
  { headers, body, rawBody, ...parts }: RequestOptions = {},
): RequestOptions {
  const content = rawBody ?? (body === undefined ? undefined : JSON.stringify(body))
  const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
  // Node gives the content of a DELETE neither a length nor chunks.
  const length = content === undefined ? {} : { 'Content-Length': String(Buffer.byteLength(content)) }
  return {
    ...parts,
    headers: { Authorization: authorization, ...type, ...length, ...headers },
    rawBody: content,
  }
}

/** `node:http` instead of fetch, which rewrites URLs. Links of the service must be followed unchanged. */
function sendRequest(
  base: string,
  target: string,
  { method = 'GET', headers = {}, rawBody }: RequestOptions,
): Promise<TestResponse> {
  const url = target.startsWith(base) ? target.slice(base.length) : target
  const path = url.replace(/[^\x21-\x7e]+/gu, encodeURIComponent)
  const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) as Record<
    string,
    string
  > // nulls are gone
  return new Promise((resolve, reject) => {
    const req = request(base, { path, method, headers: sent, agent: false }, res => {
      const chunks: Buffer[] = []
      res.on('data', (chunk: Buffer) => chunks.push(chunk))
      res.on('end', () =>
        resolve(toTestResponse(res.statusCode ?? 0, res.headers, Buffer.concat(chunks).toString('utf8'))),
      )
    })
    req.on('error', reject)
    req.end(rawBody)
  })
}

function toTestResponse(
  status: number,
  headers: Readonly<Record<string, string | readonly string[] | undefined>>,
  text: string,
): TestResponse {
  const flat = Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  )
  const isJson =
    !flat['content-type']?.includes('ndjson') &&
    /json/.test(flat['content-type'] ?? '') &&
    flat['content-encoding'] === undefined &&
    text !== ''
  return { status, headers: flat, text, json: isJson ? JSON.parse(text) : undefined }
}
