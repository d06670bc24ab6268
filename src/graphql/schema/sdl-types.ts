import { type Entity, getEntity, type Navigation, type Scalar } from '../../model/model.js'
import { SEARCHABLE_ENTITIES } from '../../query/limits.js'
import {
  connectionTypeNameOf,
  edgeTypeNameOf,
  filterInputNameOf,
  hasEtag,
  isExposed,
  orderInputNameOf,
  recordInputNameOf,
  SCALAR_OF,
} from './names.js'
import type { FieldDefinition, TypeDefinition } from './sdl-text.js'

export const ID_FIELD: FieldDefinition = {
  name: 'id',
  type: 'ID!',
  description: 'Identifies the record among all records, for `node`.',
}
const ETAG_FIELD: FieldDefinition = {
  name: 'etag',
  type: 'String!',
  description: 'Version of the record, for `ifMatch`.',
}

/** Returns the key of an entity, as a field or an argument. */
export const keyFieldOf = ({ key }: Entity): FieldDefinition => ({
  name: key.name,
  type: `${SCALAR_OF[key.type]}!`,
  description: key.description,
})

const filterArguments = (of: Entity): readonly FieldDefinition[] => [
  { name: 'filter', type: filterInputNameOf(of), description: 'Selects records.' },
  {
    name: 'where',
    type: 'String',
    description:
      'Selects records by an OData filter as text, for conditions that `filter` cannot express. If both are given, both must hold.',
  },
]
const orderByArgument = (of: Entity): FieldDefinition => ({
  name: 'orderBy',
  type: `[${orderInputNameOf(of)}!]`,
  description: 'One field in each object. Records that are equal in all of them are ordered by key.',
})
const SKIP_ARGUMENT: FieldDefinition = {
  name: 'skip',
  type: 'Int',
  description: 'Number of records to skip. Use cursors to read further.',
}

/** Returns the arguments that select the records of a root field. */
export const selectionArguments = (of: Entity): readonly FieldDefinition[] => [
  ...filterArguments(of),
  ...(SEARCHABLE_ENTITIES.has(of.name) ? [{ name: 'search', type: 'String', description: 'Words to look for in the texts of a record; also "whole phrases", AND, OR and NOT.' }] : []),
] // biome-ignore format: one row an argument

/** Returns the arguments of a connection field. */
export const connectionArguments = (of: Entity): readonly FieldDefinition[] => [
  ...selectionArguments(of),
  orderByArgument(of),
  { name: 'first', type: 'Int', description: 'The size of the page.' },
  { name: 'after', type: 'String', description: 'The page starts after this cursor.' },
  { name: 'last', type: 'Int', description: 'The size of a page that is read backwards.' },
  { name: 'before', type: 'String', description: 'The page ends before this cursor.' },
  SKIP_ARGUMENT,
] // biome-ignore format: one row an argument

/** Returns the object type of an entity, its connection and edge types, and its order and record inputs. */
export function toTypeDefinitions(of: Entity): readonly TypeDefinition[] {
  return [
    toObjectType(of),
    toConnectionType(of),
    toEdgeType(of),
    toOrderInput(of),
    ...(of.writable ? [toRecordInput(of)] : []),
  ]
}

function toObjectType(of: Entity): TypeDefinition {
  const fields = [...of.fields.values()].flatMap(f => {
    if (f.kind === 'navigation') return [toNavigationField(f)]
    return isExposed(f) ? [toFieldDefinition(f, isNonNull(f) ? '!' : '')] : []
  })
  return {
    head: `type ${of.typeName} implements Node`,
    description: of.description,
    fields: [ID_FIELD, ...(hasEtag(of) ? [ETAG_FIELD] : []), ...fields],
  }
}

/** Returns true for a field that is never null for any reader. */
const isNonNull = ({ nullable, readableBy, address }: Scalar) =>
  !nullable && readableBy === 'everyone' && !address

const toFieldDefinition = (s: Scalar, nonNullSuffix: string): FieldDefinition => ({
  name: s.name,
  type: `${s.collection ? `[${SCALAR_OF[s.type]}!]` : SCALAR_OF[s.type]}${nonNullSuffix}`,
  description: describeField(s),
  ...(s.deprecated !== undefined && { deprecated: s.deprecated }),
})

/** Returns the description of the model with the name of the field's Lookup. */
export const describeField = ({ description, lookup }: Scalar) =>
  lookup ? `${description} Values: the Lookup ${lookup.name}.` : description

function toNavigationField({ name, target, collection, description }: Navigation): FieldDefinition {
  const of = getEntity(target)
  if (!collection) return { name, type: of.typeName, description }
  const args = [
    ...filterArguments(of),
    orderByArgument(of),
    { name: 'first', type: 'Int', description: 'Maximum number of records. Without it all are returned.' },
    SKIP_ARGUMENT,
  ]
  return { name, type: `[${of.typeName}!]!`, description, args }
}

const toConnectionType = (of: Entity): TypeDefinition => ({
  head: `type ${connectionTypeNameOf(of)}`,
  description: `A page of ${of.typeName} records.`,
  fields: [
    {
      name: 'edges',
      type: `[${edgeTypeNameOf(of)}!]!`,
      description: 'The records with their cursors.',
    },
    { name: 'nodes', type: `[${of.typeName}!]!`, description: 'The records, without their cursors.' },
    { name: 'pageInfo', type: 'PageInfo!', description: 'The position of the page among all records.' },
    {
      name: 'totalCount',
      type: 'Int!',
      description: 'Number of records on all pages. Counted only if it is selected.',
    },
  ],
})

const toEdgeType = (of: Entity): TypeDefinition => ({
  head: `type ${edgeTypeNameOf(of)}`,
  description: `A ${of.typeName} record in a page.`,
  fields: [
    {
      name: 'cursor',
      type: 'String!',
      description: 'The position of the record, for `after` and `before` with the same filter and order.',
    },
    { name: 'node', type: `${of.typeName}!`, description: 'The record.' },
  ],
})

/** Returns the order input: fields of the record, and of the single record that a navigation leads to. */
const toOrderInput = (of: Entity): TypeDefinition => ({
  head: `input ${orderInputNameOf(of)}`,
  description: `One field to order ${of.typeName} records by. Null comes first in ascending order.`,
  fields: [
    ...of.scalars.filter(isSortable).map((s): FieldDefinition => ({ name: s.name, type: 'Direction', description: s.description, ...(s.deprecated !== undefined && { deprecated: s.deprecated }) })),
    ...of.navigations.filter(n => !n.collection).map((n): FieldDefinition => ({ name: n.name, type: orderInputNameOf(getEntity(n.target)), description: n.description })),
  ],
}) // biome-ignore format: one row a kind of field

const isSortable = (s: Scalar) => isExposed(s) && !s.collection && s.type !== 'GeographyPoint'

/**
 * Returns the input with every field that clients write. A position is written as a point. The database
 * derives the stored point from the coordinates.
 */
const toRecordInput = (of: Entity): TypeDefinition => ({
  head: `input ${recordInputNameOf(of)}`,
  description: `Fields of a ${of.typeName} record to write. Null clears a field. An omitted field is unchanged.`,
  fields: of.scalars
    .filter(s => s.setBy === 'client' && (!s.generated || s.type === 'GeographyPoint'))
    .map(toInputField),
})

const toInputField = (s: Scalar): FieldDefinition => {
  const description = describeField(s)
  return {
    ...toFieldDefinition(s, ''),
    description: s.required ? `${description} Required for a new record.` : description,
  }
}
