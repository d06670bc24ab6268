import { expect } from 'vitest'
import type { RequestOptions, TestApp } from '../app.js'

/** An error as clients see it. */
export interface GraphQLErrorBody {
  readonly message: string
  readonly path?: readonly (string | number)[]
  readonly extensions: {
    readonly code: string
    readonly serviceCode?: string
    readonly target?: string
    readonly details?: readonly { readonly code: string; readonly target?: string }[]
  }
}

/** A GraphQL response. The type parameter is the type of the data. */
export interface GraphQLTestResponse<T> {
  readonly status: number
  readonly data?: T | null
  readonly errors?: readonly GraphQLErrorBody[]
}

const RESPONSE_MEDIA_TYPE = 'application/graphql-response+json'

/** Sends an operation over HTTP. */
export async function postQuery<T>(
  app: TestApp,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  parts: RequestOptions = {},
): Promise<GraphQLTestResponse<T>> {
  const { status, json } = await app.send('/graphql', {
    method: 'POST',
    ...parts,
    headers: { Accept: RESPONSE_MEDIA_TYPE, ...parts.headers },
    body: { query, variables },
  })
  return { status, ...(json as Omit<GraphQLTestResponse<T>, 'status'>) } // what the specification says of answers
}

/** Returns the data of a response without errors. */
export async function queryData<T>(
  app: TestApp,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  parts: RequestOptions = {},
): Promise<T> {
  const { data, errors, status } = await postQuery<T>(app, query, variables, parts)
  expect(errors, query).toBeUndefined()
  expect(status).toBe(200)
  if (!data) throw new Error('No data')
  return data
}

/** Returns the first error of a response. */
export async function queryError(
  app: TestApp,
  query: string,
  variables: Readonly<Record<string, unknown>> = {},
  parts: RequestOptions = {},
): Promise<GraphQLErrorBody> {
  const { errors } = await postQuery<unknown>(app, query, variables, parts)
  const [first] = errors ?? []
  if (!first) throw new Error(`No error: ${query}`)
  return first
}

/** A header with the token of a grant. */
export const withGrant = (app: TestApp, grant: Parameters<TestApp['tokenFor']>[0]): RequestOptions => ({
  headers: { Authorization: `Bearer ${app.tokenFor(grant)}` },
})
