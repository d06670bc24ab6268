import type { IncomingMessage, RequestListener } from 'node:http'
import express, {
  type ErrorRequestHandler,
  type Express,
  type Request,
  type RequestHandler,
  type Response,
} from 'express'
import type { Logger } from 'pino'
import { type Authentication, createAuthentication } from './authentication.js'
import type { Config } from './config/config.js'
import { type Database, databaseNameOf, openDatabase } from './data/database.js'
import { RESOURCES } from './errors/phrases.js'
import { type Problem, problemsOf } from './errors/problem.js'
import { frontPageLinks } from './front-page-links.js'
import { GRAPHIQL_PATH, serveGraphiQL } from './graphql/graphiql/graphiql.js'
import {
  ADMIN_GRAPHQL,
  createGraphQLEngine,
  GRAPHQL_PATH,
  LISTING_GRAPHQL,
  serveGraphQL,
} from './graphql/transport/handler.js'
import { serveStreaming } from './graphql/transport/streaming.js'
import { verifiedTokenOf } from './http/auth/authenticate-request.js'
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
import { openTracing, type Tracing } from './http/tracing/tracing.js'
import { ADMIN_MODEL, LISTING_MODEL } from './model/model.js'
import { createDatabaseListeners, createErrorReporter, createHealthHandler } from './observability.js'
import { ODATA_PATH } from './odata/protocol/request.js'
import { negotiateVersion } from './odata/protocol/version.js'
import { createODataHandlers } from './odata/router.js'
import { prepareDatabase } from './prepare-database.js'
import type { WebhookSender } from './service/webhooks/sender.js'
import { createServices } from './services.js'
import { createWebhookSender } from './webhook-sender.js'

/** Dependencies of the application. */
export interface AppDependencies {
  readonly config: Config
  readonly database: Database
  readonly logger: Logger
  readonly isDraining: () => boolean
  /** Observes requests, if METRICS_PORT is set. */
  readonly metrics?: ServiceMetrics | undefined
  /** Traces requests, if the variables of OpenTelemetry ask for it. */
  readonly tracing?: Tracing | undefined
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

/** The entity sets that metrics and traces name. */
const ENTITY_SETS = {
  listings: [...LISTING_MODEL.entities.keys()],
  administration: [...ADMIN_MODEL.entities.keys()],
}

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
  const metrics = config.metricsPort === undefined ? undefined : new ServiceMetrics(config)
  const database = await openDatabase(config, 'service', createDatabaseListeners(config, logger, metrics))
  let metricsServer: MetricsServer | undefined
  let tracing: Tracing | undefined
  try {
    await prepareDatabase(database, config, logger, reportStep)
    tracing = await openTracing(process.env, {
      databaseName: databaseNameOf(database),
      entitySets: ENTITY_SETS,
      https: config.https,
      logger,
    })
    const app = createApp({
      config,
      database,
      logger,
      metrics,
      tracing,
      isDraining: () => server.isDraining(),
    })
    metricsServer = metrics && (await serveMetrics(metrics.registry, config))
    const server = createHttpServer(app.requestListener, config, app)
    const { port } = await server.listen()
    app.webhooks.start()
    const close = async (): Promise<void> => {
      await server.close()
      metricsServer?.close()
      await app.finish()
      await tracing?.close()
      await database.close()
    }
    return { port, metricsPort: metricsServer?.port, close }
  } catch (error) {
    metricsServer?.close()
    await tracing?.close()
    await database.close()
    throw error
  }
}

interface LifecycleDependencies extends Pick<Authentication, 'directory' | 'close'> {
  readonly config: Config
  readonly logger: Logger
  readonly longLived: LongLivedConnections
  readonly webhooks: WebhookSender
  readonly tracing: Tracing | undefined
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
export function createApp(dependencies: AppDependencies): Application {
  const { config, database, logger, metrics, tracing } = dependencies
  const reportError = createErrorReporter(logger, metrics)
  const authentication = createAuthentication(config, database, logger, reportError, metrics?.countRefusal)
  const app = express().disable('x-powered-by').enable('case sensitive routing')
  app.use(
    ...createRequestObservers(dependencies),
    allowOrigins(config),
    compressResponses(config),
    offerServerTiming,
    createHealthHandler({ ...dependencies, verifier: authentication.verifier }),
    authentication.oauth,
  )
  const services = createServices(config, database, metrics)
  const adapterDependencies = {
    ...services,
    ...authentication,
    config,
    report: reportError,
    ...createPartLoggers(logger),
    serviceRoot: (req: IncomingMessage) => `${baseUrl(req, config)}${ODATA_PATH}/`,
    usesGraphQLJs: dependencies.useReferenceExecutor ?? false,
  }
  const meter = createRateLimiter(config)
  const rateLimiter = limitRate(config, authentication, meter)
  const listings = { ...adapterDependencies, service: LISTING_GRAPHQL }
  const engine = createGraphQLEngine(listings)
  const longLived = serveStreaming({ ...adapterDependencies, engine, meter, rejectUpgrade: closeWithProblem })
  const webhooks = createWebhookSender({ ...authentication, ...services, ...dependencies })
  for (const [path, handler] of createODataHandlers(adapterDependencies)) app.use(path, rateLimiter, handler)
  app.use(GRAPHQL_PATH, rateLimiter, longLived.handleEventStream, serveGraphQL({ ...listings, engine }))
  app.use(ADMIN_GRAPHQL.path, rateLimiter, serveGraphQL({ ...adapterDependencies, service: ADMIN_GRAPHQL }))
  serveOtherPaths(app, config, reportError)
  return {
    requestListener: app,
    messages: createRequestResponseClasses(app),
    ...createLifecycle({ ...authentication, config, logger, longLived, webhooks, tracing }),
  }
}

/** Creates the handlers that log, measure and trace requests, and pass them on. */
const createRequestObservers = ({
  logger,
  config,
  metrics,
  tracing,
}: AppDependencies): readonly RequestHandler[] => {
  const observe = metrics?.createRequestObserver(ENTITY_SETS)
  return [
    logRequests(logger, config, observe && ((request, req) => observe(request, verifiedTokenOf(req)))),
    ...(tracing ? [tracing.traceRequest] : []),
  ]
}

/** Creates the functions that start and end an application. */
function createLifecycle({
  config,
  logger,
  longLived,
  webhooks,
  tracing,
  directory,
  close,
}: LifecycleDependencies): Pick<Application, 'longLived' | 'webhooks' | 'finish'> {
  return {
    longLived: {
      close: () => {
        longLived.close()
        webhooks.stop()
        directory.close()
      },
      upgrade: createUpgradeHandler(logger, config, longLived, tracing),
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
    tracing: Tracing | undefined,
  ): LongLivedConnections['upgrade'] =>
  (req, socket, head) => {
    const [path = ''] = (req.url ?? '').split('?')
    logUpgrade(logger, req, config)
    tracing?.traceConnection(req)
    if (path === GRAPHQL_PATH) upgrade(req, socket, head)
    else closeWithProblem(socket, { kind: 'NotFound', what: RESOURCES.resource(path) })
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
