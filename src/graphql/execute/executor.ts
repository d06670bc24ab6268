import {
  type DocumentNode,
  execute,
  GraphQLError,
  type GraphQLField,
  type GraphQLFieldResolver,
  type GraphQLObjectType,
  type GraphQLSchema,
  type GraphQLTypeResolver,
  isNonNullType,
  type OperationDefinitionNode,
  OperationTypeNode,
} from 'graphql'
import type { GraphQLContext } from '../context.js'
import { toGraphQLError } from '../errors.js'
import { readGlobalId } from '../schema/global-id.js'
import { readVariables } from './coercion.js'
import type { Asked, Input, Operation } from './operation.js'
import { type Frame, Frames } from './operation-plan.js'
import { JsonText, renderObject } from './raw-json.js'
import { answer } from './resolve-root.js'
import type { Port } from './root-field.js'

/** A document that has been validated, and what is to be done of it. */
export interface Execution {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  /** As they were sent. */
  readonly variables: Input
  readonly context: GraphQLContext
}

/** As the specification has it (7.1): `data` is absent if nothing was executed. */
export interface Result {
  readonly data?: JsonText | null
  readonly errors?: readonly GraphQLError[]
}

export type Executor = (execution: Execution) => Promise<Result>

export interface ExecutorParts {
  readonly schema: GraphQLSchema
  readonly port: Port
  /** Everything goes the way of graphql-js, field by field: slower, and the measure of ours. */
  readonly isOrdinary?: boolean
}

/**
 * Executes queries and mutations without visiting the fields below the root: each root field is one plan, and
 * its answer comes from PostgreSQL in the shape that was asked for. Questions about the schema itself go the
 * ordinary way.
 */
export function createExecutor({ schema, port, isOrdinary = false }: ExecutorParts): Executor {
  const frames = new Frames(schema)
  return async execution => {
    const { document, operation, variables: sent, context } = execution
    const { coerced, errors } = readVariables(schema, operation, sent)
    if (errors) return { errors }
    const root = schema.getRootType(operation.operation)
    if (!root) return { errors: [new GraphQLError(`There is no ${operation.operation}.`)] }
    const frame = frames.open(document, operation, root, coerced)
    if (isOrdinary || frame.fields.some(f => f.name.startsWith('__') && f.name !== '__typename'))
      return executeOrdinarily(execution, { ...frame.shape, variables: coerced }, port)
    return executeRoots(
      { frame, variables: coerced, port, context, root },
      operation.operation === OperationTypeNode.MUTATION,
    )
  }
}

interface Roots {
  readonly frame: Frame
  readonly variables: Input
  readonly port: Port
  readonly context: GraphQLContext
  readonly root: GraphQLObjectType
}

/** What became of a root field: its JSON, or what went wrong. */
interface Outcome {
  readonly key: string
  readonly json: string
  readonly error?: GraphQLError
  /** The field cannot be null, so all of the answer is. */
  readonly voids: boolean
}

async function executeRoots(roots: Roots, isSerial: boolean): Promise<Result> {
  const { fields } = roots.frame
  const outcomes = isSerial
    ? await inTurn(fields, asked => answerRoot(roots, asked))
    : await Promise.all(fields.map(asked => answerRoot(roots, asked)))
  const errors = outcomes.map(o => o.error).filter(e => e !== undefined)
  const data = outcomes.some(o => o.voids)
    ? null
    : new JsonText(renderObject(outcomes.map(({ key, json }) => [key, json])))
  return { data, ...(errors.length > 0 && { errors }) }
}

async function inTurn<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

async function answerRoot({ frame, variables, port, context, root }: Roots, asked: Asked): Promise<Outcome> {
  const { key, name, nodes } = asked
  if (name === '__typename') return { key, json: JSON.stringify(root.name), voids: false }
  const field = fieldOf(root, name)
  try {
    return {
      key,
      json: await answer({ port, shape: frame.shape, variables, context, type: root, field, asked }),
      voids: false,
    }
  } catch (error) {
    return {
      key,
      json: 'null',
      error: toGraphQLError(error, context, [key], nodes),
      voids: isNonNullType(field.type),
    }
  }
}

/** Validation has seen to it that it is there. */
function fieldOf(type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> {
  const field = type.getFields()[name]
  if (!field) throw new Error(`No field ${type.name}.${name} in the schema`)
  return field
}

/** The type of a record that `node` has found. */
const TYPE = Symbol('type')

async function executeOrdinarily(
  { document, operation, variables, context }: Execution,
  parts: Operation,
  port: Port,
): Promise<Result> {
  const { schema } = parts
  const operationName = operation.name?.value
  const result = await execute({
    schema,
    document,
    variableValues: { ...variables },
    contextValue: context,
    ...(operationName !== undefined && { operationName }),
    fieldResolver: resolveWith(parts, port),
    typeResolver: resolveType,
  })
  const { data, errors } = result
  return {
    ...(data !== undefined && { data: data && new JsonText(JSON.stringify(data)) }),
    ...(errors && { errors }),
  }
}

/** A root field is answered as ever; below it stands what was answered, under the names of the answer. */
const resolveWith =
  (parts: Operation, port: Port): GraphQLFieldResolver<unknown, GraphQLContext> =>
  async (source, args: Input, context, { path, parentType, fieldName, fieldNodes, schema }) => {
    const isRoot = parentType === schema.getQueryType() || parentType === schema.getMutationType()
    if (!isRoot) return (source as Readonly<Record<string, unknown>>)[path.key] // an object of the answer
    const key = String(path.key)
    try {
      const value: unknown = JSON.parse(
        await answer({
          port,
          shape: parts,
          variables: parts.variables,
          context,
          type: parentType,
          field: fieldOf(parentType, fieldName),
          asked: { key, name: fieldName, nodes: fieldNodes },
        }),
      )
      return fieldName === 'node' && value !== null
        ? { ...value, [TYPE]: readGlobalId(String(args['id']))?.of.typeName }
        : value
    } catch (error) {
      throw toGraphQLError(error, context, [key], fieldNodes)
    }
  }

const resolveType: GraphQLTypeResolver<{ readonly [TYPE]?: string }, GraphQLContext> = value => value[TYPE]
