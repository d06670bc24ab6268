import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { executeOnServer } from '../support/process.js'
import { startTestService } from '../support/test-service.js'
import { replicateOnce, startReplicate } from './client-process.js'
import { compareCopy, queryDuckDB, readFolder } from './copies.js'
import { type OtherServer, startOtherServer } from './other-server.js'
import { startProxy, type TestProxy } from './proxy.js'

const LISTINGS = 30

const refuse = (
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): true => {
  res.writeHead(status, headers).end('{}')
  return true
}

describe('npm run replicate and its source', () => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let proxy: TestProxy
  let token: string
  let to: string
  beforeAll(async () => {
    market = await startTestService(DATABASE_KINDS.includes('server') ? { kind: 'server' } : {})
    token = market.tokenFor({ scopes: ['listings:read'], audience: 'public' })
    await market.given(Array.from({ length: LISTINGS }, () => ({})))
  }, 120_000)
  afterAll(() => market.close())
  beforeEach(async () => {
    to = join(await mkdtemp(join(tmpdir(), 'replica-')), 'copy')
    proxy = await startProxy(market.base)
  })
  afterEach(() => proxy.close())

  const once = (...more: readonly string[]) => replicateOnce({ from: proxy.base, to, token, more })
  const differences = () => compareCopy(market, token, to)

  test('RCL-06 429 and 503 are waited for, dropped connections and broken exports repeated', {
    timeout: 60_000,
  }, async () => {
    const answers: ((res: ServerResponse) => true)[] = [
      res => refuse(res, 429, { 'Retry-After': '1' }),
      res => refuse(res, 503, { 'Retry-After': new Date(Date.now() + 1000).toUTCString() }),
      res => refuse(res, 503),
      res => refuse(res, 500),
      res => {
        res.destroy()
        return true
      },
      res => {
        res.writeHead(200, { 'Content-Type': 'application/x-ndjson' }).write('{"ListingKey":"half')
        setTimeout(() => res.destroy(), 50)
        return true
      },
    ]
    proxy.intercept = (req, res) =>
      req.url?.includes('/Property') ? (answers.shift()?.(res) ?? false) : false
    const [code, output] = await once()
    expect([code, answers.length]).toEqual([0, 0])
    expect(output).toMatch(/the source answered 429; next try at 20/)
    expect(await differences()).toEqual({})
  })

  test('RCL-06 a long Retry-After ends --once with 3, and a signal ends a wait at once', {
    timeout: 60_000,
  }, async () => {
    proxy.intercept = (_, res) => refuse(res, 503, { 'Retry-After': '3600' })
    expect(await once()).toEqual([3, expect.stringContaining('Source: the source answered 503')])
    const waiting = startReplicate({ from: proxy.base, to, token })
    await expect.poll(waiting.output, { timeout: 20_000 }).toContain('next try at')
    waiting.child.kill('SIGTERM')
    expect([await waiting.exit, waiting.output()]).toEqual([0, expect.stringContaining('Stopped')])
  })

  test('RCL-02 a page of events that cannot be read does not move the position', {
    timeout: 60_000,
  }, async () => {
    expect((await once())[0]).toBe(0)
    const position = async () => JSON.parse(await readFile(join(to, 'state.json'), 'utf8')).state.position
    const before = await position()
    await market.patch('L001', { City: 'Changed' })
    proxy.intercept = (req, res) => (req.url?.includes('ListingKey%20in') ? refuse(res, 500) : false)
    const running = startReplicate({ from: proxy.base, to, token, more: ['--interval', '0.1'] })
    await expect.poll(running.output, { timeout: 20_000 }).toContain('answered 500')
    running.child.kill('SIGKILL')
    await running.exit
    expect(await position()).toBe(before)
    proxy.intercept = () => false
    expect((await once())[0]).toBe(0)
    expect(Number(await position())).toBeGreaterThan(Number(before))
    expect(await differences()).toEqual({})
  })

  test('--verify reads digests, and keys only where they differ', { timeout: 60_000 }, async () => {
    expect((await once())[0]).toBe(0)
    const path = join(to, 'state.json')
    const { files } = JSON.parse(await readFile(path, 'utf8'))
    const file = join(to, files.Property.name)
    proxy.requests.length = 0
    expect((await once('--verify'))[0]).toBe(0)
    const sweeps = () => proxy.requests.filter(url => url.includes('$select=ListingKey,LastEventSequence'))
    expect([proxy.requests.some(url => url.includes('/Digest(')), sweeps()]).toEqual([true, []])
    const text = await readFile(file, 'utf8')
    await writeFile(file, text.replace('"ListingKey":"L007"', '"ListingKey":"L00X"'))
    expect(await once('--verify')).toEqual([
      2,
      expect.stringMatching(/L007: missing.*L00X: not in the source/s),
    ])
    expect(sweeps()).toEqual([expect.stringContaining('$filter='), expect.stringContaining('$filter=')])
  })

  test('RCL-07 a renewed token file is read after 401; without a new token the run ends with 4', {
    timeout: 60_000,
  }, async () => {
    const file = `${to}.token`
    await writeFile(file, 'old\n')
    let refused = 0
    proxy.intercept = (req, res) => {
      if (req.headers.authorization !== 'Bearer old') return false
      refused++
      void writeFile(file, `${token}\n`)
      setTimeout(() => refuse(res, 401), 200)
      return true
    }
    const [code, output] = await replicateOnce({ from: proxy.base, to, more: ['--token-file', file] })
    expect([code, refused]).toEqual([0, 1])
    const stored = await Promise.all((await readdir(to)).map(name => readFile(join(to, name), 'utf8')))
    expect([output, ...stored].filter(text => text.includes(token))).toEqual([])
    proxy.intercept = (_, res) => refuse(res, 401)
    expect(await once()).toEqual([4, expect.stringContaining('the token was refused (401)')])
  })

  test('the token is sent to the origin of --from only', { timeout: 60_000 }, async () => {
    const other = await startProxy(market.base)
    proxy.intercept = (req, res) =>
      req.url?.includes('Property') ? refuse(res, 307, { Location: `${other.base}/odata/Property` }) : false
    expect(await once()).toEqual([3, expect.stringContaining(`a link leads to ${other.base}`)])
    expect(other.requests).toEqual([])
    other.close()
  })

  test('RCL-10 a new field is announced and filled, a changed type refused', {
    timeout: 60_000,
  }, async () => {
    expect((await once())[0]).toBe(0)
    const path = join(to, 'state.json')
    const state = JSON.parse(await readFile(path, 'utf8'))
    delete state.state.model.Property.City
    await writeFile(path, JSON.stringify(state))
    expect(await once()).toEqual([0, expect.stringContaining('new field Property.City')])
    expect(await differences()).toEqual({})
    const changed = (await readFile(path, 'utf8')).replace('"City":"Edm.String"', '"City":"Edm.Int32"')
    await writeFile(path, changed)
    expect(await once()).toEqual([5, expect.stringContaining('Property.City (Edm.Int32, now Edm.String)')])
  })

  test('RCL-09 a target that holds anything else is not touched', { timeout: 60_000 }, async () => {
    await mkdir(to)
    await writeFile(join(to, 'notes.txt'), 'mine')
    expect(await once()).toEqual([5, expect.stringContaining('other files: notes.txt')])
    expect(await readdir(to)).toEqual(['notes.txt'])
    const file = `${to}.duckdb`
    await queryDuckDB(file, 'create table "Property" (x int)')
    expect(await replicateOnce({ from: proxy.base, to: file, token })).toEqual([
      5,
      expect.stringContaining('other tables: Property'),
    ])
    if (!DATABASE_KINDS.includes('server')) return
    const service = market.database.clientConfig.connectionString ?? inject('serverUrl') ?? ''
    expect((await replicateOnce({ from: proxy.base, to: service, token }))[0]).toBe(5)
    await executeOnServer('create database foreign_tables')
    const url = new URL(inject('serverUrl') ?? '')
    url.pathname = '/foreign_tables'
    const client = new Client({ connectionString: url.href })
    await client.connect()
    await client.query('create schema replica; create table replica."Property" (x int)')
    expect(await replicateOnce({ from: proxy.base, to: url.href, token })).toEqual([
      5,
      expect.stringContaining('other tables: Property'),
    ])
    await client.end()
  })

  test('RCL-15 arguments, the address with and without /odata, lines in place of a bar', {
    timeout: 60_000,
  }, async () => {
    for (const from of [market.base, `${market.base}/`, `${market.base}/odata`, `${market.base}/odata/`]) {
      const [code, output] = await replicateOnce({ from, to, token })
      expect([from, code, output.includes('\u001b')]).toEqual([from, 0, false])
    }
    expect(await once('--nonsense')).toEqual([1, expect.stringContaining('usage: npm run replicate')])
    expect(await once('--sets', 'Nothing')).toEqual([3, expect.stringContaining('no entity set Nothing')])
    const away = await replicateOnce({
      from: 'http://127.0.0.1:1',
      to: `${to}2`,
      token,
      more: ['--max-wait', '1'],
    })
    expect(away).toEqual([3, expect.stringMatching(/Source: the source cannot be read/)])
    const secret = 'postgres://user:hidden@127.0.0.1:1/x'
    const [code, output] = await replicateOnce({ from: market.base, to: secret, token })
    expect([code, output.includes('hidden')]).toEqual([5, false])
  })

  test('RCL-20 a file that is broken is named, and the position of a target that goes away is its last unit', {
    timeout: 60_000,
  }, async () => {
    const file = `${to}.duckdb`
    await writeFile(file, 'no database')
    expect(await replicateOnce({ from: market.base, to: file, token })).toEqual([
      5,
      expect.stringContaining(`${file} cannot be opened`),
    ])
    expect((await once())[0]).toBe(0)
    const name = (await readdir(to)).find(entry => entry.startsWith('Property')) ?? ''
    await writeFile(join(to, name), '')
    expect(await once()).toEqual([5, expect.stringContaining('is shorter than state.json says')])
  })
})

describe('npm run replicate and other RESO servers', () => {
  let other: OtherServer
  let to: string
  const token = 'x'
  beforeAll(async () => {
    other = await startOtherServer()
    to = join(await mkdtemp(join(tmpdir(), 'replica-')), 'copy')
  })
  afterAll(() => other.close())

  const copied = async () =>
    new Map([...(await readFolder(to, 'Property'))].map(([key, line]) => [key, JSON.parse(line).City]))
  const expected = () => new Map([...other.records].map(([key, { city }]) => [key, city]))
  const once = (...more: readonly string[]) => replicateOnce({ from: other.base, to, token, more })
  const sorted = (records: ReadonlyMap<string, string>) => [...records].sort(([a], [b]) => (a < b ? -1 : 1))

  test('RCL-14 one timestamp for many records, a cap below $top, deletions by sweep', {
    timeout: 60_000,
  }, async () => {
    for (let n = 0; n < 300; n++) other.records.set(`K${n}`, { time: '2024-01-01T00:00:00.000Z', city: 'A' })
    for (let n = 300; n < 350; n++)
      other.records.set(`K${n}`, { time: '2024-01-02T00:00:00.000Z', city: 'A' })
    expect(await once()).toEqual([0, expect.stringContaining('Deletions are found by sweeps only')])
    expect(sorted(await copied())).toEqual(sorted(expected()))
    other.records.set('K5', { time: '2024-02-01T00:00:00.000Z', city: 'B' })
    other.records.set('New', { time: '2024-02-01T00:00:00.000Z', city: 'C' })
    for (let n = 10; n < 20; n++) other.records.delete(`K${n}`)
    other.requests.length = 0
    expect((await once())[0]).toBe(0)
    expect(sorted(await copied())).toEqual(sorted(expected()))
    expect(other.requests.every(url => !url.includes('EntityEvent'))).toBe(true)
    expect((await once('--verify'))[0]).toBe(3)
  })

  test('RCL-14 a server that ignores $orderby is refused', { timeout: 60_000 }, async () => {
    other.isUnordered = true
    const folder = `${to}-unordered`
    const [code, output] = await replicateOnce({ from: other.base, to: folder, token })
    expect([code, output]).toEqual([3, expect.stringContaining('does not come in the order')])
    other.isUnordered = false
    await wait(0)
  })
})
