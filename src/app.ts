import type { IncomingMessage, RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type Request, type Response } from 'express'
import type { Logger } from 'pino'
import type { Config } from './config/config.js'
import { createChangeFeed } from './data/changes/change-feed.js'
import { type Database, openDatabase } from './data/database.js'
import { loadLookups } from './data/import/lookup-seed.js'
import { isMigrated, migrate, readMigrations } from './data/migrate.js'
import { type Problem, ProblemError, problemsOf } from './errors/problem.js'
import { GRAPHIQL_PATH, serveGraphiQL } from './graphql/graphiql/graphiql.js'
import { createEngine, GRAPHQL_PATH, SDL_PATH, serveGraphQL } from './graphql/transport/handler.js'
import { serveLongLived } from './graphql/transport/streaming.js'
import { createVerifier } from './http/auth/bearer.js'
import { compressAnswers } from './http/compress.js'
import { allowOrigins } from './http/cors.js'
import { renderFailure } from './http/errors.js'
import { type Messages, messagesOf } from './http/express-prototypes.js'
import { type Signpost, showFrontPage } from './http/front-page.js'
import { answerHealth } from './http/health.js'
import { logRequests, logUpgrade, noteReason, requestId } from './http/log.js'
import { createMeter, limitRate } from './http/ratelimit.js'
import { createHttpServer, type LongLived, refuse } from './http/server.js'
import { ODATA_PATH } from './odata/protocol/request.js'
import { versionFor } from './odata/protocol/version.js'
import { serveOData } from './odata/router.js'
import { createCursorSeal } from './query/cursor.js'
import { fillSample } from './sample/fill.js'
import { Following } from './service/changes.js'
import { Reading } from './service/reading.js'
import { Writing } from './service/writing.js'

/** What the application is made of. */
export interface AppParts {
  readonly config: Config
  readonly database: Database
  readonly logger: Logger
  readonly isDraining: () => boolean
  /** GraphQL without our executor: for tests that compare. */
  readonly isOrdinary?: boolean
}

/** The service while it runs. */
export interface RunningService {
  readonly port: number
  /** Lets running requests finish, then closes the database. */
  close(): Promise<void>
}

/** Levels of $expand in $expand: more than the model has ways to go on without turning back. */
const EXPAND_LEVELS = 8
/** Listings of the sample market at the first start. */
const SAMPLE_LISTINGS = 500

/** What the page at / leads to. */
const signposts = ({ introspection, graphiql }: Config): readonly Signpost[] => [
  { path: ODATA_PATH, about: 'OData 4.01, the service document' },
  { path: `${ODATA_PATH}/$metadata`, about: 'the model, as XML or JSON' },
  { path: GRAPHQL_PATH, about: 'GraphQL' },
  ...(introspection ? [{ path: `${GRAPHQL_PATH}${SDL_PATH}`, about: 'its schema, as text' }] : []),
  ...(graphiql ? [{ path: GRAPHIQL_PATH, about: 'GraphiQL, to write and run queries in the browser' }] : []),
  { path: '/health/ready', about: 'whether the service can answer' },
]

/** Opens and prepares the database, then listens. If anything fails, what was opened is closed again. */
export async function startService(config: Config, logger: Logger): Promise<RunningService> {
  const database = await openDatabase(config, 'service')
  try {
    await migrate(database)
    await loadLookups(database)
    if (config.sampleData) await fillSample(database, SAMPLE_LISTINGS)
    const app = createApp({ config, database, logger, isDraining: () => server.isDraining() })
    const server = createHttpServer(app.serve, config, app)
    const { port } = await server.listen()
    return { port, close: () => server.close().then(() => database.close()) }
  } catch (error) {
    await database.close()
    throw error
  }
}

/** What a server is given to serve. */
export interface Application {
  readonly serve: RequestListener
  readonly messages: Messages
  readonly longLived: LongLived
}

/**
 * Everything that is answered, in the order in which it is tried. Express only carries it: each adapter reads
 * its own paths.
 */
export function createApp({
  config,
  database,
  logger,
  isDraining,
  isOrdinary = false,
}: AppParts): Application {
  const verifier = createVerifier(config)
  const report = (error: unknown, req: IncomingMessage): string => {
    if (error instanceof ProblemError) noteReason(req, error)
    else logger.error({ id: requestId(req), err: error }, 'fault')
    return requestId(req)
  }
  const app = express().disable('x-powered-by').enable('case sensitive routing')
  app.use(logRequests(logger), allowOrigins(config), compressAnswers(config))
  // Those of this process: newer ones that are put beside it are for the next start.
  const migrations = readMigrations()
  app.use(
    answerHealth({
      isReady: async () => (await database.isReady()) && (await isMigrated(database, await migrations)),
      isDraining,
    }),
  )
  const port = createPort(config, database)
  const parts = { ...port, config, verifier, report }
  const meter = createMeter(config)
  const limit = limitRate(config, verifier, meter)
  const engine = createEngine({ ...port, config, isOrdinary })
  const longLived = serveLongLived({ ...parts, engine, meter, refuse })
  app.use(ODATA_PATH, limit, serveOData(parts))
  app.use(GRAPHQL_PATH, limit, longLived.streamEvents, serveGraphQL({ ...parts, engine }))
  if (config.graphiql) app.use(GRAPHIQL_PATH, serveGraphiQL())
  if (config.frontPage) app.get('/', showFrontPage(signposts(config), config.publicUrl))
  app.use((req, res) => answerProblem(req, res, { kind: 'NotFound', what: `resource ${req.path}` }))
  app.use(answerFault(report))
  return {
    serve: app,
    messages: messagesOf(app),
    longLived: { close: () => longLived.close(), upgrade: upgradeWith(logger, longLived) },
  }
}

/** WebSockets are only where GraphQL is. */
const upgradeWith =
  (logger: Logger, { upgrade }: Pick<LongLived, 'upgrade'>): LongLived['upgrade'] =>
  (req, socket, head) => {
    const [path = ''] = (req.url ?? '').split('?')
    logUpgrade(logger, req)
    if (path === GRAPHQL_PATH) upgrade(req, socket, head)
    else refuse(socket, { kind: 'NotFound', what: `resource ${path}` })
  }

/** The one port of the adapters: its three parts rest on the same. */
function createPort(
  config: Config,
  database: Database,
): { readonly reading: Reading; readonly writing: Writing; readonly following: Following } {
  const { pageSize, pageSizeMax, expandPageMax, topIsTotal, nonDisclosure, poolSize } = config
  const limits = { pageSize, pageSizeMax, expandPageMax, topIsTotal, expandDepth: EXPAND_LEVELS }
  const parts = { database, limits, policy: { nonDisclosure }, seal: createCursorSeal(config.tokenKey) }
  const reading = new Reading(parts)
  return {
    reading,
    writing: new Writing({ database, reading, config }),
    following: new Following({ ...parts, feed: createChangeFeed(database), poolSize }),
  }
}

/** What no adapter has answered. Clients of OData look at its version first, on every answer. */
function answerProblem(req: Request, res: Response, problem: Problem): void {
  const { status, headers, body } = renderFailure(problem)
  res.writeHead(status, { ...headers, 'OData-Version': versionFor(req.headers) }).end(body)
}

/** What fails before an adapter is reached. Express knows an error handler by its four parameters. */
const answerFault =
  (report: (error: unknown, req: Request) => string): ErrorRequestHandler =>
  (error: unknown, req, res, _next) =>
    answerProblem(req, res, problemsOf(error, fault => report(fault, req))[0])
