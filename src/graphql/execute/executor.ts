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
import { coerceVariableValues } from './coercion.js'
import type { CollectedField, InputValues, SelectionContext } from './collect-fields.js'
import { type OperationPlan, OperationPlanCache } from './operation-plan.js'
import { RawJson, renderRawObject } from './raw-json.js'
import { resolveRootField } from './resolve-root.js'
import type { ServicePort } from './root-field.js'

/** A document that has been validated, and what is to be done of it. */
export interface ExecutionRequest {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  /** As they were sent. */
  readonly variables: InputValues
  readonly context: GraphQLContext
}

/** As the specification has it (7.1): `data` is absent if nothing was executed. */
export interface RawExecutionResult {
  readonly data?: RawJson | null
  readonly errors?: readonly GraphQLError[]
}

export type Executor = (execution: ExecutionRequest) => Promise<RawExecutionResult>

export interface ExecutorParts {
  readonly schema: GraphQLSchema
  readonly port: ServicePort
  /** Everything goes the way of graphql-js, field by field: slower, and the measure of ours. */
  readonly usesGraphQLJs?: boolean
}

/**
 * Executes queries and mutations without visiting the fields below the root: each root field is one plan, and
 * its answer comes from PostgreSQL in the shape that was asked for. Questions about the schema itself go the
 * ordinary way.
 */
export function createExecutor({ schema, port, usesGraphQLJs = false }: ExecutorParts): Executor {
  const plans = new OperationPlanCache(schema)
  return async execution => {
    const { document, operation, variables: inputs, context } = execution
    const { coerced, errors } = coerceVariableValues(schema, operation, inputs)
    if (errors) return { errors }
    const rootType = schema.getRootType(operation.operation)
    if (!rootType) return { errors: [new GraphQLError(`There is no ${operation.operation}.`)] }
    const plan = plans.planFor(document, operation, rootType, coerced)
    if (usesGraphQLJs || plan.rootFields.some(f => f.name.startsWith('__') && f.name !== '__typename'))
      return executeWithGraphQLJs(execution, { ...plan.selectionContext, variables: coerced }, port)
    return executeRootFields(
      { plan, variables: coerced, port, context, rootType },
      operation.operation === OperationTypeNode.MUTATION,
    )
  }
}

interface RootSelection {
  readonly plan: OperationPlan
  readonly variables: InputValues
  readonly port: ServicePort
  readonly context: GraphQLContext
  readonly rootType: GraphQLObjectType
}

/** What became of a root field: its JSON, or what went wrong. */
interface RootFieldResult {
  readonly responseName: string
  readonly json: string
  readonly error?: GraphQLError
  /** The field cannot be null, so all of the answer is. */
  readonly propagatesNull: boolean
}

async function executeRootFields(
  rootSelection: RootSelection,
  isSerial: boolean,
): Promise<RawExecutionResult> {
  const { rootFields } = rootSelection.plan
  const results = isSerial
    ? await mapSerially(rootFields, collected => executeRootField(rootSelection, collected))
    : await Promise.all(rootFields.map(collected => executeRootField(rootSelection, collected)))
  const errors = results.map(o => o.error).filter(e => e !== undefined)
  const data = results.some(o => o.propagatesNull)
    ? null
    : new RawJson(renderRawObject(results.map(({ responseName, json }) => [responseName, json])))
  return { data, ...(errors.length > 0 && { errors }) }
}

async function mapSerially<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<readonly R[]> {
  const results: R[] = []
  for (const item of items) results.push(await work(item))
  return results
}

async function executeRootField(
  { plan, variables, port, context, rootType }: RootSelection,
  collected: CollectedField,
): Promise<RootFieldResult> {
  const { responseName, name, fieldNodes } = collected
  if (name === '__typename')
    return { responseName, json: JSON.stringify(rootType.name), propagatesNull: false }
  const field = fieldDefinitionOf(rootType, name)
  try {
    return {
      responseName,
      json: await resolveRootField({
        port,
        selectionContext: plan.selectionContext,
        variables,
        context,
        parentType: rootType,
        field,
        collected,
      }),
      propagatesNull: false,
    }
  } catch (error) {
    return {
      responseName,
      json: 'null',
      error: toGraphQLError(error, context, [responseName], fieldNodes),
      propagatesNull: isNonNullType(field.type),
    }
  }
}

/** Validation has seen to it that it is there. */
function fieldDefinitionOf(type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> {
  const field = type.getFields()[name]
  if (!field) throw new Error(`No field ${type.name}.${name} in the schema`)
  return field
}

/** The type of a record that `node` has found. */
const TYPE_NAME = Symbol('type')

async function executeWithGraphQLJs(
  { document, operation, variables, context }: ExecutionRequest,
  selectionContext: SelectionContext,
  port: ServicePort,
): Promise<RawExecutionResult> {
  const { schema } = selectionContext
  const operationName = operation.name?.value
  const result = await execute({
    schema,
    document,
    variableValues: { ...variables },
    contextValue: context,
    ...(operationName !== undefined && { operationName }),
    fieldResolver: createFieldResolver(selectionContext, port),
    typeResolver: resolveType,
  })
  const { data, errors } = result
  return {
    ...(data !== undefined && { data: data && new RawJson(JSON.stringify(data)) }),
    ...(errors && { errors }),
  }
}

/** A root field is answered as ever; below it stands what was answered, under the names of the answer. */
const createFieldResolver =
  (selectionContext: SelectionContext, port: ServicePort): GraphQLFieldResolver<unknown, GraphQLContext> =>
  async (source, args: InputValues, context, { path, parentType, fieldName, fieldNodes, schema }) => {
    const isRoot = parentType === schema.getQueryType() || parentType === schema.getMutationType()
    if (!isRoot) return (source as Readonly<Record<string, unknown>>)[path.key] // an object of the answer
    const responseName = String(path.key)
    try {
      const value: unknown = JSON.parse(
        await resolveRootField({
          port,
          selectionContext: selectionContext,
          variables: selectionContext.variables,
          context,
          parentType: parentType,
          field: fieldDefinitionOf(parentType, fieldName),
          collected: { responseName, name: fieldName, fieldNodes },
        }),
      )
      return fieldName === 'node' && value !== null
        ? { ...value, [TYPE_NAME]: readGlobalId(String(args['id']))?.of.typeName }
        : value
    } catch (error) {
      throw toGraphQLError(error, context, [responseName], fieldNodes)
    }
  }

const resolveType: GraphQLTypeResolver<{ readonly [TYPE_NAME]?: string }, GraphQLContext> = value =>
  value[TYPE_NAME]
