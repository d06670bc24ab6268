import { type Entity, getEntity } from '../../src/model/model.js'
import type { FrontEndQuery } from './queries.js'

const FEW_FIELDS = ['ListingKey', 'City', 'ListPrice', 'BedroomsTotal']

/** The path and options of a query in OData. */
export function toODataUrl(query: FrontEndQuery): string {
  if (query.odata !== undefined) return `/odata/${query.odata}`
  const options = {
    $filter: query.filter,
    $search: query.search,
    $orderby: query.orderBy,
    $top: query.top,
    $count: query.count,
    $select: query.few ? FEW_FIELDS.join() : undefined,
    $expand: query.expand?.join(),
  }
  const given = Object.entries(options).filter(([, value]) => value !== undefined)
  return `/odata/${query.set ?? 'Property'}?${given.map(([name, value]) => `${name}=${value}`).join('&')}`
}

const ROOT_FIELDS = {
  Property: 'properties',
  Member: 'members',
  Office: 'offices',
  Media: 'mediaItems',
  OpenHouse: 'openHouses',
} as const

const fieldNamesOf = ({ scalars }: Entity) =>
  scalars
    .filter(({ readableBy }) => readableBy !== 'nobody')
    .map(({ name }) => name)
    .join(' ')

/** `A desc,B/C` → `[{A:DESC},{B:{C:ASC}}]` */
const toOrderBy = (orderBy: string) =>
  `[${orderBy
    .split(',')
    .map(term => {
      const [path = '', direction = 'asc'] = term.split(' ')
      return path.split('/').reduceRight((inner, name) => `{${name}:${inner}}`, direction.toUpperCase())
    })
    .join()}]`

/** The same query in GraphQL; undefined if it has no form there. */
export function toGraphQLQuery(query: FrontEndQuery): string | undefined {
  if (query.odata !== undefined || query.isODataOnly) return undefined
  const { set = 'Property', filter, search, orderBy, top, count, few, expand = [] } = query
  const args = [
    ...(filter === undefined ? [] : [`where:${JSON.stringify(filter)}`]),
    ...(search === undefined ? [] : [`search:${JSON.stringify(search)}`]),
    ...(orderBy === undefined ? [] : [`orderBy:${toOrderBy(orderBy)}`]),
    ...(top ? [`first:${top}`] : []),
  ].join()
  const related = expand.map(
    name => `${name}{${name === 'Media' ? 'MediaKey Order MediaURL' : 'RoomKey RoomType'}}`,
  )
  const fields = few ? FEW_FIELDS.join(' ') : fieldNamesOf(getEntity(set))
  const nodes = top === 0 ? '' : `nodes{${fields} ${related.join(' ')}}`
  return `{${ROOT_FIELDS[set]}(${args}){${nodes} ${count ? 'totalCount' : ''}}}`
}
