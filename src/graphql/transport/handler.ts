import type { ErrorRequestHandler, Request, RequestHandler } from 'express'
import type { GraphQLSchema } from 'graphql'
import type { Config } from '../../config/config.js'
import { fail } from '../../errors/problem.js'
import type { Verifier } from '../../http/auth/bearer.js'
import type { GraphQLContext } from '../context.js'
import { createExecutor, type Executor } from '../execute/executor.js'
import type { Port } from '../execute/root-field.js'
import type { CostLimits } from '../limits/cost.js'
import { createScreen, type ShapeLimits } from '../limits/document-limits.js'
import { createSchema, renderSdl } from '../schema/sdl.js'
import { createApollo } from './apollo.js'
import {
  type Answer,
  checkMethod,
  documentIn,
  type Report,
  readRequest,
  toAnswer,
  toHandlers,
} from './http.js'
/** Where the service speaks GraphQL. */
export const GRAPHQL_PATH = '/graphql'
/** Below it: the schema as text. */
export const SDL_PATH = '/schema.graphql'

/** What executes operations, wherever they come from. */
export interface Engine {
  readonly sdl: string
  readonly schema: GraphQLSchema
  readonly executor: Executor
  /** Refuses documents that would cost too much to validate. */
  readonly screen: (text: string) => void
  readonly limits: Port['limits']
}

/** What an engine is made of. */
export interface EngineParts extends Pick<Port, 'reading' | 'writing'> {
  readonly config: ShapeLimits & Pick<Config, 'maxList'>
  /** Operations go field by field through graphql-js, which ours is measured by. */
  readonly isOrdinary?: boolean
}

/** Schema, executor and limits of documents: one for all transports, so that all know the same documents. */
export function createEngine({ reading, writing, config, isOrdinary = false }: EngineParts): Engine {
  const sdl = renderSdl()
  const schema = createSchema(sdl)
  const limits = { depth: config.maxDepth, nodes: config.maxNodes, list: config.maxList }
  return {
    sdl,
    schema,
    executor: createExecutor({ schema, port: { reading, writing, limits }, isOrdinary }),
    screen: createScreen(config),
    limits,
  }
}

/** What the adapter is made of. */
export interface GraphQLParts extends EngineParts {
  readonly config: EngineParts['config'] &
    CostLimits &
    Pick<Config, 'introspection' | 'maxQueryLength' | 'maxBodyBytes'>
  readonly verifier: Pick<Verifier, 'verify'>
  readonly report: Report
  readonly engine?: Engine
}

/** Answers every request below GRAPHQL_PATH: operations, and the schema as text. */
export function serveGraphQL({
  config,
  verifier,
  report,
  engine,
  ...parts
}: GraphQLParts): [RequestHandler, ErrorRequestHandler] {
  const { sdl, schema, executor, screen } = engine ?? createEngine({ ...parts, config })
  const apollo = createApollo({ schema, executor, config })
  apollo.startInBackgroundHandlingStartupErrorsByLoggingAndFailingAllRequests()

  /** The order of the checks is that of what they tell: without a token nobody learns what there is. */
  async function respond(req: Request): Promise<Answer> {
    const actor = await verifier.verify(req.headers.authorization)
    if (req.path === SDL_PATH && config.introspection) return answerSdl(req, sdl)
    if (req.path !== '/') fail({ kind: 'NotFound', what: `resource ${GRAPHQL_PATH}${req.path}` })
    const request = await readRequest(req, config)
    const context: GraphQLContext = { actor, report: error => report(error, req) }
    const text = documentIn(request)
    if (text !== undefined) screen(text)
    return toAnswer(
      await apollo.executeHTTPGraphQLRequest({ httpGraphQLRequest: request, context: async () => context }),
    )
  }

  return toHandlers(respond, report)
}

function answerSdl(req: Request, sdl: string): Answer {
  checkMethod(req, ['GET', 'HEAD'])
  return { status: 200, headers: { 'Content-Type': 'text/plain; charset=utf-8' }, body: sdl }
}
