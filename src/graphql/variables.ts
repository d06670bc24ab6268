import { GraphQLError, type GraphQLSchema, getVariableValues, type OperationDefinitionNode } from 'graphql'
import { coerceVariables } from './coercion.js'
import type { Input } from './operation.js'

const FAULTS_MAX = 20

/** The variables of an operation as the schema takes them, or what is wrong with those that were sent. One without a value is absent. */
export function readVariables(schema: GraphQLSchema, operation: OperationDefinitionNode, sent: Input) {
  const known = coerceVariables(schema, operation, sent)
  if (known) return { coerced: known }
  const { coerced, errors } = getVariableValues(schema, operation.variableDefinitions ?? [], sent, { maxErrors: FAULTS_MAX })
  return errors ? { errors: errors.map(toVariableError) } : { coerced }
}

/** graphql-js repeats the value as a whole, for each of its faults: 0.5 MB with 20 of them made an answer of 10 MB. */
const VARIABLE_MESSAGE_MAX = 1000

/** Its beginning says which variable, its end what is wrong. */
const shorten = (message: string): string =>
  message.length > VARIABLE_MESSAGE_MAX ? `${message.slice(0, VARIABLE_MESSAGE_MAX / 2)} ... ${message.slice(-VARIABLE_MESSAGE_MAX / 2)}` : message

const toVariableError = ({ message, nodes }: GraphQLError) =>
  new GraphQLError(shorten(message), { ...(nodes && { nodes }), extensions: { code: 'BAD_USER_INPUT', http: { status: 400 } } })
