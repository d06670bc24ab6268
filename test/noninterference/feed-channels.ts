import { toGlobalId } from '../../src/graphql/schema/global-id.js'
import { getEntity, type Scalar } from '../../src/model/model.js'
import { type Channel, type Choose, graphql, type Probe } from './channels.js'
import type { FeedRights } from './feed-changes.js'

const PROPERTY = getEntity('Property')

/** A value to compare a field with, as OData. */
const LITERALS: Readonly<Record<string, readonly string[]>> = {
  String: ["'M'", "'Seattle'", "'pool 8'"],
  Int32: ['3', '1000'],
  Decimal: ['47', '400000'],
  Int64: ['1000'],
  Boolean: ['true', 'false'],
  Date: ['2025-06-01'],
  DateTimeOffset: ['2025-06-01T00:00:00Z'],
}
/** Expressions of a single value over a field, which `$compute` names x. */
function computed({ name, type }: Scalar): string {
  if (type === 'String') return `length(${name})`
  if (type === 'Boolean') return `${name} eq true`
  return type === 'Date' || type === 'DateTimeOffset' ? `year(${name})` : `${name} add 1`
}

const property = (options: string, accept?: string): Probe => ({
  target: `/odata/Property?${options}`,
  ...(accept !== undefined && { options: { headers: { Accept: accept } } }),
})

/** Conditions on a field. */
function conditionsOn({ name, type, collection }: Scalar, pick: Choose): readonly string[] {
  if (type === 'GeographyPoint')
    return [`geo.distance(${name},geography'SRID=4326;POINT(-117 47)') lt 90000`, `not (${name} eq null)`]
  if (collection)
    return [
      `${name}/any(v:v eq 'x1')`,
      `not ${name}/any()`,
      `${name}/$count gt 0`,
      `${name}/all(v:v ne 'x2')`,
    ]
  const value = pick(LITERALS[type] ?? ['null'])
  return [
    `${name} eq null`, `not (${name} eq null)`, `${name} in (${value},null)`,
    ...(type === 'Boolean' ? [`${name} eq ${value}`] : [`${name} gt ${value}`, `not (${name} gt ${value})`]),
    ...(type === 'String' ? [`contains(${name},'a')`, `not startswith(tolower(${name}),'pool')`] : []),
  ] // biome-ignore format: a list of filters
}

/** Channels through which the values of hidden fields, and listings outside of the feed, could be found. */
export function createFeedChannels(
  { hiddenFields }: Pick<FeedRights, 'hiddenFields'>,
  keys: () => readonly string[],
): Readonly<Record<string, Channel>> {
  const hidden = PROPERTY.scalars.filter(({ name }) => hiddenFields.includes(name))
  const fieldOf = (pick: Choose) => pick(hidden.length > 0 ? hidden : PROPERTY.scalars)
  const singleOf = (pick: Choose) => {
    const single = hidden.filter(({ collection, type }) => !collection && type !== 'GeographyPoint')
    return pick(single.length > 0 ? single : PROPERTY.scalars.filter(({ name }) => name === 'ListPrice'))
  }
  const filter: Channel = (_, pick) => {
    const field = fieldOf(pick)
    const condition = pick(conditionsOn(field, pick))
    return pick([
      property(`$filter=${condition}&$select=ListingKey&$count=true`),
      property(`$filter=City eq 'Seattle' or ${condition}&$top=6`),
      { target: `/odata/Property/$count?$filter=${condition}` },
      { target: `/odata/Rooms?$filter=Listing/${condition.startsWith(field.name) ? condition : `${field.name} ne null`}&$select=RoomKey` },
      property(`$filter=${condition}`, pick(['text/csv', 'application/x-ndjson'])),
      property(`$apply=filter(${condition})/aggregate($count as n)`),
      { target: `/odata/Digest(ResourceName='Property',Buckets=2,Filter=@f)?@f=${encodeURIComponent(`'${condition.replaceAll("'", "''")}'`)}` },
      graphql(`{ properties(first: 5, where: ${JSON.stringify(condition)}) { totalCount nodes { ListingKey } } }`),
      graphql(`{ rooms(first: 20) { nodes { RoomKey Listing { ListingKey ${field.type === 'GeographyPoint' ? '' : field.name} } } } }`),
    ]) // biome-ignore format: one request a line
  }
  const order: Channel = (_, pick) => {
    const { name } = singleOf(pick)
    const direction = pick(['asc', 'desc'])
    return pick([
      property(`$orderby=${name} ${direction}&$select=ListingKey&$top=7`),
      property(`$orderby=${name} ${direction},City,ListingKey&$select=ListingKey,${name}`),
      { target: `/odata/Rooms?$orderby=Listing/${name} ${direction}&$select=RoomKey&$top=9` },
      graphql(`{ properties(first: 4, orderBy: { ${name}: ${direction.toUpperCase()} }) { edges { cursor node { ListingKey ${name} } } pageInfo { endCursor hasNextPage } } }`),
    ]) // biome-ignore format: one request a line
  }
  const compute: Channel = (_, pick) => {
    const field = singleOf(pick)
    const { name } = field
    return pick([
      property(`$compute=${computed(field)} as x&$select=ListingKey,x`),
      property(`$compute=${computed(field)} as x&$orderby=x desc&$select=ListingKey&$top=9`),
      property(`$compute=${computed(field)} as x&$filter=x ne null&$select=ListingKey`),
      property(`$apply=aggregate(${name} with max as m,$count as n)`),
      property(`$apply=aggregate(${name} with countdistinct as m)`),
      property(`$apply=groupby((${name}),aggregate($count as n))`),
      property(`$apply=groupby((City),aggregate(${name} with min as m))`),
      property(`$apply=filter(City ne null)/groupby((StandardStatus,${name}))`),
    ]) // biome-ignore format: one request a line
  }
  const single: Channel = (_, pick) => {
    const [key, { name }] = [pick([...keys(), 'L000000001', 'L000000002']), fieldOf(pick)]
    return pick([
      { target: `/odata/Property('${key}')` },
      { target: `/odata/Property('${key}')/${name}` },
      { target: `/odata/Property('${key}')?$select=${name}&$expand=*` },
      { target: `/odata/Property('${key}')/Media/$count` },
      { target: `/odata/Property('${key}')/ListAgent` },
      { target: `/odata/Property('${key}')`, options: { method: 'HEAD' } },
      graphql(`{ node(id: ${JSON.stringify(toGlobalId({ of: PROPERTY, key }))}) { id ... on Property { ListingKey City PhotosCount etag } } }`),
    ]) // biome-ignore format: one request a line
  }
  const search: Channel = (_, pick) => {
    const words = pick(['pool', 'view', 'Seattle', 'view OR pool', 'NOT pool', 'kitchen'])
    return pick([
      property(`$search=${words}&$select=ListingKey&$count=true`),
      property(`$search=${words}&$orderby=City&$top=5`),
      property(`$search=${words}`, 'text/csv'),
      graphql(`{ properties(first: 9, search: ${JSON.stringify(words)}) { totalCount nodes { ListingKey } } }`),
    ]) // biome-ignore format: one request a line
  }
  const pages: Channel = (_, pick) => {
    const set = pick(['Property', 'Media', 'Rooms', 'OpenHouse', 'Member', 'Office'])
    const preference = pick([{}, { Prefer: 'maxpagesize=4' }, { Prefer: 'maxpagesize=400' }])
    return {
      target: `/odata/${set}?${pick(['$top=7', '$skip=3', '$count=true', '$top=0&$count=true', '$top=30&$skip=1'])}`,
      options: { headers: preference },
    }
  }
  const batch: Channel = (state, pick) => {
    const requests = [filter, order, compute, search].map((channel, i) => {
      const { target, options } = channel(state, pick)
      const isPlain = target.startsWith('/odata/') && options === undefined
      return {
        id: String(i),
        method: 'GET',
        url: isPlain ? target.slice('/odata/'.length) : 'Property/$count',
      }
    })
    return { target: '/odata/$batch', options: { method: 'POST', body: { requests } } }
  }
  return { 'hidden field in filter': filter, 'hidden field in order': order, 'hidden field computed': compute, single, search, pages, batch } // biome-ignore format: one map
}

/** Queries whose changes the readers of a feed follow, with a hidden field. */
export const trackedWith = (field: string): readonly string[] => [
  `Property?$select=ListingKey,${field}`,
  `Property?$filter=${field} ne null`,
]
