import { SHARED } from '../data/cluster.mjs'
import { follow } from '../forms-odata.mjs'

const ask = (name, values) => ({ path: `/limit/${name}?${new URLSearchParams(values)}` })
const write = (method, values, body) => ({
  method,
  ...ask('Property', values),
  ...(body && { headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) }),
})
const near =
  name =>
  ({ city, low, high }) =>
    ask(name, { city, low, high })
const patch = ({ key, price, member }) =>
  write('PATCH', { key }, { ListPrice: price, ChangedByMemberKey: member })
const withoutHost = link => link.replace(/^https?:\/\/[^/]+/, '')
const first = ({ size }) => ask('page', { size })
const next = answer => answer['@odata.nextLink'] && { path: withoutHost(answer['@odata.nextLink']) }

/** Values in the order of the parameters of each statement. */
const walk = name => ({
  first: ({ size }) => ask(name, { size }),
  next: ({ link }) => link && { path: withoutHost(link) },
})

export const forms = {
  limit: {
    'by-key': ({ key }) => ask('by-key', { key }),
    'list-50': near('list-50'),
    'list-50-wide': near('list-50-wide'),
    'list-50-expand': near('list-50-expand'),
    'gql-nested': near('gql-nested'),
    'list-200-status': values => ask('list-200-status', values),
    'filter-functions': values => ask('filter-functions', values),
    'any-lambda': values => ask('any-lambda', values),
    'count-only': ({ city, low }) => ask('count-only', { city, low }),
    'sorted-unindexed': values => ask('sorted-unindexed', values),
    'replication-clause': ({ size, time, key }) => ask('page', { size, time, key }),
    'map-box': ({ south, north, west, east }) => ask('map-box', { south, north, west, east }),
    'address-contains': values => ask('address-contains', values),
    'radius-by-distance': ({ latitude, longitude }) => ask('radius-by-distance', { latitude, longitude }),
    'search-sorted': values => ask('search-sorted', values),
    'page-1': first,
    'page-1000': (values, read) => follow(first(values), next, values.page, read),
    walk: walk('walk'),
    'list-50-public': near('list-50-public'),
    'list-50-member': near('list-50-member'),
    'walk-public': walk('walk-public'),
    'walk-member': walk('walk-member'),
    'media-by-listings': values => ask('media-by-listings', values),
    'media-by-listings-public': values => ask('media-by-listings-public', values),
    'media-by-listings-member': values => ask('media-by-listings-member', values),
    'patch-single': patch,
    'patch-concurrent': patch,
    cycle: {
      create: ({ member, city }) =>
        write(
          'POST',
          {},
          {
            ListAgentKey: member,
            ListOfficeKey: member,
            PropertyType: 'Residential',
            StreetNumber: '12',
            StreetName: 'Bench Road',
            City: city,
          },
        ),
      keyOf: answer => answer.ListingKey,
      steps: (key, { member }) => [
        write('PATCH', { key }, { StandardStatus: 'Active', ChangedByMemberKey: member }),
        write('PATCH', { key }, { StandardStatus: 'Sold', SoldPrice: 400000, ChangedByMemberKey: member }),
        write('DELETE', { key }),
      ],
    },
  },
}

export const server = {
  name: 'limit',
  port: 4810,
  database: SHARED,
  command: ({ source }) => [process.execPath, `${source}/server.mjs`],
}
