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

/** A GraphQL answer. Tests say by a type what data they asked for. */
export interface GraphQLTestResponse<T> {
  readonly status: number
  readonly data?: T | null
  readonly errors?: readonly GraphQLErrorBody[]
}

const RESPONSE_MEDIA_TYPE = 'application/graphql-response+json'

/** Asks over HTTP, as clients do. */
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

/** The data of an answer without errors. */
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

/** The first error of an answer that has some. */
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
