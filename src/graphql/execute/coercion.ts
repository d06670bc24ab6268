import {
  GraphQLError,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  type GraphQLLeafType,
  type GraphQLSchema,
  getVariableValues,
  isInputObjectType,
  isInputType,
  isListType,
  isNonNullType,
  isRequiredInputField,
  Kind,
  type OperationDefinitionNode,
  typeFromAST,
  valueFromAST,
} from 'graphql'
import { CATALOG } from '../../errors/catalog.js'
import { type Problem, ProblemError } from '../../errors/problem.js'
import { memoize } from '../../query/memoize.js'
import type { InputValues } from './collect-fields.js'

/**
 * Coerces the variables of an operation like `getVariableValues` of graphql-js, which visits all fields of an
 * input type for each object: 140 in a filter of listings, a tenth of the cost of a list. This function
 * visits only the values that were sent, in the same order. Returns undefined for invalid variables and for
 * types it does not support, so that graphql-js handles them and reports the errors.
 */
export function tryCoerceVariableValues(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  inputs: InputValues,
): InputValues | undefined {
  try {
    return Object.fromEntries(
      variableDefinitionsOf(schema, operation).flatMap(definition => coerceVariable(definition, inputs)),
    )
  } catch {
    return undefined
  }
}

/** Aborts the fast path. graphql-js then coerces all variables. */
function fallBackToGraphQLJs(): never {
  throw new Error('Left to graphql-js')
}

/** Coerces a sent value to its type. Throws any error to abort the fast path. */
type InputCoercer = (sent: unknown) => unknown

/** A declared variable. Without a sent value it has the default value, or is absent if that is undefined. */
interface VariableDefinition {
  readonly name: string
  readonly isRequired: boolean
  readonly coerce: InputCoercer
  readonly defaultValue: unknown
}

const variableDefinitionsOf = memoize(function variableDefinitionsOf(
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
): readonly VariableDefinition[] {
  return variableDefinitions.map(({ variable, type: node, defaultValue }) => {
    const type = typeFromAST(schema, node)
    if (!isInputType(type)) return fallBackToGraphQLJs()
    return {
      name: variable.name.value,
      isRequired: isNonNullType(type),
      coerce: toInputCoercer(type),
      defaultValue: defaultValue && valueFromAST(defaultValue, type),
    }
  })
})

function coerceVariable(
  { name, isRequired, coerce, defaultValue }: VariableDefinition,
  inputs: InputValues,
): readonly (readonly [name: string, value: unknown])[] {
  if (Object.hasOwn(inputs, name)) return [[name, coerce(inputs[name])]]
  if (defaultValue !== undefined) return [[name, defaultValue]]
  return isRequired ? fallBackToGraphQLJs() : []
}

/** Memoized by type, so that the type is inspected once. */
const toInputCoercer = memoize(function createInputCoercer(type: GraphQLInputType): InputCoercer {
  if (isNonNullType(type)) return toNonNullCoercer(toInputCoercer(type.ofType))
  if (isListType(type)) return toNullableCoercer(toListCoercer(toInputCoercer(type.ofType)))
  return toNullableCoercer(isInputObjectType(type) ? toInputObjectCoercer(type) : toLeafCoercer(type))
})

const toNonNullCoercer =
  (coerce: InputCoercer): InputCoercer =>
  sent =>
    sent === null ? fallBackToGraphQLJs() : coerce(sent)

const toNullableCoercer =
  (coerce: InputCoercer): InputCoercer =>
  sent =>
    sent === null ? null : coerce(sent)

/** A value that is not a list becomes a list of one item. */
const toListCoercer =
  (coerce: InputCoercer): InputCoercer =>
  sent =>
    Array.isArray(sent) ? sent.map(coerce) : [coerce(sent)]

const toLeafCoercer =
  (type: GraphQLLeafType): InputCoercer =>
  sent =>
    type.parseValue(sent) ?? fallBackToGraphQLJs()

/** The coercer of an input field, and its position among the fields of its type. */
interface InputFieldCoercer {
  readonly index: number
  readonly coerce: InputCoercer
}

/**
 * Coerces an object. Its members are sorted in the order of the schema, so that equal filters give the same
 * statement.
 */
function toInputObjectCoercer(type: GraphQLInputObjectType): InputCoercer {
  // Types can be recursive, so their fields are resolved at the first value.
  let definition:
    | { readonly fields: ReadonlyMap<string, InputFieldCoercer>; readonly mandatory: readonly string[] }
    | undefined
  return sent => {
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent) || type.isOneOf)
      return fallBackToGraphQLJs()
    definition ??= { fields: inputFieldsOf(type), mandatory: mandatoryFieldsOf(type) }
    const { fields, mandatory } = definition
    for (const name of mandatory) if (!Object.hasOwn(sent, name)) fallBackToGraphQLJs()
    const members = Object.entries(sent)
    if (members.length > 1)
      members.sort(([a], [b]) => inputFieldOf(fields, a).index - inputFieldOf(fields, b).index)
    const coerced: Record<string, unknown> = {} // no field of a schema is called __proto__
    for (const [name, value] of members) coerced[name] = inputFieldOf(fields, name).coerce(value)
    return coerced
  }
}

const inputFieldOf = (fields: ReadonlyMap<string, InputFieldCoercer>, name: string): InputFieldCoercer =>
  fields.get(name) ?? fallBackToGraphQLJs()

const inputFieldsOf = (type: GraphQLInputObjectType): ReadonlyMap<string, InputFieldCoercer> =>
  new Map(
    Object.values(type.getFields()).map(({ name, type: fieldType }, index) => [
      name,
      { index, coerce: toInputCoercer(fieldType) },
    ]),
  )

/** Returns the fields that every object has: required fields and fields with a default. */
const mandatoryFieldsOf = (type: GraphQLInputObjectType): readonly string[] =>
  Object.values(type.getFields())
    .filter(field => isRequiredInputField(field) || field.defaultValue !== undefined)
    .map(({ name }) => name)

const MAX_VARIABLE_ERRORS = 20

/**
 * Coerces the variables of an operation, or returns the errors of the sent values. A variable without a value
 * is absent.
 */
export function coerceVariableValues(
  schema: GraphQLSchema,
  operation: OperationDefinitionNode,
  inputs: InputValues,
) {
  const fastPathResult = tryCoerceVariableValues(schema, operation, inputs)
  if (fastPathResult) return { coerced: fastPathResult }
  const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], inputs, {
    maxErrors: MAX_VARIABLE_ERRORS,
  })
  return errors ? { errors: errors.map(toVariableError) } : { coerced }
}

/**
 * Maximum length of a message. graphql-js repeats the whole value for each of its errors: 0.5 MB with 20
 * errors made a response of 10 MB.
 */
const MAX_VARIABLE_MESSAGE_LENGTH = 1000

/** Removes the middle of a message. The beginning names the variable, and the end describes the fault. */
const truncateMiddle = (message: string): string =>
  message.length > MAX_VARIABLE_MESSAGE_LENGTH
    ? `${message.slice(0, MAX_VARIABLE_MESSAGE_LENGTH / 2)} ... ${message.slice(-MAX_VARIABLE_MESSAGE_LENGTH / 2)}`
    : message

/**
 * Converts the error of a variable. Its target is the variable. The message gives the path within the value.
 */
function toVariableError({ message, nodes, originalError }: GraphQLError): GraphQLError {
  const name = nodes?.map(node => (node.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : ''))[0]
  const problem = originalProblemOf(originalError)
  return new GraphQLError(truncateMiddle(message), {
    ...(nodes && { nodes }),
    extensions: {
      code: 'BAD_USER_INPUT',
      serviceCode: CATALOG[problem?.kind ?? 'BadOptionValue'].code,
      ...(name && { target: `$${name}` }),
      details: [],
      http: { status: 400 },
    },
  })
}

/** Returns the problem that a scalar reported, below the errors that graphql-js wraps it in. */
function originalProblemOf(error: Error | undefined | null): Problem | undefined {
  if (error instanceof ProblemError) return error.problems[0]
  return error instanceof GraphQLError ? originalProblemOf(error.originalError) : undefined
}
