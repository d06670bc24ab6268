import { SHARED } from '../../data/cluster.mjs'
import { AGENT, isRequired, MEDIA, NARROW, ROOMS, TABLES, WIDE } from '../../data/tables.mjs'
import { graphql } from '../../forms-graphql.mjs'
import { keyBefore } from '../deep-page.mjs'
import { generateClient, toCamel } from '../prisma.mjs'

const fields = names => names.map(toCamel).join(' ')
const ask = (query, variables) => graphql('/graphql', query, variables)
const order = (desc, ...names) => names.map(field => ({ field, desc }))
const NEWEST = order(true, 'ModificationTimestamp', 'ListingKey')
const NESTED = ` media(first:3){${fields(MEDIA)}} rooms{${fields(ROOMS)}}`
const [narrow, wide] = [fields(NARROW), fields(WIDE)]

const list = (f, o, first, selection) =>
  ask(
    `query($f:PropertyFilter,$o:[PropertyOrder!]){properties(filter:$f,orderBy:$o,first:${first}){nodes{${selection}}}}`,
    { f, o },
  )
const near =
  selection =>
  ({ city, low, high }) =>
    list(
      { city: { eq: city }, listPrice: { gte: low, lte: high } },
      order(true, 'ListPrice', 'ListingKey'),
      50,
      selection,
    )
const page = (selection, n, a) =>
  ask(
    `query($n:Int!,$a:String,$o:[PropertyOrder!]){properties(orderBy:$o,first:$n,after:$a){nodes{${selection}} endCursor}}`,
    { n, a, o: order(false, 'ModificationTimestamp', 'ListingKey') },
  )
const update = (k, d) =>
  ask('mutation($k:String!,$d:PropertyInput!){updateProperty(listingKey:$k,data:$d){listingKey}}', { k, d })
const patch = ({ key, price, member }) => update(key, { listPrice: price, changedByMemberKey: member })

export const forms = {
  'apollo-prisma': {
    'by-key': ({ key }) => ask(`query($k:String!){property(listingKey:$k){${wide}}}`, { k: key }),
    'list-50': near(narrow),
    'list-50-wide': near(wide),
    'list-50-expand': near(narrow + NESTED),
    'gql-nested': near(`${narrow}${NESTED} listAgent{${fields(AGENT)}}`),
    'list-200-status': ({ status }) => list({ standardStatus: { eq: status } }, NEWEST, 200, narrow),
    'any-lambda': ({ material }) => list({ constructionMaterials: { has: material } }, NEWEST, 50, narrow),
    'count-only': ({ city, low }) =>
      ask('query($f:PropertyFilter){properties(filter:$f,first:0){totalCount}}', {
        f: { city: { eq: city }, listPrice: { gte: low } },
      }),
    'page-1': ({ size }) => page(narrow, size),
    'page-1000': values => page(narrow, values.size, keyBefore(values)),
    walk: {
      first: ({ size }) => page(wide, size),
      next: ({ cursor }, { size }) => cursor && page(wide, size, cursor),
    },
    'patch-single': patch,
    'patch-concurrent': patch,
    cycle: {
      create: ({ member, city }) =>
        ask(
          'mutation($d:PropertyInput!){createProperty(data:$d){listingKey standardStatus contractStatus mlsStatus modificationTimestamp}}',
          {
            d: {
              listAgentKey: member,
              listOfficeKey: member,
              propertyType: 'Residential',
              streetNumber: '12',
              streetName: 'Bench Road',
              city,
            },
          },
        ),
      keyOf: answer => answer.data.createProperty.listingKey,
      steps: (key, { member }) => [
        update(key, { standardStatus: 'Active', changedByMemberKey: member }),
        update(key, { standardStatus: 'Sold', soldPrice: 400000, changedByMemberKey: member }),
        ask('mutation($k:String!){deleteProperty(listingKey:$k)}', { k: key }),
      ],
    },
  },
}

/** Fields of the generated schema. */
const toFields = ([table, columns]) => [
  table,
  columns.map(column => [toCamel(column.name), column.type, isRequired(table, column), column.name]),
]

export const server = {
  name: 'apollo-prisma',
  port: 4823,
  database: SHARED,
  settle: 1500,
  env: { FIELDS: JSON.stringify(Object.fromEntries(Object.entries(TABLES).map(toFields))) },
  command: () => [process.execPath, 'server.mjs'],
  prepare: ({ cwd, env }) => generateClient(cwd, env, toCamel),
}
