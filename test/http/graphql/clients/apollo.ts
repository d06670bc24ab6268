import { ApolloClient, type ApolloLink, gql, HttpLink, InMemoryCache } from '@apollo/client'
import { PersistedQueryLink } from '@apollo/client/link/persisted-queries'
import { relayStylePagination } from '@apollo/client/utilities'

// What docs/graphql-clients.md shows of Apollo Client is code of this file.

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

/** The cache does not know that a record is gone: it is taken out by its id. */
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

/**
 * A query goes out as the hash of its text, by GET; the text follows once, if the service does not know it
 * yet.
 */
export const createPersistedLink = (link: ApolloLink): ApolloLink =>
  new PersistedQueryLink({ sha256, useGETForHashedQueries: true }).concat(link)

async function sha256(text: string): Promise<string> {
  const hash = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return [...new Uint8Array(hash)].map(byte => byte.toString(16).padStart(2, '0')).join('')
}
