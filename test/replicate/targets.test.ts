import { randomUUID } from 'node:crypto'
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest'
import { pruneLog } from '../../src/data/changes/prune.js'
import { DATABASE_KINDS } from '../support/database.js'
import { executeOnServer } from '../support/process.js'
import { startTestService } from '../support/test-service.js'
import { replicateOnce, startReplicate } from './client-process.js'
import { compareCopy, countCopied, queryDuckDB, readFolder } from './copies.js'
import { copiedSets, createKilledRun, KILLS, startWriters } from './kills.js'
import { startProxy, type TestProxy } from './proxy.js'
import { shortenDigests } from './short-digests.js'

const POLL = { timeout: 60_000 }
const LISTINGS = 40
const OWNERS = { ListAgentKey: 'M1', ListOfficeKey: 'O1' }
const numbers = Array.from({ length: LISTINGS }, (_, n) => n + 1)
const keyOf = (n: number) => `L${String(n).padStart(3, '0')}`

/** Kinds of targets. PostgreSQL is there if its programs are on the machine. */
const TARGETS = ['folder', 'DuckDB', ...(DATABASE_KINDS.includes('server') ? ['PostgreSQL'] : [])]

async function createTarget(kind: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'replica-'))
  if (kind === 'folder') return join(folder, 'copy')
  if (kind === 'DuckDB') return join(folder, 'copy.duckdb')
  const name = `replica_${randomUUID().replaceAll('-', '')}`
  // Its linguistic order differs from that of the keys.
  await executeOnServer(`create database ${name} template template0 locale_provider icu icu_locale 'en-US'`)
  const url = new URL(inject('serverUrl') ?? '')
  url.pathname = `/${name}`
  return url.href
}

/** Changes a copy without the client: removes, adds and alters listings, one of them without another version. */
async function damage(kind: string, to: string): Promise<void> {
  const statements = (schema: string) => [
    `delete from ${schema}"Property" where "ListingKey" in ('L001', 'L002', 'L003')`,
    `update ${schema}"Property" set "LastEventSequence" = 1 where "ListingKey" in ('L004', 'L005', 'L006', 'L007')`,
    `update ${schema}"Property" set "ListPrice" = 1 where "ListingKey" = 'L008'`,
    `insert into ${schema}"Property" ("ListingKey", "_generation") values ('X1', 1), ('X2', 1)`,
  ]
  if (kind === 'DuckDB') await queryDuckDB(to, ...statements(''))
  if (kind === 'PostgreSQL') {
    const client = new Client({ connectionString: to })
    await client.connect()
    for (const sql of statements('replica.')) await client.query(sql)
    await client.end()
  }
  if (kind === 'folder') {
    const path = join(to, 'state.json')
    const state = JSON.parse(await readFile(path, 'utf8'))
    const file = join(to, state.files.Property.name)
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    const damaged = lines
      .filter(line => !/"ListingKey":"L00[123]"/.test(line))
      .map(line =>
        /"ListingKey":"L00[4567]"/.test(line)
          ? line.replace(/"LastEventSequence":\d+/, '"LastEventSequence":1')
          : line,
      )
      .map(line =>
        line.includes('"ListingKey":"L008"') ? line.replace(/"ListPrice":[\d.]+/, '"ListPrice":1') : line,
      )
    const text = [...damaged, '{"ListingKey":"X1"}', '{"ListingKey":"X2"}', ''].join('\n')
    await writeFile(file, text)
    state.files.Property.bytes = Buffer.byteLength(text)
    await writeFile(path, JSON.stringify(state))
  }
}

let market: Awaited<ReturnType<typeof startTestService>>
let proxy: TestProxy
beforeAll(async () => {
  market = await startTestService(DATABASE_KINDS.includes('server') ? { kind: 'server' } : {})
  proxy = await startProxy(market.base)
}, 120_000)
afterAll(async () => {
  proxy.close()
  await market.close()
})

describe.each(TARGETS)('npm run replicate to %s', { timeout: 180_000 }, kind => {
  let token: string
  let to: string
  beforeAll(async () => {
    token = market.tokenFor({ scopes: ['listings:read'], audience: 'public' })
    to = await createTarget(kind)
    await fillMarket()
  }, 120_000)

  const fillMarket = () =>
    market.given(
      numbers.map(n => ({
        ...OWNERS,
        ListPrice: n * 1000.25,
        ConstructionMaterials: ['Brick', `M${n}`],
        GeoLocation: { type: 'Point', coordinates: [-105.1, 39 + n / 100] },
      })),
      {
        Media: numbers.flatMap(n =>
          [1, 2].map(i => ({
            MediaKey: `${keyOf(n)}-P${i}`,
            ResourceName: 'Property',
            ResourceRecordKey: keyOf(n),
            Order: i,
          })),
        ),
        Rooms: numbers.map(n => ({
          RoomKey: n % 2 === 0 ? `${keyOf(n)}-R` : `${keyOf(n)}-R`.toLowerCase(),
          ListingKey: keyOf(n),
          RoomLength: '12.50',
        })),
      },
    )

  const once = (...more: readonly string[]) => replicateOnce({ from: proxy.base, to, token, more })
  const differences = () => compareCopy(market, token, to)
  /** Runs the client until its requests reach a point, and kills it then or a little later. */
  const killAt = async (
    isReached: (requests: readonly string[]) => boolean,
    more: readonly string[] = [],
    delayMs = 0,
  ) => {
    proxy.requests.length = 0
    const { child, exit, output } = startReplicate({ from: proxy.base, to, token, more })
    proxy.intercept = async () => {
      if (!isReached(proxy.requests)) return false
      if (delayMs === 0) child.kill('SIGKILL')
      else setTimeout(() => child.kill('SIGKILL'), delayMs)
      return false
    }
    await exit
    proxy.intercept = () => false
    return output()
  }

  test('RCL-01 kill -9 at any moment, beside four writers: the copy is equal in every column', {
    timeout: 120_000 + KILLS * 60_000,
  }, async () => {
    const stopWriters = startWriters(market, keyOf)
    onTestFinished(async () => void (await stopWriters()))
    const stored = new Set<string>()
    for (let kill = 0; kill < KILLS; kill++) {
      const { isFirstCopy, more, isReached, delayMs } = createKilledRun(kill)
      await killAt(isReached, more, delayMs)
      if (!isFirstCopy) continue
      // The copy of a set is stored when that of the next one begins. It is not read again.
      const sets = copiedSets(proxy)
      expect(sets.filter(set => stored.has(set))).toEqual([])
      for (const set of sets.slice(0, -1)) stored.add(set)
    }
    await stopWriters()
    expect(await once('--allow-deletions')).toEqual([0, expect.stringContaining('Up to date')])
    expect(await differences()).toEqual({})
    expect(await once('--verify')).toEqual([0, expect.stringContaining('Verified')])
  })

  test('RCL-12 --verify finds differences, and --repair fixes them', async () => {
    for (const n of numbers.slice(0, 7))
      await market.patch(keyOf(n), { InternetEntireListingDisplayYN: true })
    expect((await once())[0]).toBe(0)
    await damage(kind, to)
    // Each range of the copy is compared on its own.
    proxy.intercept = shortenDigests(market, 7)
    const [code, output] = await once('--verify')
    expect(code).toBe(2)
    const named = [...output.matchAll(/Property (\w+): (.+)/g)]
      .map(([, key, what]) => `${key} ${what}`)
      .sort()
    expect(named).toEqual([
      ...[1, 2, 3].map(n => `L00${n} missing`),
      ...[4, 5, 6, 7].map(n => `L00${n} another version`),
      ...[1, 2].map(n => `X${n} not in the source`),
    ])
    expect(await once('--verify', '--repair')).toEqual([0, expect.stringContaining('Verified')])
    const digests = proxy.requests.filter(url => url.includes("Digest(ResourceName='Property'"))
    expect(digests.length).toBeGreaterThan(LISTINGS / 7)
    proxy.intercept = () => false
    // A value that was changed without another version is found only by comparing all values, as the docs say.
    expect(await differences()).toEqual({ Property: [1, 1] })
    await market.patch('L008', { ListPrice: 8 })
    expect((await once())[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  test('RCL-05 410: records deleted or hidden in the meantime are removed, and the copy resumes after kill -9', async () => {
    await fillMarket()
    expect((await once('--allow-deletions'))[0]).toBe(0)
    const [changed, hidden, deleted] = [11, 21, 31].map(first => numbers.slice(first - 1, first + 9))
    for (const n of deleted ?? []) expect((await market.remove(keyOf(n))).status).toBe(204)
    const show = async (InternetEntireListingDisplayYN: boolean) => {
      for (const n of hidden ?? []) await market.patch(keyOf(n), { InternetEntireListingDisplayYN })
    }
    await show(false)
    for (const n of changed ?? []) await market.patch(keyOf(n), { ListPrice: 1 })
    await pruneLog(market.database, new Date(Date.now() + 60_000))
    // The media are copied, a part of the listings is not.
    const broken = await killAt(requests => requests.at(-1)?.startsWith('/odata/Property/$count') === true)
    expect(broken).toMatch(/no longer has the events after \d+: making a new copy/)
    const asksForOldEvents = (url: string) => url.includes('EntityEvent') && url.includes('gt')
    expect(proxy.requests.filter(asksForOldEvents)).toHaveLength(1)
    // Readers of the target still find the old copy.
    expect(await countCopied(to, 'Property')).toBe(LISTINGS)
    proxy.requests.length = 0
    const counts = await countWhileCopying()
    expect(counts.filter(count => count !== LISTINGS)).toEqual([])
    expect(proxy.requests.some(url => url.startsWith('/odata/Media/$count'))).toBe(false)
    expect(await countCopied(to, 'Property')).toBe(LISTINGS - 20)
    expect(await differences()).toEqual({})
    await show(true)
  })

  /** Completes a copy. Returns the numbers of listings in the target at its requests. DuckDB has no other readers. */
  async function countWhileCopying(): Promise<readonly number[]> {
    const counts: number[] = []
    proxy.intercept = async req => {
      const isCopying = /^\/odata\/(Media|Rooms|OpenHouse|Property)\b/.test(req.url ?? '')
      if (kind !== 'DuckDB' && isCopying) counts.push(await countCopied(to, 'Property'))
      return false
    }
    // Half of the listings are gone.
    expect((await once('--allow-deletions'))[0]).toBe(0)
    proxy.intercept = () => false
    if (kind !== 'DuckDB') expect(counts.length).toBeGreaterThan(0)
    return counts
  }

  test('RCL-16 a second client is refused, and after kill -9 of the first one the target is free', async () => {
    // A TMPDIR of its own does not make it another target.
    const env = { TMPDIR: await mkdtemp(join(tmpdir(), 'tmp-')) }
    const first = startReplicate({ from: proxy.base, to, token }, { env })
    await expect.poll(first.output, POLL).toContain('Up to date')
    const [code, output] = await once()
    // The second one names the holder: its session in PostgreSQL, otherwise its process.
    const holder = kind === 'PostgreSQL' ? 'listing-service replicate' : String(first.child.pid)
    expect([code, output]).toEqual([7, expect.stringMatching(/^Target: another (client|program)/)])
    expect(output).toContain(holder)
    first.child.kill('SIGKILL')
    await first.exit
    await expect.poll(once, POLL).toEqual([0, expect.stringContaining('Up to date')])
  })

  test('a run that would delete more than a fifth stops, and so do other rights and filters', async () => {
    const member = market.tokenFor({ scopes: ['listings:read'], audience: 'member' })
    const other = await replicateOnce({ from: proxy.base, to, token: member })
    expect(other).toEqual([6, expect.stringContaining('other rights of the token')])
    expect(await once('--filter', "Property=City eq 'Nowhere'")).toEqual([
      6,
      expect.stringContaining('other filters'),
    ])
    const [before] = [await differences()]
    const emptied = await once('--filter', "Property=City eq 'Nowhere'", '--accept-change')
    expect(emptied).toEqual([6, expect.stringMatching(/Stopped before \d+ of \d+ records of Property/)])
    expect(before).toEqual({})
    const allowed = await once('--filter', "Property=City eq 'Nowhere'", '--allow-deletions')
    expect(allowed[0]).toBe(0)
    expect(Object.keys(await differences())).toEqual(['Property'])
    expect((await once('--accept-change'))[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  test('a copy of other sets needs a flag, and omitted sets are removed', async () => {
    expect(await once('--sets', 'Property,Media')).toEqual([6, expect.stringContaining('other sets')])
    expect(await once()).toEqual([0, expect.stringContaining('Up to date')])
    expect(await differences()).toEqual({})
    const filters = ['--filter', "Property=City eq 'Austin'", '--filter', 'Media=Order eq 1']
    const chosen = ['--sets', 'Property,Media', ...filters]
    expect((await once(...chosen, '--accept-change', '--allow-deletions'))[0]).toBe(0)
    // The order of the filters does not count, and a target may store another one.
    const again = await once('--sets', 'Media,Property', ...filters.slice(2), ...filters.slice(0, 2))
    expect(again).toEqual([0, expect.not.stringContaining('new copy')])
    const counts = ['Property', 'Media', 'Rooms', 'Lookup'].map(set => countCopied(to, set))
    const [listings = 0, ...others] = await Promise.all(counts)
    expect(others).toEqual([listings, 0, 0])
    expect((await once('--accept-change'))[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  // A folder has the text of the source, which is not that of an export.
  test.runIf(kind !== 'folder')(
    'RCL-14 a service without log and positions is polled by time, to the same copy',
    async () => {
      const here = await createTarget(kind)
      proxy.intercept = async (req, res) => {
        if (!req.url?.endsWith('$metadata')) return false
        const headers = { Authorization: `Bearer ${token}`, Accept: 'application/xml' }
        const { text } = await market.send('/odata/$metadata', { headers })
        res.writeHead(200).end(text.replaceAll('EntityEventSequence', 'Sequence'))
        return true
      }
      const byTime = () => replicateOnce({ from: proxy.base, to: here, token })
      expect(await byTime()).toEqual([0, expect.stringContaining('Deletions are found by sweeps only')])
      expect(await compareCopy(market, token, here)).toEqual({})
      await market.patch(keyOf(9), { City: 'Polled', ListPrice: 12.34 })
      await market.patch(keyOf(10), { InternetEntireListingDisplayYN: false })
      proxy.requests.length = 0
      expect((await byTime())[0]).toBe(0)
      proxy.intercept = () => false
      expect(proxy.requests.filter(url => /EntityEvent|Digest/.test(url))).toEqual([])
      expect(await compareCopy(market, token, here)).toEqual({})
      await market.patch(keyOf(10), { InternetEntireListingDisplayYN: true })
    },
  )

  test('RCL-19 unusual keys and texts', async () => {
    const keys = [
      'a1',
      'A1',
      'ä',
      'a\u0308',
      "o'1",
      'x/y',
      '50%',
      'a b',
      '🏠',
      'CON',
      'aux',
      '.x',
      'k'.repeat(255),
    ]
    await market.given(
      // Some line readers take these characters as ends of lines.
      keys.map(ListingKey => ({ ListingKey, PublicRemarks: 'one\u2028two\u2029three\u0085four' })),
      {
        Media: [{ MediaKey: 'a1', ResourceName: 'Property', ResourceRecordKey: 'a1' }],
      },
    )
    expect(await once('--allow-deletions')).toEqual([0, expect.stringContaining('Up to date')])
    expect(await differences()).toEqual({})
    for (const key of keys)
      await market.database.prisma.property.update({ where: { ListingKey: key }, data: { City: 'Changed' } })
    expect((await once('--verify'))[0]).toBe(0)
    expect(await differences()).toEqual({})
    if (kind === 'folder') expect((await readFolder(to, 'Property')).size).toBe(keys.length)
    if (kind === 'folder') expect((await readdir(to)).filter(name => name.includes('CON'))).toEqual([])
  })
})
