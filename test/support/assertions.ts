import { expect } from 'vitest'
import type { TestResponse } from './app.js'
import { differences, type Json } from './json-matchers.js'

export type Row = Readonly<Record<string, Json>>
type ExpectedKeys =
  | readonly string[]
  | { readonly set: readonly string[]; readonly optional?: readonly string[] }
type Names = readonly string[]

/** Expected properties of a response. Each member is one check. Names are those of the shared cases. */
export interface Expectation {
  readonly status: number | readonly number[]
  /** An error body. `any` accepts any content. */
  readonly error?: true | 'any'
  readonly errorStrict?: true
  readonly errorTargetIfPresent?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly headersIf204?: Readonly<Record<string, string>>
  readonly text?: string
  readonly json?: Json
  readonly bodyContains?: Names
  readonly bodyNotMatches?: string
  /** Keys on all pages. */
  readonly keys?: ExpectedKeys
  readonly orderGroups?: readonly Names[]
  readonly page?: { readonly keys?: ExpectedKeys; readonly nextLink?: 'present' | 'absent' }
  readonly pageMax?: number
  readonly walk?: PagingExpectation
  readonly count?: number
  readonly noCount?: true
  readonly noLink?: true
  readonly noControl?: true
  readonly contextRelative?: true
  /** Fields of each record. */
  readonly onlyProps?: Names
  readonly hasProps?: Names
  readonly onlyPropsSelf?: Names
  readonly hasPropsSelf?: Names
  readonly notPropsSelf?: Names
  readonly laterThan?: Readonly<Record<string, string>>
  readonly records?: Readonly<Record<string, Json>>
  readonly nestedOnly?: Readonly<Record<string, Names>>
  readonly nestedCount?: Readonly<Record<string, number>>
  readonly nestedRefs?: Readonly<Record<string, number>>
  readonly refCount?: number
  readonly linkKeeps?: Names
  readonly linkAdds?: Names
  readonly linkAbsolute?: true
  /** The keys of other requests, concatenated. */
  readonly relation?: {
    readonly op: 'union' | 'intersection' | 'complement' | 'difference'
    readonly of: Names
  }
}

interface PagingExpectation {
  readonly keys?: Names
  readonly set?: Names
  readonly orderGroups?: readonly Names[]
  readonly length?: number
  readonly maxPage?: number
  readonly count?: number
  readonly onlyProps?: Names
  readonly eachHas?: Names
}

/** A response, with the requests that can follow it. */
export interface ExpectationContext {
  readonly url: string
  readonly answer: TestResponse
  /** This page and all following ones, by their links. */
  readonly pages: () => Promise<readonly TestResponse[]>
  /** The keys of all pages of another request. */
  readonly keysAt: (url: string) => Promise<readonly string[]>
}

/** Returns the content of a response that must be a JSON object. */
export const bodyOf = ({ json }: TestResponse): Row => {
  expect(json).toBeTypeOf('object')
  return json as Row // an object of JSON, as just seen
}
export const rowsOf = (answer: TestResponse): readonly Row[] => {
  const { value } = bodyOf(answer)
  expect(Array.isArray(value), 'a list in value').toBe(true)
  return value as readonly Row[] // collections hold objects
}
export const nextLinkOf = (answer: TestResponse): string | undefined => {
  const link = bodyOf(answer)['@odata.nextLink']
  return link === undefined ? undefined : String(link)
}
const allRows = async ({ pages }: ExpectationContext) => (await pages()).flatMap(rowsOf)
export const keysOf = (rows: readonly Row[]) => rows.map(row => String(row['ListingKey']))
const fieldsOf = (row: Row) =>
  Object.keys(row)
    .filter(name => !name.includes('@'))
    .sort()
const expandedRows = (row: Row | undefined, name: string) => (row?.[name] ?? []) as readonly Row[] // an expanded collection

type ExpectationCheck<K extends keyof Expectation> = (
  wanted: NonNullable<Expectation[K]>,
  context: ExpectationContext,
) => void | Promise<void>

const CHECKS: { readonly [K in keyof Required<Expectation>]: ExpectationCheck<K> } = {
  status: (wanted, { answer }) => expect([wanted].flat(), answer.text.slice(0, 300)).toContain(answer.status),
  error: (wanted, { answer }) => {
    if (wanted === true) checkError(answer)
  },
  errorStrict: (_, { answer }) => {
    expect(Object.keys(bodyOf(answer))).toEqual(['error'])
    expect(['code', 'message', 'target', 'details', 'innererror']).toEqual(
      expect.arrayContaining(Object.keys(errorOf(answer))),
    )
  },
  errorTargetIfPresent: (wanted, { answer }) =>
    expect([wanted, undefined, null]).toContain(errorOf(answer)['target']),
  headers: checkHeaders,
  headersIf204: (wanted, context) =>
    context.answer.status === 204 ? checkHeaders(wanted, context) : undefined,
  text: (wanted, { answer }) => expect(answer.text).toBe(wanted),
  json: (wanted, { answer }) => expect(differences(wanted, bodyOf(answer))).toEqual([]),
  bodyContains: (wanted, { answer }) => {
    for (const part of wanted) expect(answer.text).toContain(part)
  },
  bodyNotMatches: (wanted, { answer }) => expect(answer.text).not.toMatch(new RegExp(wanted, 'i')),
  keys: async (wanted, context) => checkKeys(wanted, keysOf(await allRows(context))),
  orderGroups: async (wanted, context) => checkOrderGroups(wanted, keysOf(await allRows(context))),
  page: ({ keys, nextLink }, { answer }) => {
    if (keys) checkKeys(keys, keysOf(rowsOf(answer)))
    if (nextLink) expect(nextLinkOf(answer) === undefined ? 'absent' : 'present').toBe(nextLink)
  },
  pageMax: (wanted, { answer }) => expect(rowsOf(answer).length).toBeLessThanOrEqual(wanted),
  walk: checkPaging,
  count: (wanted, { answer }) => expect(bodyOf(answer)['@odata.count']).toBe(wanted),
  noCount: (_, { answer }) => expect(bodyOf(answer)).not.toHaveProperty(['@odata.count']),
  noLink: (_, { answer }) => expect(nextLinkOf(answer)).toBeUndefined(),
  noControl: (_, { answer }) =>
    expect(answer.text.match(/"[^"]*@(?!odata\.(?:nextLink|count)")[^"]*":/g)).toBeNull(),
  contextRelative: (_, { answer }) => expect(bodyOf(answer)['@odata.context']).toMatch(/^\$metadata#/),
  onlyProps: async (wanted, context) => checkFields(wanted, await allRows(context)),
  hasProps: async (wanted, context) => {
    for (const row of await allRows(context))
      expect(fieldsOf(row)).toEqual(expect.arrayContaining([...wanted]))
  },
  onlyPropsSelf: (wanted, { answer }) => checkFields(wanted, [bodyOf(answer)]),
  hasPropsSelf: (wanted, { answer }) =>
    expect(Object.keys(bodyOf(answer))).toEqual(expect.arrayContaining([...wanted])),
  notPropsSelf: (wanted, { answer }) => {
    for (const name of wanted) expect(bodyOf(answer)).not.toHaveProperty([name])
  },
  laterThan: (wanted, { answer }) => {
    for (const [name, before] of Object.entries(wanted))
      expect(Date.parse(String(bodyOf(answer)[name]))).toBeGreaterThan(Date.parse(before))
  },
  records: async (wanted, context) => {
    const rows = await allRows(context)
    for (const [key, part] of Object.entries(wanted))
      expect(
        differences(part, key === '$0' ? rows[0] : rows.find(row => row['ListingKey'] === key), key),
      ).toEqual([])
  },
  nestedOnly: (wanted, { answer }) => {
    for (const row of rowsOf(answer))
      for (const [name, fields] of Object.entries(wanted)) checkFields(fields, expandedRows(row, name))
  },
  nestedCount: (wanted, { answer }) => {
    for (const [name, count] of Object.entries(wanted))
      expect(rowsOf(answer)[0]?.[`${name}@odata.count`]).toBe(count)
  },
  nestedRefs: (wanted, { answer }) => {
    for (const [name, count] of Object.entries(wanted))
      checkReferences(count, expandedRows(rowsOf(answer)[0], name))
  },
  refCount: (wanted, { answer }) => checkReferences(wanted, rowsOf(answer)),
  linkKeeps: (wanted, { url, answer }) => {
    const [before, after] = [url, nextLinkOf(answer) ?? ''].map(
      text => new URL(text, 'http://localhost').searchParams,
    )
    for (const name of wanted) expect(after?.get(name)).toBe(before?.get(name))
  },
  linkAdds: (wanted, { answer }) =>
    expect([...new URL(nextLinkOf(answer) ?? '').searchParams.keys()]).toEqual(
      expect.arrayContaining([...wanted]),
    ),
  linkAbsolute: (_, { answer }) => expect(nextLinkOf(answer)).toMatch(/^http:\/\//),
  relation: async ({ op, of }, context) => {
    const [a = [], b = []] = await Promise.all(of.map(context.keysAt))
    const wanted = {
      union: [...a, ...b],
      intersection: a.filter(k => b.includes(k)),
      complement: a.filter(k => !b.includes(k)),
      difference: a.filter(k => !b.includes(k)),
    }[op]
    checkKeys({ set: [...new Set(wanted)] }, keysOf(await allRows(context)))
  },
}

/** Runs every check of an expectation. */
export async function checkExpectation(wanted: Expectation, context: ExpectationContext): Promise<void> {
  for (const name of Object.keys(wanted) as (keyof Expectation)[]) await runCheck(name, wanted, context) // a name without a check fails there
}

const runCheck = <K extends keyof Expectation>(name: K, wanted: Expectation, context: ExpectationContext) =>
  CHECKS[name](wanted[name] as NonNullable<Expectation[K]>, context) // it is there

const errorOf = (answer: TestResponse) => bodyOf(answer)['error'] as Row // the shape is looked at by checkError

function checkError(answer: TestResponse): void {
  if (answer.status < 400) return
  expect(answer.headers).toMatchObject({
    'content-language': 'en',
    'odata-version': expect.stringMatching(/^4\.0/),
  })
  expect(errorOf(answer)).toMatchObject({
    code: expect.stringMatching(/.+/),
    message: expect.stringMatching(/.+/),
  })
  for (const detail of errorOf(answer)['details'] as readonly Row[])
    expect(detail).toMatchObject({ code: expect.stringMatching(/.+/), message: expect.stringMatching(/.+/) })
}

function checkHeaders(wanted: Readonly<Record<string, string>>, { answer }: ExpectationContext): void {
  for (const [name, pattern] of Object.entries(wanted))
    expect(answer.headers[name] ?? '', name).toMatch(new RegExp(pattern, 'i'))
}

function checkKeys(wanted: ExpectedKeys, found: readonly string[]): void {
  expect(
    found.filter((key, i) => found.indexOf(key) < i),
    'repeated records',
  ).toEqual([])
  const { set, optional = [] } = 'set' in wanted ? wanted : { set: wanted }
  const missing = set.filter(key => !found.includes(key))
  expect({ missing, extra: found.filter(key => ![...set, ...optional].includes(key)) }).toEqual({
    missing: [],
    extra: [],
  })
  if (!('set' in wanted)) expect(found).toEqual(wanted)
}

function checkOrderGroups(groups: readonly Names[], found: readonly string[]): void {
  const rest = [...found]
  for (const group of groups) expect(rest.splice(0, group.length).sort()).toEqual([...group].sort())
  expect(rest).toEqual([])
}

const checkFields = (wanted: Names, rows: readonly Row[]) => {
  for (const row of rows) expect(fieldsOf(row)).toEqual([...wanted].sort())
}

function checkReferences(count: number, rows: readonly Row[]): void {
  expect(rows.map(row => [typeof row['@odata.id'], fieldsOf(row).length])).toEqual(
    Array.from({ length: count }, () => ['string', 0]),
  )
}

/** Also checks links: they are absolute and contain a token, and an empty or short page has none. */
async function checkPaging(wanted: PagingExpectation, context: ExpectationContext): Promise<void> {
  const pages = await context.pages()
  const rows = pages.flatMap(rowsOf)
  if (wanted.keys) checkKeys(wanted.keys, keysOf(rows))
  if (wanted.set) checkKeys({ set: wanted.set }, keysOf(rows))
  if (wanted.orderGroups) checkOrderGroups(wanted.orderGroups, keysOf(rows))
  if (wanted.length !== undefined) expect(rows).toHaveLength(wanted.length)
  if (wanted.onlyProps) checkFields(wanted.onlyProps, rows)
  for (const row of rows) for (const name of wanted.eachHas ?? []) expect(row).toHaveProperty([name])
  for (const page of pages) checkPage(page, wanted, context.url)
}

function checkPage(page: TestResponse, { maxPage, count }: PagingExpectation, url: string): void {
  const [size, link] = [rowsOf(page).length, nextLinkOf(page)]
  if (maxPage !== undefined) expect(size).toBeLessThanOrEqual(maxPage)
  if (count !== undefined) expect(bodyOf(page)['@odata.count']).toBe(count)
  if (link !== undefined) expect(link).toMatch(/^https?:\/\/.*(?:\$|%24)skiptoken=[\w-]+$/)
  if (size === 0 || (maxPage !== undefined && size < maxPage && url.includes('$top=')))
    expect(link).toBeUndefined()
}

/** Returns the text around the first difference of two responses. */
export function firstDifference(found: unknown, expected: unknown): readonly string[] | undefined {
  const texts = [found, expected].map(value => JSON.stringify(value, null, 1))
  const [a = '', b = ''] = texts
  if (a === b) return undefined
  const at = [...a].findIndex((character, i) => character !== b[i])
  return texts.map(text => text.slice(Math.max(0, at - 60), at + 60))
}
