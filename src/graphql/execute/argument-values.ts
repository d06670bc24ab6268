import {
  type ConstValueNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLField,
  getArgumentValues,
  isNonNullType,
  Kind,
  type ValueNode,
  valueFromAST,
} from 'graphql'
import { memoize } from '../../query/memoize.js'
import { checkAbsentVariables } from './absent-variables.js'
import type { CollectedField, InputValues, SelectionContext } from './collect-fields.js'

/**
 * Returns the arguments of a field as graphql-js coerces them.
 * @throws ProblemError as `checkAbsentVariables`
 */
export function coerceArgumentValues(
  { variables }: SelectionContext,
  { fieldNodes: [node] }: CollectedField,
  field: GraphQLField<unknown, unknown>,
): InputValues {
  if (!node) return {}
  const bindings = argumentBindingsOf(node, field)
  return (bindings && bindArguments(bindings, variables)) ?? coerceWithGraphQLJs(node, field, variables)
}

function coerceWithGraphQLJs(
  node: FieldNode,
  field: GraphQLField<unknown, unknown>,
  variables: InputValues,
): InputValues {
  for (const { name, value } of node.arguments ?? []) {
    const type = field.args.find(argument => argument.name === name.value)?.type
    if (type && value.kind !== Kind.VARIABLE) checkAbsentVariables(value, type, variables)
  }
  return getArgumentValues(field, node, { ...variables })
}

/** An argument with a constant value or the value of a variable. */
interface ArgumentBinding {
  readonly name: string
  readonly variableName?: string
  readonly value?: unknown
  readonly isRequired: boolean
}

/**
 * Returns the bindings of a field's arguments as far as the document determines them. graphql-js coerces
 * literals again for each request and visits all 140 fields of the input type in each object of a filter.
 * Returns undefined if an argument needs graphql-js.
 */
const argumentBindingsOf = memoize(function argumentBindingsOf(
  node: FieldNode,
  { args }: GraphQLField<unknown, unknown>,
): readonly ArgumentBinding[] | undefined {
  const bindings = args.map(argument => toArgumentBinding(argument, node))
  return bindings.includes('unsettled')
    ? undefined
    : bindings.filter(argument => typeof argument === 'object')
})

function toArgumentBinding(
  { name, type, defaultValue }: GraphQLArgument,
  { arguments: argumentNodes = [] }: FieldNode,
): ArgumentBinding | 'absent' | 'unsettled' {
  const node = argumentNodes.find(argument => argument.name.value === name)?.value
  const isRequired = isNonNullType(type)
  if (defaultValue !== undefined) return 'unsettled'
  if (!node) return isRequired ? 'unsettled' : 'absent'
  if (node.kind === Kind.VARIABLE) return { name, variableName: node.name.value, isRequired }
  const value = isConstant(node) ? valueFromAST(node, type) : undefined
  return value === undefined ? 'unsettled' : { name, value, isRequired }
}

function isConstant(node: ValueNode): node is ConstValueNode {
  if (node.kind === Kind.LIST) return node.values.every(isConstant)
  if (node.kind === Kind.OBJECT) return node.fields.every(({ value }) => isConstant(value))
  return node.kind !== Kind.VARIABLE
}

/** Returns undefined if a required value is missing. graphql-js then reports the error. */
function bindArguments(
  bindings: readonly ArgumentBinding[],
  variables: InputValues,
): InputValues | undefined {
  const args: Record<string, unknown> = {} // no argument of a schema is called __proto__
  for (const { name, variableName, value, isRequired } of bindings) {
    const isAbsent = variableName !== undefined && !Object.hasOwn(variables, variableName)
    const bound = variableName === undefined ? value : variables[variableName]
    if (isRequired && (isAbsent || bound === null)) return undefined
    if (!isAbsent) args[name] = bound
  }
  return args
}
