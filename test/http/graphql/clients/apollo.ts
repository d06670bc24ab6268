import { ApolloClient, ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { GraphQLWsLink } from '@apollo/client/link/subscriptions'
import { relayStylePagination } from '@apollo/client/utilities'
import { OperationTypeNode } from 'graphql'
import type { Client as Socket } from 'graphql-ws'

// The code for Apollo Client in docs/graphql-clients.md.

export const createLink = (url: string, token: string, options: HttpLink.Options = {}): ApolloLink =>
  new HttpLink({ uri: `${url}/graphql`, headers: { authorization: `Bearer ${token}` }, ...options })

export const createClient = (link: ApolloLink): ApolloClient =>
  new ApolloClient({
    link,
    cache: new InMemoryCache({
      typePolicies: {
        Query: { fields: { properties: relayStylePagination(['filter', 'where', 'search', 'orderBy']) } },
      },
    }),
  })

export const LISTINGS = gql`
  query Listings($filter: PropertyFilter, $first: Int, $after: String) {
    properties(filter: $filter, orderBy: [{ ListPrice: DESC }], first: $first, after: $after) {
      edges { cursor node { id ListingKey City ListPrice StandardStatus etag } }
      pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
    }
  }
`

export const SET_PRICE = gql`
  mutation SetPrice($key: String!, $price: Decimal, $ifMatch: String) {
    updateProperty(ListingKey: $key, input: { ListPrice: $price }, ifMatch: $ifMatch) { id ListPrice etag }
  }
`

export const DELETE = gql`
  mutation Delete($key: String!) {
    deleteProperty(ListingKey: $key) { id }
  }
`

interface Deleted {
  readonly deleteProperty: { readonly id: string } | null
}

/** The cache does not detect deletions, so the record is evicted by its id. */
export const deleteListing = (client: ApolloClient, key: string) =>
  client.mutate<Deleted>({
    mutation: DELETE,
    variables: { key },
    update(cache, { data }) {
      const id = data?.deleteProperty?.id
      if (id !== undefined) cache.evict({ id: cache.identify({ __typename: 'Property', id }) ?? '' })
      cache.gc()
    },
  })

/** A query is sent by GET as the hash of its text. The text follows once if the service does not have it. */
export const createPersistedLink = (link: ApolloLink): ApolloLink =>
  new PersistedQueryLink({ sha256, useGETForHashedQueries: true }).concat(link)

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}

export interface Changed {
  readonly propertyChanged: {
    readonly EntityEventSequence: number
    readonly ListingKey: string
    readonly property: { readonly id: string; readonly ListPrice: number | null } | null
  }
}

/** Subscriptions use the WebSocket, all other operations HTTP. */
export const createLiveLink = (link: ApolloLink, socket: Socket): ApolloLink =>
  ApolloLink.split(
    ({ operationType }) => operationType === OperationTypeNode.SUBSCRIPTION,
    new GraphQLWsLink(socket),
    link,
  )

export const CHANGES = gql`
  subscription Changes($since: Long, $filter: PropertyFilter) {
    propertyChanged(filter: $filter, since: $since) {
      EntityEventSequence ListingKey property { id City ListPrice StandardStatus etag }
    }
  }
`

/** The cache updates the changed record by its id. Lists are read again when a listing leaves them. */
export const followChanges = (client: ApolloClient, since: number, onError: (error: unknown) => void) =>
  client.subscribe<Changed>({ query: CHANGES, variables: { since } }).subscribe(({ data, error }) => {
    if (error) onError(error)
    else if (!data?.propertyChanged.property) void client.refetchQueries({ include: 'active' })
  })
