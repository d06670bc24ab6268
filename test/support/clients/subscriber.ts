import { createClient as createStreamClient } from 'graphql-sse'
import { type Client, createClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { Grant } from '../../../src/http/auth/sign-token.js'
import type { TestApp } from '../app.js'
import type { GraphQLErrorBody } from './graphql-client.js'

/** Transports of a subscription. */
export const TRANSPORTS = ['WebSocket', 'event stream'] as const
export type Transport = (typeof TRANSPORTS)[number]

/** A result as a client receives it. */
export interface SubscriptionResult<T = Readonly<Record<string, unknown>>> {
  readonly data?: { readonly propertyChanged: T } | null
  readonly errors?: readonly GraphQLErrorBody[]
}

/** A subscription of a client. */
export interface TestSubscription<T> {
  /** Returns the next result, or undefined at the end. */
  next(): Promise<SubscriptionResult<T> | undefined>
  /** Returns the next result, which must have no errors. */
  nextChange(): Promise<T>
  dispose(): void
}

export interface SubscribeOptions {
  readonly transport?: Transport
  readonly variables?: Readonly<Record<string, unknown>>
  readonly grant?: Partial<Grant>
  readonly token?: string
}

export const socketUrl = (base: string): string => `${base.replace(/^http/, 'ws')}/graphql`

/** A client of graphql-ws that does not reconnect. */
export const openSocketClient = (base: string, token: string): Client =>
  createClient({
    url: socketUrl(base),
    webSocketImpl: WebSocket,
    retryAttempts: 0,
    connectionParams: { Authorization: `Bearer ${token}` },
  })

/** Subscribes as front ends do, with the client package of the transport. */
export function startSubscription<T = Readonly<Record<string, unknown>>>(
  app: Pick<TestApp, 'base' | 'tokenFor'>,
  query: string,
  { transport = 'WebSocket', variables = {}, grant, token = app.tokenFor(grant) }: SubscribeOptions = {},
): TestSubscription<T> {
  const client =
    transport === 'WebSocket'
      ? openSocketClient(app.base, token)
      : createStreamClient({
          url: `${app.base}/graphql`,
          retryAttempts: 0,
          headers: { Authorization: `Bearer ${token}` },
        })
  const results = client.iterate({ query, variables }) as AsyncIterableIterator<SubscriptionResult<T>> // the query says of what type they are
  const next = async (): Promise<SubscriptionResult<T> | undefined> => {
    const { done, value } = await results.next()
    return done ? undefined : value
  }
  const nextChange = async (): Promise<T> => {
    const told = await next()
    if (!told?.data || told.errors) throw new Error(`No change: ${JSON.stringify(told)}`)
    return told.data.propertyChanged
  }
  return { next, nextChange, dispose: () => void client.dispose() }
}
