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

const ID_FIELD: FieldDefinition = {
  name: 'id',
  type: 'ID!',
  description: 'Names the record among all records: what `node` takes.',
}
const ETAG_FIELD: FieldDefinition = {
  name: 'etag',
  type: 'String!',
  description: 'Version of the record: what `ifMatch` takes.',
}

const filterArguments = (of: Entity): readonly FieldDefinition[] => [
  { name: 'filter', type: filterInputNameOf(of), description: 'Which records.' },
  {
    name: 'where',
    type: 'String',
    description:
      'Which records, as the text of a filter of OData, for what `filter` cannot say. With both, both must hold.',
  },
]
const orderByArgument = (of: Entity): FieldDefinition => ({
  name: 'orderBy',
  type: `[${orderInputNameOf(of)}!]`,
  description: 'One field in each object. What is equal in all of them is in the order of the keys.',
})
const SKIP_ARGUMENT: FieldDefinition = {
  name: 'skip',
  type: 'Int',
  description: 'Leaves out that many records first. To read far, use cursors.',
}

/** The arguments of a field that gives a page of an entity. */
export const connectionArguments = (of: Entity): readonly FieldDefinition[] => [
  ...filterArguments(of),
  ...(SEARCHABLE_ENTITIES.has(of.name) ? [{ name: 'search', type: 'String', description: 'Words to look for in the texts of a record; also "whole phrases", AND, OR and NOT.' }] : []),
  orderByArgument(of),
  { name: 'first', type: 'Int', description: 'The size of the page.' },
  { name: 'after', type: 'String', description: 'The page begins behind this cursor.' },
  { name: 'last', type: 'Int', description: 'The size of a page that is read backwards.' },
  { name: 'before', type: 'String', description: 'The page ends before this cursor.' },
  SKIP_ARGUMENT,
] // biome-ignore format: one row an argument

/** The object type of an entity, its connection and edge, and what orders and changes its records. */
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

/** The field has a value in every record, for every reader. */
const isNonNull = ({ nullable, readableBy, address }: Scalar) =>
  !nullable && readableBy === 'everyone' && !address

const toFieldDefinition = (s: Scalar, nonNullSuffix: string): FieldDefinition => ({
  name: s.name,
  type: `${s.collection ? `[${SCALAR_OF[s.type]}!]` : SCALAR_OF[s.type]}${nonNullSuffix}`,
  description: describeField(s),
  ...(s.deprecated !== undefined && { deprecated: s.deprecated }),
})

/** The words of the model, and the Lookup that holds the values. */
const describeField = ({ description, lookup }: Scalar) =>
  lookup ? `${description} Values: the Lookup ${lookup.name}.` : description

function toNavigationField({ name, target, collection, description }: Navigation): FieldDefinition {
  const of = getEntity(target)
  if (!collection) return { name, type: of.typeName, description }
  const args = [
    ...filterArguments(of),
    orderByArgument(of),
    { name: 'first', type: 'Int', description: 'That many at most. Without it: all.' },
    SKIP_ARGUMENT,
  ]
  return { name, type: `[${of.typeName}!]!`, description, args }
}

const toConnectionType = (of: Entity): TypeDefinition => ({
  head: `type ${connectionTypeNameOf(of)}`,
  description: `A page of records of ${of.typeName}.`,
  fields: [
    { name: 'edges', type: `[${edgeTypeNameOf(of)}!]!` },
    { name: 'nodes', type: `[${of.typeName}!]!`, description: 'The records, without their cursors.' },
    { name: 'pageInfo', type: 'PageInfo!' },
    {
      name: 'totalCount',
      type: 'Int!',
      description: 'How many records there are on all pages. Counted only if it is asked for.',
    },
  ],
})

const toEdgeType = (of: Entity): TypeDefinition => ({
  head: `type ${edgeTypeNameOf(of)}`,
  description: `A record of ${of.typeName} in a page.`,
  fields: [
    {
      name: 'cursor',
      type: 'String!',
      description: 'Where the record stands: what `after` and `before` take, with the same filter and order.',
    },
    { name: 'node', type: `${of.typeName}!` },
  ],
})

/** What records can be ordered by: also fields of the one record that a navigation leads to. */
const toOrderInput = (of: Entity): TypeDefinition => ({
  head: `input ${orderInputNameOf(of)}`,
  description: `One field to order records of ${of.typeName} by. Null comes first in ascending order.`,
  fields: [
    ...of.scalars.filter(isSortable).map((s): FieldDefinition => ({ name: s.name, type: 'Direction', ...(s.deprecated !== undefined && { deprecated: s.deprecated }) })),
    ...of.navigations.filter(n => !n.collection).map((n): FieldDefinition => ({ name: n.name, type: orderInputNameOf(getEntity(n.target)) })),
  ],
}) // biome-ignore format: one row a kind of field

const isSortable = (s: Scalar) => isExposed(s) && !s.collection && s.type !== 'GeographyPoint'

/**
 * Every field that clients write. A position is written as a point, though the database makes that of its
 * coordinates.
 */
const toRecordInput = (of: Entity): TypeDefinition => ({
  head: `input ${recordInputNameOf(of)}`,
  description: `Fields of a record of ${of.typeName} that are written. Null empties a field, one that is left out stays as it is.`,
  fields: of.scalars
    .filter(s => s.setBy === 'client' && (!s.generated || s.type === 'GeographyPoint'))
    .map(toInputField),
})

const toInputField = (s: Scalar): FieldDefinition => {
  const description = describeField(s)
  return {
    ...toFieldDefinition(s, ''),
    description: s.required ? `${description} A new record must have it.` : description,
  }
}
