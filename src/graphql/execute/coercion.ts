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
 * The variables of an operation as `getVariableValues` of graphql-js makes them, which for each object goes
 * through all fields of its type: 140 in a filter of listings, a tenth of the cost of a list. Here only what
 * was sent is looked at, in the same order. What is wrong is left to graphql-js to say: undefined stands for
 * variables with a fault, or that ask for more than this function knows.
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

/** Ends the way of this file: that of graphql-js is taken from the beginning. */
function fallBackToGraphQLJs(): never {
  throw new Error('Left to graphql-js')
}

/**
 * A value that was sent, as its type takes it. Throws what it will: `refuse`, and scalars their own errors.
 */
type InputCoercer = (sent: unknown) => unknown

/**
 * A variable that an operation declares. `initial`: the value that it has where none is sent; undefined: it
 * is absent then.
 */
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

/** Made once for each type: a request then asks of no type what it is. */
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

/** What is no list is one of one item. */
const toListCoercer =
  (coerce: InputCoercer): InputCoercer =>
  sent =>
    Array.isArray(sent) ? sent.map(coerce) : [coerce(sent)]

const toLeafCoercer =
  (type: GraphQLLeafType): InputCoercer =>
  sent =>
    type.parseValue(sent) ?? fallBackToGraphQLJs()

/** A field of an input type, and its place among the others. */
interface InputFieldCoercer {
  readonly index: number
  readonly coerce: InputCoercer
}

/**
 * The order of conditions is that of the schema: the same question becomes the same statement, however its
 * filter was written.
 */
function toInputObjectCoercer(type: GraphQLInputObjectType): InputCoercer {
  // Types lead back to themselves: what is made of their fields is made when there is a value.
  let definition:
    | { readonly fields: ReadonlyMap<string, InputFieldCoercer>; readonly standing: readonly string[] }
    | undefined
  return sent => {
    if (typeof sent !== 'object' || sent === null || Array.isArray(sent) || type.isOneOf)
      return fallBackToGraphQLJs()
    definition ??= { fields: inputFieldsOf(type), standing: mandatoryFieldsOf(type) }
    const { fields, standing } = definition
    for (const name of standing) if (!Object.hasOwn(sent, name)) fallBackToGraphQLJs()
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

/** Fields that objects are not without: they are required, or have a default. */
const mandatoryFieldsOf = (type: GraphQLInputObjectType): readonly string[] =>
  Object.values(type.getFields())
    .filter(field => isRequiredInputField(field) || field.defaultValue !== undefined)
    .map(({ name }) => name)

const MAX_VARIABLE_ERRORS = 20

/**
 * The variables of an operation as the schema takes them, or what is wrong with those that were sent. One
 * without a value is absent.
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
 * graphql-js repeats the value as a whole, for each of its faults: 0.5 MB with 20 of them made an answer of
 * 10 MB.
 */
const MAX_VARIABLE_MESSAGE_LENGTH = 1000

/** Its beginning says which variable, its end what is wrong. */
const truncateMiddle = (message: string): string =>
  message.length > MAX_VARIABLE_MESSAGE_LENGTH
    ? `${message.slice(0, MAX_VARIABLE_MESSAGE_LENGTH / 2)} ... ${message.slice(-MAX_VARIABLE_MESSAGE_LENGTH / 2)}`
    : message

/** The error of a variable. Its target is the variable; the message says where in its value the fault is. */
function toVariableError({ message, nodes, originalError }: GraphQLError): GraphQLError {
  const name = nodes?.map(node => (node.kind === Kind.VARIABLE_DEFINITION ? node.variable.name.value : ''))[0]
  const problem = problemBehind(originalError)
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

/** The problem that a scalar of ours has found, below the errors that graphql-js makes of it. */
function problemBehind(error: Error | undefined | null): Problem | undefined {
  if (error instanceof ProblemError) return error.problems[0]
  return error instanceof GraphQLError ? problemBehind(error.originalError) : undefined
}
