import {
  type DocumentNode,
  type FieldNode,
  type FragmentDefinitionNode,
  type GraphQLObjectType,
  type GraphQLSchema,
  isObjectType,
  Kind,
  type OperationDefinitionNode,
} from 'graphql'
// Implements CollectFields of the specification (merging of fields, fragments, @skip and @include) by a
// function that graphql-js does not export from its index.
import { collectSubfields } from 'graphql/execution/collectFields.js'

/** Values that graphql-js has coerced. */
export type InputValues = { readonly [name: string]: unknown }

/** The schema, fragments and variables for reading the selections of an operation. */
export interface SelectionContext {
  readonly schema: GraphQLSchema
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** Coerced variables. A variable without a value is absent. */
  readonly variables: InputValues
}

/**
 * A field of the response: its response name, and all field nodes that select it. The arguments of the first
 * node apply.
 */
export interface CollectedField {
  readonly responseName: string
  readonly name: string
  readonly fieldNodes: readonly FieldNode[]
}

export function fragmentsOf({ definitions }: DocumentNode): SelectionContext['fragments'] {
  return Object.fromEntries(
    definitions.filter(d => d.kind === Kind.FRAGMENT_DEFINITION).map(d => [d.name.value, d]),
  )
}

/** Returns a field node with the selection set of the operation. */
export const toFieldNode = ({ selectionSet }: OperationDefinitionNode) => ({ selectionSet }) as FieldNode // no other member of the node is read

/**
 * Returns the collected fields of an object, in the order of the response. `fieldNodes` are the nodes that
 * select the object.
 */
export function collectFields(
  { schema, fragments, variables }: SelectionContext,
  type: GraphQLObjectType,
  fieldNodes: readonly FieldNode[],
): readonly CollectedField[] {
  // The function's parameter types are mutable, but it does not modify the arguments.
  const collected = collectSubfields(schema, { ...fragments }, { ...variables }, type, fieldNodes)
  return [...collected].map(([responseName, [first, ...others]]) => ({
    responseName,
    name: first?.name.value ?? '',
    fieldNodes: first ? [first, ...others] : [],
  }))
}

/**
 * Returns the object type of that name. Throws if the schema has none, so the name must not come from a
 * client.
 */
export function getObjectType({ schema }: Pick<SelectionContext, 'schema'>, name: string): GraphQLObjectType {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`No object type ${name} in the schema`)
  return type
}
