import type { IncomingMessage, RequestListener } from 'node:http'
import express, { type ErrorRequestHandler, type Express, type Request, type Response } from 'express'
import type { Logger } from 'pino'
import { type Authorization, createAuthorization } from './authorization.js'
import type { Config } from './config/config.js'
import { type ChangeFeed, createChangeFeed } from './data/changes/change-feed.js'
import { type Database, openDatabase } from './data/database.js'
import { RESOURCES } from './errors/phrases.js'
import { type Problem, problemsOf } from './errors/problem.js'
import { frontPageLinks } from './front-page-links.js'
import { GRAPHIQL_PATH, serveGraphiQL } from './graphql/graphiql/graphiql.js'
import { createGraphQLEngine, GRAPHQL_PATH, serveGraphQL } from './graphql/transport/handler.js'
import { serveStreaming } from './graphql/transport/streaming.js'
import { baseUrl } from './http/base-url.js'
import { compressResponses } from './http/compress.js'
import { allowOrigins } from './http/cors.js'
import { renderFailure } from './http/errors.js'
import { createRequestResponseClasses, type RequestResponseClasses } from './http/express-prototypes.js'
import { serveFrontPage } from './http/front-page.js'
import { createPartLoggers, logRequests, logUpgrade } from './http/log.js'
import { type MetricsServer, serveMetrics } from './http/metrics/metrics-server.js'
import { ServiceMetrics } from './http/metrics/service-metrics.js'
import { createRateLimiter, limitRate } from './http/rate-limit/rate-limit.js'
import { closeWithProblem, createHttpServer, type LongLivedConnections } from './http/server.js'
import type { ReportStep } from './http/start-progress.js'
import { offerServerTiming } from './http/timing/server-timing.js'
import { ENTITIES } from './model/model.js'
import { createDatabaseListeners, createErrorReporter, createHealthHandler } from './observability.js'
import { ODATA_PATH } from './odata/protocol/request.js'
import { negotiateVersion } from './odata/protocol/version.js'
import { createODataHandlers } from './odata/router.js'
import { prepareDatabase } from './prepare-database.js'
import { createCursorSeal } from './query/cursor.js'
import { PlanCache } from './query/plan-cache.js'
import { ChangeService } from './service/changes.js'
import { DeltaService } from './service/deltas.js'
import { DigestService } from './service/digest.js'
import { ExportService } from './service/export.js'
import { createMetricSources } from './service/metric-sources.js'
import { ReadService } from './service/reading.js'
import type { WebhookSender } from './service/webhooks/sender.js'
import { WriteService } from './service/writing.js'
import { createWebhookSender } from './webhooks.js'

/** Dependencies of the application. */
export interface AppDependencies {
  readonly config: Config
  readonly database: Database
  readonly logger: Logger
  readonly isDraining: () => boolean
  /** Observes requests, if METRICS_PORT is set. */
  readonly metrics?: ServiceMetrics | undefined
  /** Executes GraphQL with graphql-js in place of our executor, for tests that compare both. */
  readonly useReferenceExecutor?: boolean
}

/** A running service. */
export interface RunningServer {
  readonly port: number
  /** The port of the metrics of this process. Undefined in a worker: its supervisor serves them. */
  readonly metricsPort: number | undefined
  /** Lets running requests finish, then closes the database. */
  close(): Promise<void>
}

/** Maximum nesting of $expand. No path of the model is longer unless it returns to an entity. */
const MAX_EXPAND_DEPTH = 8

/**
 * Opens and migrates the database, then starts to listen. If a step fails, everything opened so far is
 * closed.
 */
export async function startServer(
  config: Config,
  logger: Logger,
  reportStep: ReportStep,
): Promise<RunningServer> {
  reportStep(config.embedded ? 'Starting the embedded database' : 'Connecting to the database')
  const metrics = config.metricsPort === undefined ? undefined : new ServiceMetrics()
  const database = await openDatabase(config, 'service', createDatabaseListeners(config, logger, metrics))
  let metricsServer: MetricsServer | undefined
  try {
    await prepareDatabase(database, config, logger, reportStep)
    const app = createApp({ config, database, logger, metrics, isDraining: () => server.isDraining() })
    metricsServer = metrics && (await serveMetrics(metrics.registry, config))
    const server = createHttpServer(app.requestListener, config, app)
    const { port } = await server.listen()
    app.webhooks.start()
    const close = async (): Promise<void> => {
      await server.close()
      metricsServer?.close()
      await app.finish()
      await database.close()
    }
    return { port, metricsPort: metricsServer?.port, close }
  } catch (error) {
    metricsServer?.close()
    await database.close()
    throw error
  }
}

interface LifecycleParts extends Pick<Authorization, 'directory' | 'close'> {
  readonly config: Config
  readonly logger: Logger
  readonly longLived: LongLivedConnections
  readonly webhooks: WebhookSender
}

/** An application and its server options. */
export interface Application {
  readonly requestListener: RequestListener
  readonly messages: RequestResponseClasses
  readonly longLived: LongLivedConnections
  readonly webhooks: WebhookSender
  /** Writes pending data to the database, after the last request. */
  finish(): Promise<void>
}

/**
 * Creates the application. The order of `use` calls is the order in which handlers are tried. Express only
 * connects them: each adapter routes its own paths.
 */
export function createApp({
  config,
  database,
  logger,
  isDraining,
  metrics,
  useReferenceExecutor = false,
}: AppDependencies): Application {
  const reportError = createErrorReporter(logger, metrics)
  const authorization = createAuthorization(config, database, logger, reportError, metrics?.countRefusal)
  const app = express().disable('x-powered-by').enable('case sensitive routing')
  app.use(
    logRequests(logger, config, metrics?.createRequestObserver(ENTITIES.keys())),
    allowOrigins(config),
    compressResponses(config),
    offerServerTiming,
    createHealthHandler({ config, database, verifier: authorization.verifier, logger, isDraining }),
    authorization.oauth,
  )
  const services = createServices(config, database, metrics)
  const adapterDependencies = {
    ...services,
    ...authorization,
    config,
    report: reportError,
    ...createPartLoggers(logger),
    serviceRoot: (req: IncomingMessage) => `${baseUrl(req, config)}${ODATA_PATH}/`,
  }
  const meter = createRateLimiter(config)
  const rateLimiter = limitRate(config, authorization, meter)
  const engine = createGraphQLEngine({ ...services, config, usesGraphQLJs: useReferenceExecutor })
  const longLived = serveStreaming({ ...adapterDependencies, engine, meter, rejectUpgrade: closeWithProblem })
  const webhooks = createWebhookSender({ ...authorization, ...services, config, database, logger, metrics })
  for (const [path, handler] of createODataHandlers(adapterDependencies)) app.use(path, rateLimiter, handler)
  app.use(
    GRAPHQL_PATH,
    rateLimiter,
    longLived.handleEventStream,
    serveGraphQL({ ...adapterDependencies, engine }),
  )
  serveOtherPaths(app, config, reportError)
  return {
    requestListener: app,
    messages: createRequestResponseClasses(app),
    ...createLifecycle({ ...authorization, config, logger, longLived, webhooks }),
  }
}

/** Creates the functions that start and end an application. */
function createLifecycle({
  config,
  logger,
  longLived,
  webhooks,
  directory,
  close,
}: LifecycleParts): Pick<Application, 'longLived' | 'webhooks' | 'finish'> {
  return {
    longLived: {
      close: () => {
        longLived.close()
        webhooks.stop()
        directory.close()
      },
      upgrade: createUpgradeHandler(logger, config, longLived),
    },
    webhooks,
    finish: async () => {
      await webhooks.close(config.shutdownTimeoutMs)
      await close()
    },
  }
}

/** Serves the pages for developers, and answers all other requests and errors. */
function serveOtherPaths(
  app: Express,
  config: Config,
  reportError: ReturnType<typeof createErrorReporter>,
): void {
  if (config.graphiql) app.use(GRAPHIQL_PATH, serveGraphiQL())
  if (config.frontPage) app.get('/', serveFrontPage(frontPageLinks(config), config.publicUrl))
  app.use(sendNotFound, createErrorHandler(reportError))
}

/** Creates the handler of upgrade requests. Only the GraphQL endpoint accepts WebSockets. */
const createUpgradeHandler =
  (
    logger: Logger,
    config: Config,
    { upgrade }: Pick<LongLivedConnections, 'upgrade'>,
  ): LongLivedConnections['upgrade'] =>
  (req, socket, head) => {
    const [path = ''] = (req.url ?? '').split('?')
    logUpgrade(logger, req, config)
    if (path === GRAPHQL_PATH) upgrade(req, socket, head)
    else closeWithProblem(socket, { kind: 'NotFound', what: RESOURCES.resource(path) })
  }

/** Creates the services that both adapters use. They share one database and one set of limits. */
function createServices(
  config: Config,
  database: Database,
  metrics: ServiceMetrics | undefined,
): {
  readonly plans: PlanCache
  readonly reading: ReadService
  readonly deltas: DeltaService
  readonly exports: ExportService
  readonly digests: DigestService
  readonly writing: WriteService
  readonly changes: ChangeService
  readonly feed: ChangeFeed
} {
  const { pageSize, pageSizeMax, expandPageMax, topIsTotal, nonDisclosure, poolSize, poolWaitMs } = config
  const limits = { pageSize, pageSizeMax, expandPageMax, topIsTotal, expandDepth: MAX_EXPAND_DEPTH }
  const plans = new PlanCache()
  const dependencies = {
    database,
    plans,
    limits,
    policy: { nonDisclosure },
    seal: createCursorSeal(config.tokenKey),
    onRows: metrics && ((entity: string, count: number) => metrics.addRows(entity, count)),
  }
  const reading = new ReadService(dependencies)
  const feed = createChangeFeed(database)
  const changes = new ChangeService({ ...dependencies, feed, poolSize, poolWaitMs })
  metrics?.observe(createMetricSources(database, plans, changes))
  return {
    plans,
    reading,
    deltas: new DeltaService(dependencies),
    exports: new ExportService(dependencies),
    digests: new DigestService(dependencies),
    writing: new WriteService({ database, plans, reading, config }),
    changes,
    feed,
  }
}

/**
 * Answers requests that no adapter has handled. Every response has OData-Version, because OData clients read
 * it first.
 */
function sendProblemResponse(req: Request, res: Response, problem: Problem): void {
  const { status, headers, body } = renderFailure(problem)
  res.writeHead(status, { ...headers, 'OData-Version': negotiateVersion(req.headers) }).end(body)
}

const sendNotFound = (req: Request, res: Response): void =>
  sendProblemResponse(req, res, { kind: 'NotFound', what: RESOURCES.resource(req.path) })

/**
 * Creates the handler of errors that occur before an adapter. Express identifies an error handler by its four
 * parameters.
 */
const createErrorHandler =
  (reportError: (error: unknown, req: Request) => string): ErrorRequestHandler =>
  (error: unknown, req, res, _next) =>
    sendProblemResponse(req, res, problemsOf(error, fault => reportError(fault, req))[0])
