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
// The spec's CollectFields: merging of fields, fragments, @skip and @include. The package keeps it to itself,
// and nobody should write it twice.
import { collectSubfields } from 'graphql/execution/collectFields.js'

/** Values as graphql-js has coerced them. */
export type InputValues = { readonly [name: string]: unknown }

/** What the selections of an operation are read with. */
export interface SelectionContext {
  readonly schema: GraphQLSchema
  readonly fragments: Readonly<Record<string, FragmentDefinitionNode>>
  /** Coerced; a variable without a value is absent. */
  readonly variables: InputValues
}

/**
 * A field of an answer: its name there, and all nodes of the document that ask for it. The first one's
 * arguments hold for all.
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

/** The operation as a field, whose selection set it has. */
export const toFieldNode = ({ selectionSet }: OperationDefinitionNode) => ({ selectionSet }) as FieldNode // nothing else of it is looked at

/**
 * What is asked of an object, by the selection sets of the nodes that lead to it; in the order of the answer.
 */
export function collectFields(
  { schema, fragments, variables }: SelectionContext,
  type: GraphQLObjectType,
  fieldNodes: readonly FieldNode[],
): readonly CollectedField[] {
  // Its types want what can be written; it writes nothing.
  const collected = collectSubfields(schema, { ...fragments }, { ...variables }, type, fieldNodes)
  return [...collected].map(([responseName, [first, ...others]]) => ({
    responseName,
    name: first?.name.value ?? '',
    fieldNodes: first ? [first, ...others] : [],
  }))
}

/** The object type of that name. Only for names that the schema itself has. */
export function getObjectType({ schema }: Pick<SelectionContext, 'schema'>, name: string): GraphQLObjectType {
  const type = schema.getType(name)
  if (!isObjectType(type)) throw new Error(`No object type ${name} in the schema`)
  return type
}
