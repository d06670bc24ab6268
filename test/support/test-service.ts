import { randomUUID } from 'node:crypto'
import { rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import type { Database } from '../../src/data/database.js'
import { importFile } from '../../src/data/import/import.js'
import { startTestApp, type TestApp, type TestAppSettings, type TestResponse } from './app.js'
import { bodyOf, keysOf, type Row, rowsOf } from './assertions.js'
import { readPages } from './cases.js'
import { DRAFT } from './drafts.js'

type Fields = Readonly<Record<string, unknown>>

/** The parts of a service that a test needs. */
export interface ServiceUnderTest extends Pick<TestApp, 'base' | 'send'> {
  readonly database: Database
}

/** A service for a file of tests, with the records of one test at a time. Queries read Property. */
export interface TestService extends ServiceUnderTest {
  /**
   * Empties the collections and imports these listings, with the keys L001, L002, ... unless they have
   * others. Other sets by their names.
   */
  given(listings: readonly Fields[], others?: Readonly<Record<string, readonly Fields[]>>): Promise<void>
  /** The pages of a query, to the last one. */
  pages(query: string): Promise<readonly (readonly Row[])[]>
  /** The records of all pages. */
  rows(query: string): Promise<readonly Row[]>
  /** The keys of all pages. */
  keys(query: string): Promise<readonly string[]>
  list(query: string): Promise<TestResponse>
  read(key: string): Promise<Row>
  post(body: unknown): Promise<TestResponse>
  patch(key: string, body: Fields): Promise<TestResponse>
  remove(key: string): Promise<TestResponse>
  /** Creates a draft and returns the record of the response. */
  draft(fields?: Fields): Promise<Row>
  /** Checks that every query is refused with a client error. */
  refused(...queries: readonly string[]): Promise<void>
}

const MEMBERS = ['M1', 'M2', 'M3', 'M4', 'M5'].map(MemberKey => ({ MemberKey }))
const LISTING_DEFAULTS = {
  ...DRAFT,
  City: 'Austin',
  StandardStatus: 'Active',
  MlsStatus: 'Active',
  ContractStatus: 'Available',
}
const BASE_TIME = Date.parse('2024-05-01T00:00:00Z')
/** Options of the service. */
const IMPLEMENTATION_DETAILS =
  /prisma|postgres|pglite|\bselect\b.*\bfrom\b|node_modules|\bat \S+ \(|\.(?:ts|js):\d|\$queryRaw|ECONN|localhost:\d/i

/** Starts a service for a file of tests. */
export async function startTestService(settings: TestAppSettings): Promise<TestService & TestApp> {
  const app = await startTestApp(settings)
  return { ...app, ...testServiceOf(app), database: app.database }
}

/** The operations of tests on a service. Each refusal is checked for its format and for internal details. */
export function testServiceOf(app: ServiceUnderTest): TestService {
  const send: TestApp['send'] = async (target, parts) => {
    const answer = await app.send(target, parts)
    if (answer.status >= 400 && parts?.method !== 'HEAD') expectErrorResponse(answer)
    return answer
  }
  const served = { base: app.base, database: app.database, send }
  const at = (key: string) => `/odata/Property('${key}')`
  const pages = async (query: string) => {
    const answers = await readPages(served, `/odata/Property?${query}`)
    expect([query, answers[0]?.status], answers[0]?.text.slice(0, 300)).toEqual([query, 200])
    return answers.map(rowsOf)
  }
  const rows = async (query: string) => (await pages(query)).flat()
  const list = (query: string) => send(`/odata/Property?${query}`)
  const post = (body: unknown) => send('/odata/Property', { method: 'POST', body })
  return {
    ...served, pages, rows, list, post,
    given: (listings, others = {}) => replaceRecords(app, listings, others),
    keys: async query => keysOf(await rows(query)),
    read: async key => bodyOf(await send(at(key))),
    patch: (key, body) => send(at(key), { method: 'PATCH', body: { ChangedByMemberKey: 'M1', ...body } }),
    remove: key => send(at(key), { method: 'DELETE' }),
    draft: async (fields = {}) => {
      const answer = await post({ ...DRAFT, ...fields })
      expect(answer.status, answer.text).toBe(201)
      return bodyOf(answer)
    },
    refused: async (...queries) => {
      for (const query of queries) {
        const answer = await list(query)
        expect([query, answer.status], answer.text.slice(0, 200)).toEqual([query, 400])
      }
    },
  } // biome-ignore format: one member a line
}

async function replaceRecords(
  { database }: ServiceUnderTest,
  listings: readonly Fields[],
  others: Readonly<Record<string, readonly Fields[]>>,
): Promise<void> {
  await database.prisma.property.deleteMany()
  await database.prisma.media.deleteMany()
  const Property = listings.map((fields, i) => ({
    ...LISTING_DEFAULTS,
    ListingKey: `L${String(i + 1).padStart(3, '0')}`,
    ModificationTimestamp: new Date(BASE_TIME + i * 1000).toISOString(),
    ...fields,
  }))
  const path = join(tmpdir(), `listing-given-${randomUUID()}.json`)
  await writeFile(path, JSON.stringify({ Member: MEMBERS, Property, ...others }))
  await importFile(database, path)
  await rm(path)
}

/** Checks the format of a refusal (trap ERR-08), and that it discloses no internal details (ERR-02). */
export function expectErrorResponse(answer: TestResponse): void {
  const { error, ...rest } = bodyOf(answer)
  expect(rest).toEqual({})
  expect(error).toMatchObject({
    code: expect.stringMatching(/^\d{4}$/),
    message: expect.stringMatching(/./),
    details: expect.any(Array),
  })
  const { details, ...top } = error as { readonly details: readonly Row[] } & Row // as just seen
  for (const detail of details)
    expect(detail).toMatchObject({
      code: expect.stringMatching(/^\d{4}$/),
      message: expect.stringMatching(/./),
    })
  for (const detail of details)
    expect(Object.keys(detail).filter(name => !['code', 'message', 'target'].includes(name))).toEqual([])
  expect(Object.keys(top).filter(name => !['code', 'message', 'target'].includes(name))).toEqual([])
  expect(answer.headers).toMatchObject({
    'content-language': 'en',
    'content-type': 'application/json',
    'x-request-id': expect.stringMatching(/./),
  })
  expect(JSON.stringify(answer.headers) + answer.text).not.toMatch(IMPLEMENTATION_DETAILS)
}
