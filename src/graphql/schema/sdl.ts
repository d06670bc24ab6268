import { makeExecutableSchema } from '@graphql-tools/schema'
import type { GraphQLSchema } from 'graphql'
import type { Entity } from '../../model/model.js'
import { hasEvents } from '../../service/tracked-sources.js'
import { DELTA_TYPES, REMOVAL_REASON_ENUM, toChangesField, toDeltaType } from './delta-types.js'
import { describeArgument } from './descriptions.js'
import { DIGEST_FIELD, DIGEST_TYPES } from './digest-types.js'
import { withSpecifiedLocations } from './directive-locations.js'
import { argumentTypeOf, type FilterField, type FilterInput, type FunctionArgument } from './filter-inputs.js'
import { toDeletedType, toMutationType } from './mutation-fields.js'
import { connectionTypeNameOf, rootFieldNamesOf } from './names.js'
import { reachableTypeNames, typeNameOf } from './reachable-types.js'
import { SCALAR_DEFINITIONS, SCALARS } from './scalars.js'
import type { SchemaModel } from './schema-model.js'
import {
  type FieldDefinition,
  renderDescription,
  renderTypeDefinition,
  type TypeDefinition,
} from './sdl-text.js'
import { connectionArguments, ID_FIELD, keyFieldOf, toTypeDefinitions } from './sdl-types.js'
import { PROPERTY_CHANGE_TYPE, SUBSCRIPTION_TYPE } from './subscription-types.js'

/**
 * Renders the schema in the schema definition language. It is derived from the model, the functions and the
 * transitions. A type that no field of the root types leads to is left out.
 */
export function renderSdl({ entities, mutations, filterInputs }: SchemaModel): string {
  const roots = [
    toQueryType(entities),
    toMutationType(mutations),
    ...(entities.some(hasEvents) ? [SUBSCRIPTION_TYPE] : []),
  ]
  const definitions = [
    ...roots,
    NODE_INTERFACE,
    PAGE_INFO_TYPE,
    ...entities.filter(({ writable }) => writable).map(toDeletedType),
    PROPERTY_CHANGE_TYPE,
    ...DELTA_TYPES,
    ...DIGEST_TYPES,
    ...entities.flatMap(toTypeDefinitions),
    ...entities.filter(hasEvents).map(toDeltaType),
    ...[...filterInputs.values()].flatMap(toInputTypes),
  ]
  const used = reachableTypeNames(roots, definitions)
  return [
    ...definitions.filter(definition => used.has(typeNameOf(definition))).map(renderTypeDefinition),
    DIRECTION_ENUM,
    ...(used.has('RemovalReason') ? [REMOVAL_REASON_ENUM] : []),
    ...SCALAR_DEFINITIONS.filter(({ name }) => used.has(name)).map(renderScalarDefinition),
  ].join('\n')
}

const toQueryType = (entities: readonly Entity[]): TypeDefinition => ({
  head: 'type Query',
  description: 'Reads records. Every response contains only data that the token may see.',
  fields: [
    ...entities.flatMap(toRootFields),
    {
      name: 'node',
      type: 'Node',
      description: 'Any record by its `id`.',
      args: [ID_FIELD],
    },
    ...(entities.some(hasEvents) ? [DIGEST_FIELD] : []),
  ],
})

function toRootFields(of: Entity): readonly FieldDefinition[] {
  const { one, many, changes } = rootFieldNamesOf(of)
  return [
    {
      name: one,
      type: of.typeName,
      description: `The ${of.typeName} record with this key, or null.`,
      args: [keyFieldOf(of)],
    },
    {
      name: many,
      type: `${connectionTypeNameOf(of)}!`,
      description: `${of.typeName} records, page by page.`,
      args: connectionArguments(of),
    },
    ...(changes === undefined ? [] : [toChangesField(of, changes)]),
  ]
}

const NODE_INTERFACE: TypeDefinition = {
  head: 'interface Node',
  description: 'A record that `node` can read by its `id`.',
  fields: [ID_FIELD],
}

const PAGE_INFO_TYPE: TypeDefinition = {
  head: 'type PageInfo',
  description: 'The position of a page among all records (Relay, GraphQL Cursor Connections).',
  fields: [
    { name: 'hasNextPage', type: 'Boolean!', description: 'True if records follow the page.' },
    { name: 'hasPreviousPage', type: 'Boolean!', description: 'True if records precede the page.' },
    {
      name: 'startCursor',
      type: 'String',
      description: 'Cursor of the first record. Null for an empty page.',
    },
    {
      name: 'endCursor',
      type: 'String',
      description: 'Cursor of the last record. Null for an empty page.',
    },
  ],
}

const DIRECTION_ENUM = `${renderDescription('The direction of an order.')}
enum Direction {
  ${renderDescription('Ascending. Null comes first.')}
  ASC
  ${renderDescription('Descending. Null comes last.')}
  DESC
}
`

/** Returns the types of a filter input, including the inputs for the arguments of its functions. */
function toInputTypes({ name, description, fields }: FilterInput): readonly TypeDefinition[] {
  const inputFields = [...fields.values()]
  return [
    { head: `input ${name}`, description, fields: inputFields },
    ...inputFields.flatMap(toFunctionInputTypes),
  ]
}

function toFunctionInputTypes({ name, type, operator }: FilterField): readonly TypeDefinition[] {
  if (operator.kind !== 'countOf' && operator.kind !== 'function') return []
  const args =
    operator.kind === 'countOf'
      ? [{ name: 'filter', type: `${operator.filter}!`, description: 'Selects the records to count.' }]
      : operator.arguments.map(toInputValueDefinition)
  const isField: FieldDefinition = {
    name: 'is',
    type: `${operator.to}!`,
    description: 'Conditions on the result. All of them must hold.',
  }
  const description = `The arguments of \`${name}\`, and the condition on its result.`
  return args.length === 0 ? [] : [{ head: `input ${type}`, description, fields: [...args, isField] }]
}

const toInputValueDefinition = (a: FunctionArgument): FieldDefinition => ({
  name: a.name,
  type: `${argumentTypeOf(a)}${a.optional ? '' : '!'}`,
  description: describeArgument(a.name),
})

const renderScalarDefinition = ({
  name,
  description,
  specifiedBy,
}: (typeof SCALAR_DEFINITIONS)[number]): string =>
  `${renderDescription(description)}\nscalar ${name}${specifiedBy === undefined ? '' : ` @specifiedBy(url: ${JSON.stringify(specifiedBy)})`}\n`

/**
 * Creates the executable schema. Scalars coerce and serialize values; fields have no resolvers. A schema may
 * have only some of the scalars.
 */
export const createSchema = (sdl: string): GraphQLSchema =>
  withSpecifiedLocations(
    makeExecutableSchema({
      typeDefs: sdl,
      resolvers: { ...SCALARS },
      resolverValidationOptions: { requireResolversToMatchSchema: 'ignore' },
    }),
  )
