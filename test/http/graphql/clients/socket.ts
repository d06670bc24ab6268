import { type Client, type ClientOptions, createClient } from 'graphql-ws'

// The code of docs/graphql-clients.md for subscriptions over a WebSocket.

/** A WebSocket that connects again with a new token, and continues after the last change it received. */
export function createSocket(
  url: string,
  getToken: () => Promise<string>,
  options: Partial<ClientOptions> = {},
): Client {
  const socket = createClient({
    url: `${url.replace(/^http/, 'ws')}/graphql`,
    connectionParams: async () => ({ authorization: `Bearer ${await getToken()}` }),
    retryAttempts: Number.POSITIVE_INFINITY,
    shouldRetry: () => true,
    ...options,
  })
  return {
    ...socket,
    subscribe(payload, sink) {
      let since = payload.variables?.['since']
      // The package writes the payload again for each connection.
      const variables = {
        ...payload.variables,
        get since() {
          return since
        },
      }
      return socket.subscribe<Changed>(
        { ...payload, variables },
        {
          next(result) {
            since = result.data?.propertyChanged?.EntityEventSequence ?? since
            sink.next(result as never)
          },
          error: error => sink.error(error),
          complete: () => sink.complete(),
        },
      )
    },
  }
}

type Changed = { readonly propertyChanged?: { readonly EntityEventSequence: number } | null }
