import {
  type ASTNode,
  type ConstValueNode,
  type FieldNode,
  type GraphQLArgument,
  type GraphQLField,
  getArgumentValues,
  isNonNullType,
  Kind,
  type ValueNode,
  valueFromAST,
  visit,
} from 'graphql'
import { fail } from '../../errors/problem.js'
import { remember } from '../../query/memoize.js'
import type { Asked, Input, Operation } from './operation.js'

/**
 * The arguments of a field. A variable inside an argument must have a value: what is left out would widen
 * what the argument narrows.
 */
export function readArguments(
  { variables }: Operation,
  { nodes: [node] }: Asked,
  field: GraphQLField<unknown, unknown>,
): Input {
  if (!node) return {}
  const settled = settledIn(node, field)
  return (settled && fill(settled, variables)) ?? readByGraphQL(node, field, variables)
}

function readByGraphQL(node: FieldNode, field: GraphQLField<unknown, unknown>, variables: Input): Input {
  for (const { value } of node.arguments ?? []) if (isComposed(value)) checkGiven(value, variables)
  return getArgumentValues(field, node, { ...variables })
}

const isComposed = ({ kind }: ValueNode): boolean => kind === Kind.OBJECT || kind === Kind.LIST

function checkGiven(value: ASTNode, variables: Input): void {
  visit(value, {
    Variable({ name: { value: name } }) {
      if (!Object.hasOwn(variables, name))
        fail({ kind: 'BadOptionValue', option: `$${name}`, expected: 'a value, null for one', found: '' })
    },
  })
}

/** An argument whose value is the same in every request, or that of a variable. */
interface Settled {
  readonly name: string
  readonly variable?: string
  readonly value?: unknown
  readonly isRequired: boolean
}

/**
 * What the arguments of a field are, as far as the document says it: graphql-js reads literals anew for each
 * request, and in each object of a filter all 140 fields of its type. Undefined: some are of another kind,
 * and graphql-js has to read them.
 */
const settledIn = remember(
  (node: FieldNode, { args }: GraphQLField<unknown, unknown>): readonly Settled[] | undefined => {
    const settled = args.map(argument => settle(argument, node))
    return settled.includes('unsettled')
      ? undefined
      : settled.filter(argument => typeof argument === 'object')
  },
)

function settle(
  { name, type, defaultValue }: GraphQLArgument,
  { arguments: given = [] }: FieldNode,
): Settled | 'absent' | 'unsettled' {
  const node = given.find(argument => argument.name.value === name)?.value
  const isRequired = isNonNullType(type)
  if (defaultValue !== undefined) return 'unsettled'
  if (!node) return isRequired ? 'unsettled' : 'absent'
  if (node.kind === Kind.VARIABLE) return { name, variable: node.name.value, isRequired }
  const value = isConstant(node) ? valueFromAST(node, type) : undefined
  return value === undefined ? 'unsettled' : { name, value, isRequired }
}

function isConstant(node: ValueNode): node is ConstValueNode {
  if (node.kind === Kind.LIST) return node.values.every(isConstant)
  if (node.kind === Kind.OBJECT) return node.fields.every(({ value }) => isConstant(value))
  return node.kind !== Kind.VARIABLE
}

/** Undefined: a value is missing, and graphql-js says so. */
function fill(settled: readonly Settled[], variables: Input): Input | undefined {
  const args: Record<string, unknown> = {} // no argument of a schema is called __proto__
  for (const { name, variable, value, isRequired } of settled) {
    const isAbsent = variable !== undefined && !Object.hasOwn(variables, variable)
    const found = variable === undefined ? value : variables[variable]
    if (isRequired && (isAbsent || found === null)) return undefined
    if (!isAbsent) args[name] = found
  }
  return args
}
