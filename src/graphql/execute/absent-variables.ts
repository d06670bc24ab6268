import {
  type ASTNode,
  type GraphQLInputObjectType,
  type GraphQLInputType,
  getNullableType,
  isInputObjectType,
  isListType,
  Kind,
  type ObjectValueNode,
  type ValueNode,
  visit,
} from 'graphql'
import type { Phrase } from '../../errors/phrase.js'
import { EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { isFilterInput } from '../schema/filter-inputs.js'
import type { InputValues } from './collect-fields.js'

/**
 * Checks the variables without a value inside the literal of an argument. Input object coercion drops a field
 * whose value is such a variable (GraphQL specification, 3.10). Refuses literals whose meaning the missing
 * value would change:
 *
 * - a filter that loses its only conditions: `{ City: { eq: $city } }` without `$city` has no condition
 * - an item of a list, and a part of a scalar such as a position
 *
 * @throws ProblemError BadOptionValue, with the variable as its target
 */
export function checkAbsentVariables(node: ValueNode, type: GraphQLInputType, variables: InputValues): void {
  const expected = getNullableType(type)
  if (node.kind === Kind.LIST)
    for (const item of node.values)
      checkAbsentVariables(item, isListType(expected) ? expected.ofType : expected, variables)
  // A single value in place of a list is its only item.
  else if (isListType(expected)) checkAbsentVariables(node, expected.ofType, variables)
  else if (node.kind === Kind.OBJECT && isInputObjectType(expected)) checkFields(node, expected, variables)
  else requireValues(node, variables)
}

function checkFields(
  { fields }: ObjectValueNode,
  type: GraphQLInputObjectType,
  variables: InputValues,
): void {
  const absent = fields.map(({ value }) => absentVariableOf(value, variables))
  const [lost] = absent
  if (lost !== undefined && !absent.includes(undefined) && isFilterInput(type))
    failAbsent(lost, EXPECTED_VALUE.specifiedInFilter)
  const definitions = type.getFields()
  for (const [i, { name, value }] of fields.entries()) {
    const definition = definitions[name.value]
    if (definition && absent[i] === undefined) checkAbsentVariables(value, definition.type, variables)
  }
}

const absentVariableOf = (node: ASTNode, variables: InputValues): string | undefined =>
  node.kind === Kind.VARIABLE && !Object.hasOwn(variables, node.name.value) ? node.name.value : undefined

function requireValues(node: ValueNode, variables: InputValues): void {
  visit(node, {
    Variable(variable) {
      const name = absentVariableOf(variable, variables)
      if (name !== undefined) failAbsent(name, EXPECTED_VALUE.specified)
    },
  })
}

const failAbsent = (name: string, expected: Phrase): never =>
  fail({ kind: 'BadOptionValue', option: `$${name}`, expected, found: '' })
