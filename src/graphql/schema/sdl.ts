import { makeExecutableSchema } from '@graphql-tools/schema'
import type { GraphQLSchema } from 'graphql'
import { TRANSITIONS } from '../../domain/lifecycle.js'
import { ENTITIES, type Entity, entity, scalar } from '../../model/model.js'
import { type Argument, FILTERS, type FilterField, type FilterInput, typeOf } from './filter-inputs.js'
import { connectionOf, filterOf, inputOf, rootOf, SCALAR_OF } from './names.js'
import { SCALAR_TABLE, SCALARS } from './scalars.js'
import { type Definition, describe, type Member, renderDefinition } from './sdl-text.js'
import { pageArguments, toTypes } from './sdl-types.js'

const PROPERTY = entity('Property')
const KEY: Member = { name: PROPERTY.key.name, type: `${SCALAR_OF[PROPERTY.key.type]}!` }
const IF_MATCH: Member = {
  name: 'ifMatch',
  type: 'String',
  description: 'The `etag` that was read: nothing is written if the record has another one by now.',
}
const CHANGED_BY: Member = {
  name: 'ChangedByMemberKey',
  type: 'String',
  description: 'The member who makes the change. Needed unless the token names one.',
}

/**
 * The schema in the schema definition language: all of it follows from the model, the functions and the
 * transitions.
 */
export function renderSdl(): string {
  const entities = [...ENTITIES.values()]
  const definitions = [
    toQuery(entities),
    MUTATION,
    SUBSCRIPTION,
    ...SHARED,
    ...entities.flatMap(toTypes),
    ...[...FILTERS.values()].flatMap(toInputs),
  ]
  return [...definitions.map(renderDefinition), DIRECTION, ...SCALAR_TABLE.map(renderScalar)].join('\n')
}

const NODE_ID: Member = { name: 'id', type: 'ID!' }

const toQuery = (entities: readonly Entity[]): Definition => ({
  head: 'type Query',
  description: 'What can be read. Every answer holds only what the token may see.',
  members: [
    ...entities.flatMap(toRoots),
    {
      name: 'node',
      type: 'Node',
      description: 'Any record, by the `id` that it was read with.',
      args: [NODE_ID],
    },
  ],
})

function toRoots(of: Entity): readonly Member[] {
  const { one, many } = rootOf(of)
  const key = { name: of.key.name, type: `${SCALAR_OF[of.key.type]}!` }
  return [
    {
      name: one,
      type: of.typeName,
      description: `The record of ${of.typeName} with this key; null if there is none.`,
      args: [key],
    },
    {
      name: many,
      type: `${connectionOf(of)}!`,
      description: `Records of ${of.typeName}, a page at a time.`,
      args: pageArguments(of),
    },
  ]
}

const written = { type: PROPERTY.typeName }
const input: Member = { name: 'input', type: `${inputOf(PROPERTY)}!` }

/** The fields that must have a value for a transition are arguments of it. */
const toTransition = ({ name, description, from, to, requires }: (typeof TRANSITIONS)[number]): Member => ({
  name,
  ...written,
  description: `${description} From ${from.join(', ')} to ${to}.`,
  args: [
    KEY,
    ...requires.map(field => ({ name: field, type: `${SCALAR_OF[scalar(PROPERTY, field).type]}!` })),
    CHANGED_BY,
    IF_MATCH,
  ],
})

const MUTATION: Definition = {
  head: 'type Mutation',
  description:
    'What can be written. The changes of one document are made one after the other, each on its own: one that fails takes none of the others back.',
  members: [
    {
      name: 'createDraft',
      ...written,
      description: 'Creates a listing that is not published yet.',
      args: [input],
    },
    {
      name: 'updateProperty',
      ...written,
      description: 'Changes the fields of a listing that are given.',
      args: [KEY, input, IF_MATCH],
    },
    ...TRANSITIONS.map(toTransition),
    {
      name: 'deleteProperty',
      type: 'DeletedProperty',
      description: 'Removes a listing with its Media, Rooms and OpenHouses.',
      args: [KEY, IF_MATCH],
    },
  ],
}

const SUBSCRIPTION: Definition = {
  head: 'type Subscription',
  description: 'What is told as it happens.',
  members: [
    {
      name: 'propertyChanged',
      type: 'PropertyChange!',
      description: 'Changes of listings, in the order in which they were made.',
      args: [
        {
          name: 'filter',
          type: filterOf(PROPERTY),
          description:
            'Only listings that are so. Of one that is not it is told once, without `property`: it may have been so before.',
        },
        { name: 'where', type: 'String', description: 'The same as the text of a filter of OData.' },
        {
          name: 'since',
          type: 'Long',
          description: 'Begins behind the change of this EntityEventSequence, so that none is missed.',
        },
      ],
    },
  ],
}

const SHARED: readonly Definition[] = [
  { head: 'interface Node', description: 'A record that `node` finds again.', members: [NODE_ID] },
  {
    head: 'type PageInfo',
    description: 'Where a page stands among all records (Relay, GraphQL Cursor Connections).',
    members: [
      { name: 'hasNextPage', type: 'Boolean!' },
      { name: 'hasPreviousPage', type: 'Boolean!' },
      { name: 'startCursor', type: 'String' },
      { name: 'endCursor', type: 'String' },
    ],
  },
  { head: 'type DeletedProperty', description: 'A listing that is no more.', members: [NODE_ID, KEY] },
  {
    head: 'type PropertyChange',
    description: 'A change of a listing.',
    members: [
      {
        name: 'EntityEventSequence',
        type: 'Long!',
        description: 'The number of the change: what `since` takes.',
      },
      KEY,
      {
        name: 'property',
        type: PROPERTY.typeName,
        description:
          'The listing as it is now; null if it was removed, cannot be seen any more, or is not what was asked for.',
      },
    ],
  },
]

const DIRECTION = `${describe('The direction of an order.')}\nenum Direction {\n  ASC\n  DESC\n}\n`

/** A filter input, and those that hold the arguments of its functions. */
function toInputs({ name, description, fields }: FilterInput): readonly Definition[] {
  const members = [...fields.values()]
  return [{ head: `input ${name}`, description, members }, ...members.flatMap(toStep)]
}

function toStep({ name, type, means }: FilterField): readonly Definition[] {
  if (means.kind !== 'countOf' && means.kind !== 'step') return []
  const args =
    means.kind === 'countOf'
      ? [{ name: 'filter', type: `${means.filter}!` }]
      : means.arguments.map(toArgument)
  const is: Member = { name: 'is', type: `${means.to}!` }
  const description = `What \`${name}\` takes, and what must be true of what it makes.`
  return args.length === 0 ? [] : [{ head: `input ${type}`, description, members: [...args, is] }]
}

const toArgument = (a: Argument): Member => ({ name: a.name, type: `${typeOf(a)}${a.optional ? '' : '!'}` })

const renderScalar = ({ name, description, specifiedBy }: (typeof SCALAR_TABLE)[number]): string =>
  `${describe(description)}\nscalar ${name}${specifiedBy === undefined ? '' : ` @specifiedBy(url: ${JSON.stringify(specifiedBy)})`}\n`

/**
 * The schema that documents are read by, of its text. Its scalars read and write their values; no field has a
 * resolver.
 */
export const createSchema = (sdl: string): GraphQLSchema =>
  makeExecutableSchema({ typeDefs: sdl, resolvers: { ...SCALARS } })
