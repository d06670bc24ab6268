import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import { appendSample } from '../../src/sample/fill.js'
import { nextLinkOf, type Row, rowsOf } from '../support/assertions.js'
import { DATABASE_KINDS, type DatabaseKind } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import {
  createTestEnvironment,
  type StartedService,
  serverEnvironment,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { DATABASE_LIMITS } from '../support/setup.js'

// Walks over the whole market while a second client changes, creates and deletes. WALK_LISTINGS=100000 makes
// the full run, of pages of 1,000; WALK_DATABASE_URL names a database for it that may be seeded already.

const LISTINGS = Number(process.env['WALK_LISTINGS'] ?? 600)
const SEEDED = process.env['WALK_DATABASE_URL']
const IS_FULL = LISTINGS >= 10_000
const PAGE = IS_FULL ? 1000 : 100
const CHANGES_PER_PAGE = IS_FULL ? 6 : 3

/**
 * Nulls, ties and both directions: CloseDate and SoldPrice are null unless sold, ListPrice in some drafts;
 * cities, states and years are shared by many.
 */
const ORDERS = [
  ['ModificationTimestamp', 'ListingKey'],
  ['ModificationTimestamp desc', 'ListingKey desc'],
  ['City', 'ListPrice'],
  ['City desc', 'ListPrice'],
  ['ListPrice desc', 'City'],
  ['CloseDate', 'ListPrice desc'],
  ['StandardStatus desc', 'BedroomsTotal desc'],
  ['SoldPrice', 'TaxYear desc'],
] as const

/** A different number at every call, the same in every run. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return below => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff
    return Math.floor((state / 0x80000000) * below)
  }
}

/** The second client, and its changes. */
class Disturber {
  readonly changed = new Set<string>()
  readonly deleted = new Set<string>()
  readonly #random = createRandom(7)
  #turn = 0

  constructor(
    private readonly service: StartedService,
    private readonly member: string,
  ) {}

  /** One change after the other: of six, four PATCH, one DELETE, one POST. */
  async disturb(keys: readonly string[]): Promise<void> {
    for (let n = 0; n < CHANGES_PER_PAGE; n++) {
      const key = keys[this.#random(keys.length)] ?? ''
      if (this.#turn++ % 6 === 4) await this.#remove(key)
      else if (this.#turn % 6 === 0) await this.#create()
      else await this.#change(key)
    }
  }

  /** Recorded before the change is made, because the replication walk may read it immediately. */
  async #change(key: string): Promise<void> {
    this.changed.add(key)
    const [price, city] = [this.#random(10), this.#random(5)]
    const body = {
      ListPrice: price === 0 ? null : price * 100_000,
      City: `City ${city}`,
      SoldPrice: 1 + price,
      TaxYear: 2000 + city,
    }
    const answer = await this.service.send(`/odata/Property('${key}')`, {
      method: 'PATCH',
      body: { ...body, ChangedByMemberKey: this.member },
    })
    expect([200, 404], answer.text).toContain(answer.status)
  }

  async #remove(key: string): Promise<void> {
    this.deleted.add(key)
    expect([204, 404]).toContain(
      (await this.service.send(`/odata/Property('${key}')`, { method: 'DELETE' })).status,
    )
  }

  async #create(): Promise<void> {
    const body = {
      ...DRAFT,
      ListAgentKey: this.member,
      ListOfficeKey: this.member,
      ListPrice: this.#random(1_000_000),
    }
    expect((await this.service.send('/odata/Property', { method: 'POST', body })).status).toBe(201)
  }
}

const fieldOf = (term: string) => term.split(' ')[0] ?? ''

/** Null is below every value, and text is sorted by code point. */
function compareValues(x: Row[string], y: Row[string]): number {
  if (x === null || y === null) return Number(x !== null) - Number(y !== null)
  return typeof x === 'number' && typeof y === 'number'
    ? x - y
    : Buffer.compare(Buffer.from(String(x)), Buffer.from(String(y)))
}

/** The key comes last, in the direction of the last field. */
function compare(a: Row, b: Row, order: readonly string[]): number {
  for (const term of [...order, `ListingKey${order.at(-1)?.endsWith(' desc') ? ' desc' : ''}`]) {
    const result = compareValues(a[fieldOf(term)], b[fieldOf(term)])
    if (result !== 0) return term.endsWith(' desc') ? -result : result
  }
  return 0
}

function repeatedIn(keys: readonly string[]): readonly string[] {
  const met = new Set<string>()
  return keys.filter(key => met.has(key) || !met.add(key))
}

interface Walked {
  readonly rows: readonly Row[]
  /** Milliseconds of each page. */
  readonly times: readonly number[]
}

async function walk(
  service: StartedService,
  order: readonly string[],
  between: () => Promise<void>,
): Promise<Walked> {
  const rows: Row[] = []
  const times: number[] = []
  let link: string | undefined =
    `/odata/Property?$select=${[...new Set(['ListingKey', ...order.map(fieldOf)])]}&$orderby=${order}&$top=${PAGE}`
  while (link !== undefined) {
    const started = performance.now()
    const answer = await service.send(link)
    times.push(performance.now() - started)
    expect(answer.status, answer.text.slice(0, 300)).toBe(200)
    rows.push(...rowsOf(answer))
    link = nextLinkOf(answer)
    await between()
  }
  return { rows, times }
}

/** The cost of a page does not grow with its depth (trap DBX-04). Small runs are too short to show this. */
function expectFlat({ times }: Walked): void {
  const median = (some: readonly number[]) => [...some].sort((a, b) => a - b)[some.length >> 1] ?? 0
  if (IS_FULL) expect(median(times.slice(-20))).toBeLessThan(3 * median(times.slice(0, 20)))
}

/** Prints the cost of the full run. The memory of the process is known on Linux. */
function report(order: readonly string[], { rows, times }: Walked, pid: number): void {
  if (!IS_FULL) return
  const total = times.reduce((sum, time) => sum + time, 0)
  const memory = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  const at = (n: number) => `${Math.round(times.at(n) ?? 0)} ms`
  const speed = Math.round((rows.length / total) * 1000)
  process.stderr.write(
    `${order}: ${rows.length} rows, ${speed} rows/s, page 1 ${at(0)}, middle ${at(times.length >> 1)}, last full ${at(-2)}, ${memory} kB\n`,
  )
}

async function openPlace(kind: DatabaseKind): Promise<TestEnvironment> {
  if (SEEDED === undefined) return createTestEnvironment(kind)
  const connect = () => openDatabase({ ...DATABASE_LIMITS, databaseUrl: SEEDED, dataDir: '' }, 'command')
  return { ...serverEnvironment(SEEDED), connect, remove: async () => undefined }
}

async function readKeys({ prisma }: Database): Promise<readonly string[]> {
  return (await prisma.property.findMany({ select: { ListingKey: true } })).map(row => row.ListingKey)
}

// The full run is for a server.
describe.each(DATABASE_KINDS.filter(kind => !IS_FULL || kind === 'server'))(
  'a replication walk by next links on the %s database',
  kind => {
    let place: TestEnvironment
    let service: StartedService
    let database: Database
    let member: string
    beforeAll(async () => {
      place = await openPlace(kind)
      service = await startService(place)
      database = await place.connect()
      const missing = LISTINGS - (await database.prisma.property.count())
      if (missing > 0) await appendSample(database, missing, () => undefined)
      member = (await database.prisma.member.findFirstOrThrow()).MemberKey
    }, 1_800_000)
    afterAll(async () => {
      await database.close()
      expect(await service.stop('SIGTERM')).toBe(0)
      await place.remove()
    })

    test.each(ORDERS)(
      'DBX-04 by %s, %s misses nothing and repeats only what moved',
      { timeout: 600_000 },
      async (...order) => {
        const before = await readKeys(database)
        const disturber = new Disturber(service, member)
        const walked = await walk(service, order, () => disturber.disturb(before))
        const seen = walked.rows.map(row => String(row['ListingKey']))
        const once = new Set(seen)
        const { changed, deleted } = disturber
        expect(changed.size).toBeGreaterThan(0)
        const unseen = before.filter(key => !once.has(key) && !deleted.has(key))
        // A record that moves to a position already passed is missed. Only an increasing timestamp moves no
        // record there.
        expect(unseen.filter(key => !changed.has(key) || order[0] === 'ModificationTimestamp')).toEqual([])
        expect(repeatedIn(seen).filter(key => !changed.has(key))).toEqual([])
        expect(
          walked.rows.filter((row, i) => i > 0 && compare(walked.rows[i - 1] ?? row, row, order) >= 0),
        ).toEqual([])
        expectFlat(walked)
        report(order, walked, service.process.child.pid ?? 0)
      },
    )
  },
)
