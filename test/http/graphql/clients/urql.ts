import { Client, type Exchange, fetchExchange, gql, subscriptionExchange } from '@urql/core'
import { cacheExchange } from '@urql/exchange-graphcache'
import { relayPagination } from '@urql/exchange-graphcache/extras'
import { buildSchema, type IntrospectionQuery, introspectionFromSchema } from 'graphql'
import type { Sink, Client as Socket } from 'graphql-ws'

// The code for urql in docs/graphql-clients.md.

/** The schema in the form that the cache needs. A program for browsers does this at build time. */
export async function readSchema(url: string, token: string): Promise<IntrospectionQuery> {
  const answer = await fetch(`${url}/graphql/schema.graphql`, {
    headers: { authorization: `Bearer ${token}` },
  })
  return introspectionFromSchema(buildSchema(await answer.text()))
}

type Changed = { readonly propertyChanged: { readonly property: object | null } }
type Deleted = { readonly deleteProperty: { readonly id: string } | null }

export const createClient = (
  url: string,
  token: string,
  schema: IntrospectionQuery,
  options: { readonly fetch?: typeof fetch } = {},
  live: readonly Exchange[] = [],
): Client =>
  new Client({
    url: `${url}/graphql`,
    fetchOptions: { headers: { authorization: `Bearer ${token}` } },
    exchanges: [
      cacheExchange({
        schema,
        resolvers: { Query: { properties: relayPagination() } },
        keys: { PropertyChange: () => null },
        updates: {
          Subscription: {
            // A listing that leaves a list is sent without fields, so lists are read again.
            propertyChanged({ propertyChanged: change }: Changed, _args, cache) {
              if (change.property) return
              for (const { fieldName, fieldKey } of cache.inspectFields('Query'))
                if (fieldName === 'properties') cache.invalidate('Query', fieldKey)
            },
          },
          Mutation: {
            // The cache does not detect deletions, so lists with the record are read again.
            deleteProperty({ deleteProperty: deleted }: Deleted, _args, cache) {
              if (deleted) cache.invalidate({ __typename: 'Property', id: deleted.id })
            },
          },
        },
      }),
      ...live,
      fetchExchange,
    ],
    ...options,
  })

export const LISTINGS = gql`
  query Listings($filter: PropertyFilter, $first: Int, $after: String) {
    properties(filter: $filter, orderBy: [{ ListPrice: DESC }], first: $first, after: $after) {
      edges { cursor node { id ListingKey City ListPrice StandardStatus } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
`

export const SET_PRICE = gql`
  mutation SetPrice($key: String!, $price: Decimal) {
    updateProperty(ListingKey: $key, input: { ListPrice: $price }) { id ListPrice }
  }
`

export const DELETE = gql`
  mutation Delete($key: String!) {
    deleteProperty(ListingKey: $key) { id }
  }
`

/** Subscriptions use the WebSocket. */
export const createLiveExchange = (socket: Socket): Exchange =>
  subscriptionExchange({
    forwardSubscription: ({ query = '', variables }) => ({
      subscribe: sink => ({ unsubscribe: socket.subscribe({ query, variables }, sink as Sink) }),
    }),
  })

export const CHANGES = gql`
  subscription Changes($since: Long, $filter: PropertyFilter) {
    propertyChanged(filter: $filter, since: $since) {
      EntityEventSequence ListingKey property { id City ListPrice StandardStatus }
    }
  }
`
