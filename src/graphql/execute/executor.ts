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
import { type OperationPlan, OperationPlanner } from './operation-plan.js'
import { RawJson, renderRawObject } from './raw-json.js'
import { resolveRootField } from './resolve-root.js'
import type { ServicePort } from './root-field.js'

/** A validated document and the operation to execute. */
export interface ExecutionRequest {
  readonly document: DocumentNode
  readonly operation: OperationDefinitionNode
  /** The variables as they were sent. */
  readonly variables: InputValues
  readonly context: GraphQLContext
}

/** The response as in the specification (7.1). `data` is undefined if nothing was executed. */
export interface RawExecutionResult {
  readonly data?: RawJson | null
  readonly errors?: readonly GraphQLError[]
}

export type Executor = (execution: ExecutionRequest) => Promise<RawExecutionResult>

export interface ExecutorDependencies {
  readonly schema: GraphQLSchema
  readonly port: ServicePort
  /**
   * Executes everything with graphql-js, field by field. Slower; tests compare its results with those of the
   * plans.
   */
  readonly usesGraphQLJs?: boolean
}

/**
 * Executes queries and mutations without visiting the fields below the root. Each root field is one plan, and
 * PostgreSQL returns its response in the requested shape. graphql-js executes introspection.
 */
export function createExecutor({ schema, port, usesGraphQLJs = false }: ExecutorDependencies): Executor {
  const planner = new OperationPlanner(schema, port.plans)
  return async execution => {
    const { document, operation, variables: inputs, context } = execution
    const { coerced, errors } = coerceVariableValues(schema, operation, inputs)
    if (errors) return { errors }
    const rootType = schema.getRootType(operation.operation)
    if (!rootType) return { errors: [new GraphQLError(`There is no ${operation.operation}.`)] }
    const plan = planner.planFor(document, operation, rootType, coerced)
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

/** The result of a root field: its JSON, or its error. */
interface RootFieldResult {
  readonly responseName: string
  readonly json: string
  readonly error?: GraphQLError
  /** The field is non-null, so its error makes the whole data null. */
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

/** Validation guarantees that the field exists. */
function fieldDefinitionOf(type: GraphQLObjectType, name: string): GraphQLField<unknown, unknown> {
  const field = type.getFields()[name]
  if (!field) throw new Error(`No field ${type.name}.${name} in the schema`)
  return field
}

/** The key for the type of a record that `node` returns. */
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

/**
 * Resolves a root field like `executeRootField`. Fields below it are read from its result by response name.
 */
const createFieldResolver =
  (selectionContext: SelectionContext, port: ServicePort): GraphQLFieldResolver<unknown, GraphQLContext> =>
  async (source, args: InputValues, context, { path, parentType, fieldName, fieldNodes, schema }) => {
    const isRoot = parentType === schema.getQueryType() || parentType === schema.getMutationType()
    if (!isRoot) return (source as Readonly<Record<string, unknown>>)[path.key] // an object of the result
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
        ? { ...value, [TYPE_NAME]: readGlobalId(String(args['id']), port.model.entityOfType)?.of.typeName }
        : value
    } catch (error) {
      throw toGraphQLError(error, context, [responseName], fieldNodes)
    }
  }

const resolveType: GraphQLTypeResolver<{ readonly [TYPE_NAME]?: string }, GraphQLContext> = value =>
  value[TYPE_NAME]
