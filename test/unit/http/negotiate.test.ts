import { expect, test } from 'vitest'
import { negotiateMediaType } from '../../../src/http/negotiate.js'

const JSON_TYPE = 'application/json'
const GRAPHQL_TYPE = 'application/graphql-response+json'
const choiceOf = (accept: string | undefined) =>
  negotiateMediaType({ headers: accept === undefined ? {} : { accept } }, [JSON_TYPE, GRAPHQL_TYPE])

// biome-ignore format: table
test.each([
  [undefined, JSON_TYPE],
  ['', undefined],
  ['*/*', JSON_TYPE],
  ['application/*', JSON_TYPE],
  ['text/html', undefined],
  ['application/json; charset=utf-8', JSON_TYPE],
  ['application/graphql-response+json; charset=utf-8', GRAPHQL_TYPE],
  ['application/graphql-response+json; charset=utf-8, application/json; charset=utf-8', GRAPHQL_TYPE],
  ['application/graphql-response+json;charset="utf-8";q=0.5, application/json', JSON_TYPE],
  ['*/*, application/graphql-response+json', GRAPHQL_TYPE],
  ['application/json;q=0, */*', GRAPHQL_TYPE],
  ['APPLICATION/JSON', JSON_TYPE],
])('Accept: %s', (accept, type) => expect(choiceOf(accept)).toBe(type))
