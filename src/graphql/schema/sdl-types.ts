import { type Entity, entity, type Navigation, type Scalar } from '../../model/model.js'
import { SEARCHABLE } from '../../query/limits.js'
import { connectionOf, edgeOf, filterOf, hasEtag, inputOf, isReadable, orderOf, SCALAR_OF } from './names.js'
import type { Definition, Member } from './sdl-text.js'

const ID: Member = {
  name: 'id',
  type: 'ID!',
  description: 'Names the record among all records: what `node` takes.',
}
const ETAG: Member = {
  name: 'etag',
  type: 'String!',
  description: 'Version of the record: what `ifMatch` takes.',
}

const CONDITIONS = (of: Entity): readonly Member[] => [
  { name: 'filter', type: filterOf(of), description: 'Which records.' },
  {
    name: 'where',
    type: 'String',
    description:
      'Which records, as the text of a filter of OData, for what `filter` cannot say. With both, both must hold.',
  },
]
const ORDER = (of: Entity): Member => ({
  name: 'orderBy',
  type: `[${orderOf(of)}!]`,
  description: 'One field in each object. What is equal in all of them is in the order of the keys.',
})
const SKIP: Member = {
  name: 'skip',
  type: 'Int',
  description: 'Leaves out that many records first. To read far, use cursors.',
}

/** The arguments of a field that gives a page of an entity. */
export const pageArguments = (of: Entity): readonly Member[] => [
  ...CONDITIONS(of),
  ...(SEARCHABLE.has(of.name) ? [{ name: 'search', type: 'String', description: 'Words to look for in the texts of a record; also "whole phrases", AND, OR and NOT.' }] : []),
  ORDER(of),
  { name: 'first', type: 'Int', description: 'The size of the page.' },
  { name: 'after', type: 'String', description: 'The page begins behind this cursor.' },
  { name: 'last', type: 'Int', description: 'The size of a page that is read backwards.' },
  { name: 'before', type: 'String', description: 'The page ends before this cursor.' },
  SKIP,
] // biome-ignore format: one row an argument

/** The object type of an entity, its connection and edge, and what orders and changes its records. */
export function toTypes(of: Entity): readonly Definition[] {
  return [toObject(of), toConnection(of), toEdge(of), toOrder(of), ...(of.writable ? [toInput(of)] : [])]
}

function toObject(of: Entity): Definition {
  const fields = [...of.fields.values()].flatMap(f => {
    if (f.kind === 'navigation') return [toNavigation(f)]
    return isReadable(f) ? [toField(f, isAlways(f) ? '!' : '')] : []
  })
  return {
    head: `type ${of.typeName} implements Node`,
    description: of.description,
    members: [ID, ...(hasEtag(of) ? [ETAG] : []), ...fields],
  }
}

/** The field has a value in every record, for every reader. */
const isAlways = ({ nullable, readableBy, address }: Scalar) =>
  !nullable && readableBy === 'everyone' && !address

const toField = (s: Scalar, always: string): Member => ({
  name: s.name,
  type: `${s.collection ? `[${SCALAR_OF[s.type]}!]` : SCALAR_OF[s.type]}${always}`,
  description: describeField(s),
  ...(s.deprecated !== undefined && { deprecated: s.deprecated }),
})

/** The words of the model, and the Lookup that holds the values. */
const describeField = ({ description, lookup }: Scalar) =>
  lookup ? `${description} Values: the Lookup ${lookup.name}.` : description

function toNavigation({ name, target, collection, description }: Navigation): Member {
  const of = entity(target)
  if (!collection) return { name, type: of.typeName, description }
  const args = [
    ...CONDITIONS(of),
    ORDER(of),
    { name: 'first', type: 'Int', description: 'That many at most. Without it: all.' },
    SKIP,
  ]
  return { name, type: `[${of.typeName}!]!`, description, args }
}

const toConnection = (of: Entity): Definition => ({
  head: `type ${connectionOf(of)}`,
  description: `A page of records of ${of.typeName}.`,
  members: [
    { name: 'edges', type: `[${edgeOf(of)}!]!` },
    { name: 'nodes', type: `[${of.typeName}!]!`, description: 'The records, without their cursors.' },
    { name: 'pageInfo', type: 'PageInfo!' },
    {
      name: 'totalCount',
      type: 'Int!',
      description: 'How many records there are on all pages. Counted only if it is asked for.',
    },
  ],
})

const toEdge = (of: Entity): Definition => ({
  head: `type ${edgeOf(of)}`,
  description: `A record of ${of.typeName} in a page.`,
  members: [
    {
      name: 'cursor',
      type: 'String!',
      description: 'Where the record stands: what `after` and `before` take, with the same filter and order.',
    },
    { name: 'node', type: `${of.typeName}!` },
  ],
})

/** What records can be ordered by: also fields of the one record that a navigation leads to. */
const toOrder = (of: Entity): Definition => ({
  head: `input ${orderOf(of)}`,
  description: `One field to order records of ${of.typeName} by. Null comes first in ascending order.`,
  members: [
    ...of.scalars.filter(isSortable).map((s): Member => ({ name: s.name, type: 'Direction', ...(s.deprecated !== undefined && { deprecated: s.deprecated }) })),
    ...of.navigations.filter(n => !n.collection).map((n): Member => ({ name: n.name, type: orderOf(entity(n.target)) })),
  ],
}) // biome-ignore format: one row a kind of field

const isSortable = (s: Scalar) => isReadable(s) && !s.collection && s.type !== 'GeographyPoint'

/**
 * Every field that clients write. A position is written as a point, though the database makes that of its
 * coordinates.
 */
const toInput = (of: Entity): Definition => ({
  head: `input ${inputOf(of)}`,
  description: `Fields of a record of ${of.typeName} that are written. Null empties a field, one that is left out stays as it is.`,
  members: of.scalars
    .filter(s => s.setBy === 'client' && (!s.generated || s.type === 'GeographyPoint'))
    .map(toWritten),
})

const toWritten = (s: Scalar): Member => {
  const description = describeField(s)
  return {
    ...toField(s, ''),
    description: s.required ? `${description} A new record must have it.` : description,
  }
}
