import { makeExecutableSchema } from '@graphql-tools/schema'
import type { GraphQLSchema } from 'graphql'
import { TRANSITIONS } from '../../domain/lifecycle.js'
import { ENTITIES, type Entity, getEntity, getScalar, type Scalar } from '../../model/model.js'
import { hasEvents } from '../../service/tracked-sources.js'
import { DELTA_TYPES, REMOVAL_REASON_ENUM, toChangesField, toDeltaType } from './delta-types.js'
import { describeArgument } from './descriptions.js'
import { DIGEST_FIELD, DIGEST_TYPES } from './digest-types.js'
import { withSpecifiedLocations } from './directive-locations.js'
import {
  argumentTypeOf,
  FILTER_INPUTS,
  type FilterField,
  type FilterInput,
  type FunctionArgument,
} from './filter-inputs.js'
import {
  connectionTypeNameOf,
  filterInputNameOf,
  recordInputNameOf,
  rootFieldNamesOf,
  SCALAR_OF,
} from './names.js'
import { SCALAR_DEFINITIONS, SCALARS } from './scalars.js'
import {
  type FieldDefinition,
  renderDescription,
  renderTypeDefinition,
  type TypeDefinition,
} from './sdl-text.js'
import { connectionArguments, describeField, ID_FIELD, toTypeDefinitions } from './sdl-types.js'

const PROPERTY = getEntity('Property')
/** The key of an entity, as a field or an argument. */
const keyFieldOf = ({ key }: Entity): FieldDefinition => ({
  name: key.name,
  type: `${SCALAR_OF[key.type]}!`,
  description: key.description,
})
const KEY_FIELD = keyFieldOf(PROPERTY)
const IF_MATCH_ARGUMENT: FieldDefinition = {
  name: 'ifMatch',
  type: 'String',
  description: 'The `etag` of the record as it was read. Nothing is written if the record has another one.',
}
const CHANGED_BY_ARGUMENT: FieldDefinition = {
  name: 'ChangedByMemberKey',
  type: 'String',
  description: 'The member who makes the change. Required unless the token identifies one.',
}

/**
 * Renders the schema in the schema definition language. It is derived from the model, the functions and the
 * transitions.
 */
export function renderSdl(): string {
  const entities = [...ENTITIES.values()]
  const definitions = [
    toQueryType(entities),
    MUTATION_TYPE,
    SUBSCRIPTION_TYPE,
    ...SHARED_TYPES,
    ...DELTA_TYPES,
    ...DIGEST_TYPES,
    ...entities.flatMap(toTypeDefinitions),
    ...entities.filter(hasEvents).map(toDeltaType),
    ...[...FILTER_INPUTS.values()].flatMap(toInputTypes),
  ]
  return [
    ...definitions.map(renderTypeDefinition),
    DIRECTION_ENUM,
    REMOVAL_REASON_ENUM,
    ...SCALAR_DEFINITIONS.map(renderScalarDefinition),
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
    DIGEST_FIELD,
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

const PROPERTY_RESULT = { type: PROPERTY.typeName }
const INPUT_ARGUMENT: FieldDefinition = {
  name: 'input',
  type: `${recordInputNameOf(PROPERTY)}!`,
  description: 'The fields to write.',
}

/** Fields that a transition requires are its arguments. */
const toTransitionField = ({
  name,
  description,
  from,
  to,
  requires,
}: (typeof TRANSITIONS)[number]): FieldDefinition => ({
  name,
  ...PROPERTY_RESULT,
  description: `${description} From ${from.join(', ')} to ${to}.`,
  args: [
    KEY_FIELD,
    ...requires.map(field => toRequiredArgument(getScalar(PROPERTY, field))),
    CHANGED_BY_ARGUMENT,
    IF_MATCH_ARGUMENT,
  ],
})

const toRequiredArgument = (field: Scalar): FieldDefinition => ({
  name: field.name,
  type: `${SCALAR_OF[field.type]}!`,
  description: describeField(field),
})

const MUTATION_TYPE: TypeDefinition = {
  head: 'type Mutation',
  description:
    'Writes records. The mutations of a document run one after the other, each in its own transaction. A failure does not roll back the others.',
  fields: [
    {
      name: 'createDraft',
      ...PROPERTY_RESULT,
      description: 'Creates a listing that is not published yet.',
      args: [INPUT_ARGUMENT],
    },
    {
      name: 'updateProperty',
      ...PROPERTY_RESULT,
      description: 'Changes the specified fields of a listing.',
      args: [KEY_FIELD, INPUT_ARGUMENT, IF_MATCH_ARGUMENT],
    },
    ...TRANSITIONS.map(toTransitionField),
    {
      name: 'deleteProperty',
      type: 'DeletedProperty',
      description: 'Deletes a listing with its Media, Rooms and OpenHouses.',
      args: [KEY_FIELD, IF_MATCH_ARGUMENT],
    },
  ],
}

const SUBSCRIPTION_TYPE: TypeDefinition = {
  head: 'type Subscription',
  description: 'Receives changes as they happen.',
  fields: [
    {
      name: 'propertyChanged',
      type: 'PropertyChange!',
      description: 'Changes of listings, in the order in which they were made.',
      args: [
        {
          name: 'filter',
          type: filterInputNameOf(PROPERTY),
          description:
            'Only listings that match. The first change after which a listing does not match is sent without `property`, since it may have matched before.',
        },
        {
          name: 'where',
          type: 'String',
          description: 'An OData filter as text, with the same effect as `filter`.',
        },
        {
          name: 'since',
          type: 'Long',
          description: 'Starts after the change with this EntityEventSequence, so that none is missed.',
        },
      ],
    },
  ],
}

const SHARED_TYPES: readonly TypeDefinition[] = [
  {
    head: 'interface Node',
    description: 'A record that `node` can read by its `id`.',
    fields: [ID_FIELD],
  },
  {
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
  },
  {
    head: 'type DeletedProperty',
    description: 'A deleted listing.',
    fields: [ID_FIELD, KEY_FIELD],
  },
  {
    head: 'type PropertyChange',
    description: 'A change of a listing.',
    fields: [
      {
        name: 'EntityEventSequence',
        type: 'Long!',
        description: 'The number of the change, for `since`.',
      },
      KEY_FIELD,
      {
        name: 'property',
        type: PROPERTY.typeName,
        description:
          'The current listing. Null if it was deleted, is no longer visible, or does not match the filter.',
      },
    ],
  },
]

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

/** Creates the executable schema. Scalars coerce and serialize values; fields have no resolvers. */
export const createSchema = (sdl: string): GraphQLSchema =>
  withSpecifiedLocations(makeExecutableSchema({ typeDefs: sdl, resolvers: { ...SCALARS } }))
