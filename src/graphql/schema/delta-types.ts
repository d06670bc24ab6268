import type { Entity } from '../../model/model.js'
import { deltaTypeNameOf } from './names.js'
import { type FieldDefinition, renderDescription, type TypeDefinition } from './sdl-text.js'
import { ID_FIELD, selectionArguments } from './sdl-types.js'

/** Returns the field of Query with the changes of an entity, the counterpart of OData's delta links. */
export const toChangesField = (of: Entity, name: string): FieldDefinition => ({
  name,
  type: `${deltaTypeNameOf(of)}!`,
  description: `${of.typeName} records that have changed since a token was given, as they are now, and the keys of those to remove from a copy.`,
  args: [
    {
      name: 'since',
      type: 'String',
      description:
        'The `token` of an earlier response with the same filter and rights. Without it, or with null, the response has no records, only a token for the current position.',
    },
    ...selectionArguments(of),
    {
      name: 'first',
      type: 'Int',
      description: 'Maximum number of records and removed records together. Without it, the size of a page.',
    },
  ],
})

/** Returns the type of the field. */
export const toDeltaType = (of: Entity): TypeDefinition => ({
  head: `type ${deltaTypeNameOf(of)}`,
  description: `A page of changes of ${of.typeName} records.`,
  fields: [
    {
      name: 'records',
      type: `[${of.typeName}!]!`,
      description: 'Records that match the filter and have changed. They replace those of the copy.',
    },
    { name: 'removed', type: '[RemovedRecord!]!', description: 'Records to remove from a copy.' },
    {
      name: 'hasNextPage',
      type: 'Boolean!',
      description: 'True if there is another page, which `token` reads.',
    },
    {
      name: 'token',
      type: 'String!',
      description: 'The next value of `since`: for the next page, or for later changes.',
    },
  ],
})

/** The types that all such fields share. */
export const DELTA_TYPES: readonly TypeDefinition[] = [
  {
    head: 'type RemovedRecord',
    description: 'A record to remove from a copy.',
    fields: [
      { ...ID_FIELD, description: 'The `id` that the record had.' },
      { name: 'key', type: 'String!', description: 'The key of the record.' },
      { name: 'reason', type: 'RemovalReason!', description: 'The reason for the removal.' },
    ],
  },
]

export const REMOVAL_REASON_ENUM = `${renderDescription('The reason for the removal of a record from a copy.')}
enum RemovalReason {
  ${renderDescription('The record was deleted.')}
  DELETED
  ${renderDescription('The record does not match the filter, or the token does not see it.')}
  CHANGED
}
`
