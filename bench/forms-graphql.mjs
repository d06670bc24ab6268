import { AGENT, MEDIA, NARROW, ROOMS, WIDE } from './data/tables.mjs'

const NEWEST = [{ ModificationTimestamp: 'DESC' }, { ListingKey: 'DESC' }]
const OLDEST = [{ ModificationTimestamp: 'ASC' }, { ListingKey: 'ASC' }]
const DEAREST = [{ ListPrice: 'DESC' }, { ListingKey: 'DESC' }]

export const graphql = (path, query, variables) => ({
  method: 'POST',
  path,
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify({ query, variables }),
})

const NESTED = `Media(first:3,orderBy:[{Order:ASC}]){${MEDIA.join(' ')}} Rooms(orderBy:[{RoomKey:ASC}]){${ROOMS.join(' ')}}`
const readable = WIDE.filter(name => name !== 'ChangedByMemberKey')
const near = ({ city, low, high }) => ({ City: { eq: city }, ListPrice: { ge: low, le: high } })

/** Requests of all workloads in the GraphQL schema of the service. */
export function toGraphQLForms(path) {
  const ask = (query, variables) => graphql(path, query, variables)
  const list = (filter, orderBy, first, fields) =>
    ask(
      `query($filter:PropertyFilter,$orderBy:[PropertyOrder!],$first:Int){properties(filter:$filter,orderBy:$orderBy,first:$first){nodes{${fields}}}}`,
      { filter, orderBy, first },
    )
  const page = (fields, first, after) =>
    ask(
      `query($orderBy:[PropertyOrder!],$first:Int,$after:String){properties(orderBy:$orderBy,first:$first,after:$after){nodes{${fields}} pageInfo{endCursor}}}`,
      { orderBy: OLDEST, first, after },
    )
  const narrow = NARROW.join(' ')
  const patch = ({ key, price, member }) =>
    ask(
      'mutation($key:String!,$input:PropertyInput!){updateProperty(ListingKey:$key,input:$input){ListingKey}}',
      { key, input: { ListPrice: String(price), ChangedByMemberKey: member } },
    )
  return {
    'by-key': ({ key }) =>
      ask(`query($key:String!){property(ListingKey:$key){${readable.join(' ')}}}`, { key }),
    'list-50': values => list(near(values), DEAREST, 50, narrow),
    'list-50-wide': values => list(near(values), DEAREST, 50, readable.join(' ')),
    'list-50-expand': values => list(near(values), DEAREST, 50, `${narrow} ${NESTED}`),
    'gql-nested': values =>
      list(near(values), DEAREST, 50, `${narrow} ${NESTED} ListAgent{${AGENT.join(' ')}}`),
    'list-200-status': ({ status }) => list({ StandardStatus: { eq: status } }, NEWEST, 200, narrow),
    'filter-functions': ({ year, word, above }) =>
      ask(
        `query($where:String,$orderBy:[PropertyOrder!]){properties(where:$where,orderBy:$orderBy,first:50){nodes{${narrow}}}}`,
        {
          where: `year(ModificationTimestamp) eq ${year} and contains(tolower(StreetName),'${word}') and ListPrice mul 2 sub 1000 gt ${above}`,
          orderBy: NEWEST,
        },
      ),
    'any-lambda': ({ material }) =>
      list({ ConstructionMaterials: { any: { eq: material } } }, NEWEST, 50, narrow),
    'count-only': ({ city, low }) =>
      ask('query($filter:PropertyFilter){properties(filter:$filter){totalCount}}', {
        filter: { City: { eq: city }, ListPrice: { ge: low } },
      }),
    'sorted-unindexed': ({ status }) =>
      list(
        { StandardStatus: { eq: status } },
        [{ LivingArea: 'DESC' }, { ListingKey: 'DESC' }],
        20,
        readable.join(' '),
      ),
    'replication-clause': ({ time, key, size }) =>
      list(
        {
          or: [
            { ModificationTimestamp: { gt: time } },
            { ModificationTimestamp: { eq: time }, ListingKey: { gt: key } },
          ],
        },
        OLDEST,
        size,
        narrow,
      ),
    'map-box': ({ south, north, west, east }) =>
      list(
        { Latitude: { ge: south, le: north }, Longitude: { ge: west, le: east } },
        [{ ListingKey: 'ASC' }],
        500,
        narrow,
      ),
    'address-contains': ({ part }) => list({ UnparsedAddress: { contains: part } }, NEWEST, 20, narrow),
    'search-sorted': ({ word }) =>
      ask(
        `query($search:String,$orderBy:[PropertyOrder!]){properties(search:$search,orderBy:$orderBy,first:20){nodes{${narrow}}}}`,
        { search: word, orderBy: DEAREST },
      ),
    'media-by-listings': ({ keys }) =>
      ask(
        `query($filter:MediaFilter){mediaItems(filter:$filter,orderBy:[{ResourceRecordKey:ASC},{Order:ASC}],first:500){nodes{${MEDIA.join(' ')}}}}`,
        { filter: { ResourceRecordKey: { in: keys.slice(1, -1).split(',') } } },
      ),
    'page-1': ({ size }) => page(narrow, size),
    'page-1000': async ({ page: number, size }, read) => {
      let request = page(narrow, size)
      for (let i = 1; i < number; i++)
        request = page(narrow, size, (await read(request)).data.properties.pageInfo.endCursor)
      return request
    },
    walk: {
      first: ({ size }) => page(readable.join(' '), size),
      next: ({ cursor }, { size }) => cursor && page(readable.join(' '), size, cursor),
    },
    'patch-single': patch,
    'patch-concurrent': patch,
    cycle: {
      create: ({ member, city }) =>
        ask(
          'mutation($input:PropertyInput!){createDraft(input:$input){ListingKey StandardStatus ContractStatus MlsStatus ModificationTimestamp}}',
          {
            input: {
              ListAgentKey: member,
              ListOfficeKey: member,
              PropertyType: 'Residential',
              StreetNumber: '12',
              StreetName: 'Bench Road',
              City: city,
            },
          },
        ),
      keyOf: answer => answer.data.createDraft.ListingKey,
      steps: (key, { member }) => [
        ask(
          'mutation($key:String!,$member:String){publishProperty(ListingKey:$key,ChangedByMemberKey:$member){ListingKey}}',
          { key, member },
        ),
        ask(
          'mutation($key:String!,$member:String){sellProperty(ListingKey:$key,SoldPrice:"400000",ChangedByMemberKey:$member){ListingKey}}',
          { key, member },
        ),
        ask('mutation($key:String!){deleteProperty(ListingKey:$key){ListingKey}}', { key }),
      ],
    },
  }
}
