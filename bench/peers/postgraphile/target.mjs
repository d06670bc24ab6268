import { SHARED } from '../../data/cluster.mjs'
import { AGENT, MEDIA, NARROW, ROOMS, WIDE } from '../../data/tables.mjs'
import { graphql } from '../../forms-graphql.mjs'

// Names that PostGraphile derives from the tables. It does not check the member of a change, and its client
// sends the time of the change.

const toName = text =>
  text.replace(/([A-Z]+)(?=[A-Z][a-z]|$)|[A-Z][a-z0-9]*/g, (word, _, at) =>
    at === 0 ? word.toLowerCase() : word[0].toUpperCase() + word.slice(1).toLowerCase(),
  )
const fields = names => names.map(toName).join(' ')
const ask = (query, variables) => graphql('/graphql', query, variables)
const NESTED = ` media:mediaByResourceRecordKey(first:3,orderBy:[ORDER_ASC]){nodes{${fields(MEDIA)}}} rooms:roomsByListingKey(orderBy:[ROOM_KEY_ASC]){nodes{${fields(ROOMS)}}}`
const [narrow, wide] = [fields(NARROW), fields(WIDE)]

const near =
  selection =>
  ({ city, low, high }) =>
    ask(
      `query($c:String!,$lo:BigFloat!,$hi:BigFloat!){allProperties(filter:{city:{equalTo:$c},listPrice:{greaterThanOrEqualTo:$lo,lessThanOrEqualTo:$hi}},orderBy:[LIST_PRICE_DESC,LISTING_KEY_DESC],first:50){nodes{${selection}}}}`,
      { c: city, lo: String(low), hi: String(high) },
    )
const newest = (filter, type, first, value) =>
  ask(
    `query($v:${type}){allProperties(filter:{${filter}},orderBy:[MODIFICATION_TIMESTAMP_DESC,LISTING_KEY_DESC],first:${first}){nodes{${narrow}}}}`,
    { v: value },
  )
const page = (selection, n, a) =>
  ask(
    `query($n:Int!,$a:Cursor){allProperties(orderBy:[MODIFICATION_TIMESTAMP_ASC,LISTING_KEY_ASC],first:$n,after:$a){nodes{${selection}} pageInfo{endCursor}}}`,
    { n, a },
  )
const update = (k, d) =>
  ask(
    'mutation($k:String!,$d:PropertyPatch!){updatePropertyByListingKey(input:{listingKey:$k,propertyPatch:$d}){property{listingKey}}}',
    { k, d: { ...d, modificationTimestamp: new Date().toISOString() } },
  )
const patch = ({ key, price, member }) =>
  update(key, { listPrice: String(price), changedByMemberKey: member })

const toDraft = ({ member, city }) => ({
  listingKey: `Draft${crypto.randomUUID()}`, listAgentKey: member, listOfficeKey: member, propertyType: 'Residential', streetNumber: '12', streetName: 'Bench Road', city,
  contractStatus: 'Draft', mlsStatus: 'Draft', standardStatus: 'Incomplete', modificationTimestamp: new Date().toISOString(), originatingSystemName: 'BENCH',
}) // biome-ignore format: one row

export const forms = {
  postgraphile: {
    'by-key': ({ key }) => ask(`query($k:String!){propertyByListingKey(listingKey:$k){${wide}}}`, { k: key }),
    'list-50': near(narrow),
    'list-50-wide': near(wide),
    'list-50-expand': near(narrow + NESTED),
    'gql-nested': near(`${narrow}${NESTED} listAgent:memberByListAgentKey{${fields(AGENT)}}`),
    'list-200-status': ({ status }) => newest('standardStatus:{equalTo:$v}', 'String!', 200, status),
    'any-lambda': ({ material }) =>
      newest('constructionMaterials:{contains:$v}', '[String]!', 50, [material]),
    'count-only': ({ city, low }) =>
      ask(
        'query($c:String!,$lo:BigFloat!){allProperties(filter:{city:{equalTo:$c},listPrice:{greaterThanOrEqualTo:$lo}}){totalCount}}',
        { c: city, lo: String(low) },
      ),
    'page-1': ({ size }) => page(narrow, size),
    'page-1000': async ({ page: number, size }, read) => {
      let request = page(narrow, size)
      for (let i = 1; i < number; i++)
        request = page(narrow, size, (await read(request)).data.allProperties.pageInfo.endCursor)
      return request
    },
    walk: {
      first: ({ size }) => page(wide, size),
      next: ({ cursor }, { size }) => cursor && page(wide, size, cursor),
    },
    'patch-single': patch,
    'patch-concurrent': patch,
    cycle: {
      create: values =>
        ask(
          'mutation($d:PropertyInput!){createProperty(input:{property:$d}){property{listingKey standardStatus contractStatus mlsStatus modificationTimestamp}}}',
          { d: toDraft(values) },
        ),
      keyOf: answer => answer.data.createProperty.property.listingKey,
      steps: (key, { member }) => [
        update(key, { standardStatus: 'Active', changedByMemberKey: member }),
        update(key, { standardStatus: 'Sold', soldPrice: '400000', changedByMemberKey: member }),
        ask(
          'mutation($k:String!){deletePropertyByListingKey(input:{listingKey:$k}){deletedPropertyId:clientMutationId}}',
          { k: key },
        ),
      ],
    },
  },
}

/** It requires a newer Node, which is installed as a package. */
export const server = {
  name: 'postgraphile',
  port: 4822,
  database: SHARED,
  settle: 2000,
  command: ({ cwd }) => [`${cwd}/node_modules/.bin/node`, 'server.mjs'],
}
