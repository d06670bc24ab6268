import { describe, expect, test } from 'vitest'
import { type Problem, ProblemError } from '../../../src/errors/problem.js'
import { DEFAULT_PARSE_LIMITS } from '../../../src/language/parse-limits.js'
import {
  checkAllowedOptions,
  parsePageQuery,
  parseQuery,
  type ResourceKind,
  readQueryOptions,
  toNextLinkQuery,
} from '../../../src/odata/url/query-options.js'
import { PlanCache } from '../../../src/query/plan-cache.js'
import { showQuery } from './format-syntax.js'

const read = (raw: string, place: ResourceKind = 'collection') =>
  showQuery(parseQuery(readQueryOptions(raw), place, DEFAULT_PARSE_LIMITS))

function problem(run: () => unknown): Problem {
  try {
    run()
  } catch (error) {
    if (error instanceof ProblemError) return error.problems[0]
    throw error
  }
  throw new Error('It was read')
}

describe('what is read', () => {
  test.each([
    ['', {}],
    ['$top=5&skip=10&$COUNT=TRUE', { top: 5, skip: 10, count: true }],
    ['%24top=0&%24count=false', { top: 0, count: false }],
    ['$top=99999999999999999999', { top: Number.MAX_SAFE_INTEGER }],
    ['$skiptoken=a-B_1', {}],
    ['debug=true&find=O%27Neil&!odd&$format=json&$schemaversion=*', {}],
    ['$filter=City%20eq%20%27a%26b%3D1%27&$top=1', { filter: "(eq City 'a&b=1')", top: 1 }],
    ["$filter=City+eq+'a%2Bb'", { filter: "(eq City 'a+b')" }],
    ["$filter=City%20eq%20'a+b'", { filter: "(eq City 'a+b')" }],
    ['$filter=a+gt+2024-01-31T10:00:00+02:00', { filter: '(gt a DateTimeOffset:2024-01-31T08:00:00Z)' }],
    [
      '$filter=a+gt+2024-01-31T10%3A00%3A00.5+02%3A00',
      { filter: '(gt a DateTimeOffset:2024-01-31T08:00:00.5Z)' },
    ],
    ['$filter=a%20gt%202024-01-31T10:00+02:00', { filter: '(gt a DateTimeOffset:2024-01-31T08:00:00Z)' }],
    ['$filter=a%09eq%20%27%F0%9F%8F%A0%27', { filter: "(eq a '🏠')" }],
    // Raw bytes of UTF-8, as Node shows them.
    ["$filter=a%20eq%20'\u00e6\u009d\u00b1'", { filter: "(eq a '東')" }],
    ["@c='Vail'&$filter=City%20eq%20@c", { filter: "(eq City 'Vail')" }],
    ['$filter=City%20in%20@l&@l=[%22a%22,%22b%22]', { filter: "(in City ['a' 'b'])" }],
  ])('%s', (raw, expected) => expect(read(raw)).toEqual(expected))
})

describe('what is refused', () => {
  test.each<[string, Problem['kind']]>([
    ['$top=', 'BadOptionValue'],
    ['$top', 'BadOptionValue'],
    ['$top=-1', 'BadOptionValue'],
    ['$top=abc', 'BadOptionValue'],
    ['$top=1.5', 'BadOptionValue'],
    ['$top=1e3', 'BadOptionValue'],
    ['$top=0x10', 'BadOptionValue'],
    ['$top=+1', 'BadOptionValue'],
    ['$top=%201', 'BadOptionValue'],
    ['$skip=NaN', 'BadOptionValue'],
    ['$count=1', 'BadOptionValue'],
    ['$count=maybe', 'BadOptionValue'],
    ['$skiptoken=', 'BadOptionValue'],
    ['@c=', 'BadOptionValue'],
    ['$filter=', 'BadOptionValue'],
    ['$top=1&TOP=1', 'DuplicateOption'],
    ['$filter=true&%24filter=true', 'DuplicateOption'],
    ['@c=1&@c=1', 'DuplicateOption'],
    ['$skiptoken=a&$skiptoken=b', 'DuplicateOption'],
    ['$skiptoken=a&'.repeat(9000), 'DuplicateOption'],
    [`${'$skiptoken=a&'.repeat(9000)}$skiptoken=a`, 'DuplicateOption'],
    ['%24SkipToken=a&$top=1&$skiptoken=b', 'DuplicateOption'],
    ['&$skiptoken=a', 'BadRequest'],
    ['$nonsense=1&$skiptoken=a', 'UnknownOption'],
    ['$fliter=true', 'UnknownOption'],
    ['$filter%20=true', 'UnknownOption'],
    ['$$filter=true', 'UnknownOption'],
    ['$inlinecount=allpages', 'UnknownOption'],
    ['$levels=1', 'OptionNotAllowed'],
    ['$id=x', 'OptionNotAllowed'],
    ['$apply=groupby(City)', 'Syntax'],

    ['$index=1', 'NotImplemented'],
    ['$schemaversion=2.0', 'NotFound'],
    ['$filter=%', 'BadEncoding'],
    ["$filter='%C0%AF'", 'BadEncoding'],
    ["$filter='%ED%A0%80'", 'BadEncoding'],
    ["$filter='%00'", 'BadEncoding'],
    ['%FF=1', 'BadEncoding'],
    ["$filter=City%20eq%20'Vail'&and%20ListPrice%20gt%201", 'BadRequest'],
    ['&$top=1', 'BadRequest'],
    ['@=1', 'BadRequest'],
    ['=1', 'BadRequest'],
    ["@unused='open", 'Syntax'],
  ])('%s: %s', (raw, kind) => expect(problem(() => read(raw)).kind).toBe(kind))

  test('a similar name is suggested', () => {
    expect(problem(() => readQueryOptions('$fliter=true'))).toMatchObject({ suggestion: '$filter' })
    expect(problem(() => readQueryOptions('$foo=1'))).not.toHaveProperty('suggestion')
  })

  test.each<[ResourceKind, string]>([
    ['record', '$filter=true'],
    ['record', '$top=1'],
    ['metadata', '$filter=true'],
    ['value', '$select=City'],
    ['references', '$expand=Media'],
  ])('%s: %s', (place, raw) =>
    expect(problem(() => checkAllowedOptions(readQueryOptions(raw), place)).kind).toBe('OptionNotAllowed'),
  )
})

describe('next links', () => {
  test.each([
    ['', '$skiptoken=T'],
    ["$filter=City%20eq%20'a'&$skip=10&$top=5", "$filter=City%20eq%20'a'&$top=5&$skiptoken=T"],
    ['SKIP=1&%24skiptoken=old&%24top=2&debug=a+b&access_token=secret', '%24top=2&debug=a+b&$skiptoken=T'],
    ['x=\u00e6', 'x=%E6&$skiptoken=T'],
  ])('%s', (raw, expected) => expect(toNextLinkQuery(raw, { $skiptoken: 'T' })).toBe(expected))
})

describe('the pages of a query', () => {
  const plans = new PlanCache()
  const readPage = (raw: string, place: ResourceKind = 'collection') =>
    parsePageQuery(readQueryOptions(raw, plans), place, DEFAULT_PARSE_LIMITS, plans)

  test('have one query, and each its own token', () => {
    const kept = '$filter=City%20eq%20%27Vail%27&$top=5&'
    const [first, second] = ['one', 'two'].map($skiptoken => readPage(toNextLinkQuery(kept, { $skiptoken })))
    expect([first?.pageToken, second?.pageToken]).toEqual(['one', 'two'])
    expect(second?.query).toBe(first?.query)
    expect(showQuery(first?.query ?? {})).toEqual({ filter: "(eq City 'Vail')", top: 5 })
  })

  test('a token before other options is not part of the query either', () => {
    expect(readPage('$skiptoken=one&$top=5')).toEqual({ query: { top: 5 }, pageToken: 'one' })
  })

  test('a token is refused where there are no pages', () => {
    expect(problem(() => readPage('$skiptoken=one', 'record'))).toMatchObject({
      kind: 'OptionNotAllowed',
      option: '$skiptoken',
    })
  })
})
