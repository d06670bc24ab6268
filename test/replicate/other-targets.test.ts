import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { executeOnServer } from '../support/process.js'
import { startTestService } from '../support/test-service.js'
import { replicateHere, replicateOnce } from './client-process.js'
import { compareCopy, queryDuckDB, readFolder } from './copies.js'
import { startProxy, type TestProxy } from './proxy.js'

const POLL = { timeout: 60_000 }
const HAS_SERVER = DATABASE_KINDS.includes('server')
const TARGETS = ['folder', 'DuckDB', ...(HAS_SERVER ? ['PostgreSQL'] : [])]

async function createTarget(kind: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'replica-'))
  if (kind === 'folder') return join(folder, 'copy')
  if (kind === 'DuckDB') return join(folder, 'copy.duckdb')
  const name = `replica_${randomUUID().replaceAll('-', '')}`
  await executeOnServer(`create database ${name}`)
  const url = new URL(inject('serverUrl') ?? '')
  url.pathname = `/${name}`
  return url.href
}

/** Runs statements in a target, in a database the schema `replica`. Returns the rows of the last one. */
async function query(to: string, ...statements: readonly string[]): Promise<readonly unknown[][]> {
  if (!to.startsWith('postgres')) return queryDuckDB(to, ...statements)
  const client = new Client({ connectionString: to })
  await client.connect()
  await client.query('set search_path = replica')
  let rows: unknown[][] = []
  for (const text of statements) rows = (await client.query({ text, rowMode: 'array' })).rows
  await client.end()
  return rows
}

async function readFiles(folder: string): Promise<Readonly<Record<string, string>>> {
  const names = await readdir(folder)
  return Object.fromEntries(
    await Promise.all(names.map(async name => [name, await readFile(join(folder, name), 'utf8')])),
  )
}

describe('npm run replicate and targets that are not its own', { timeout: 120_000 }, () => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let proxy: TestProxy
  let token: string
  beforeAll(async () => {
    market = await startTestService(HAS_SERVER ? { kind: 'server' } : {})
    token = market.tokenFor({ scopes: ['listings:read'], audience: 'public' })
    proxy = await startProxy(market.base)
  }, 120_000)
  beforeEach(() => market.given(Array.from({ length: 30 }, (_, n) => ({ ListPrice: n, YearBuilt: 1990 }))))
  afterEach(() => {
    proxy.intercept = () => false
  })
  afterAll(async () => {
    proxy.close()
    await market.close()
  })

  const once = (to: string, ...more: readonly string[]) =>
    replicateOnce({ from: proxy.base, to, token, more })
  const refused = (code: number, message: string) => [code, expect.stringContaining(message)]

  /** Changes $metadata as a new version of the service does. */
  const changeMetadata = (pattern: RegExp, replacement: string) => {
    proxy.intercept = async (req, res) => {
      if (!req.url?.endsWith('$metadata')) return false
      const headers = { Authorization: `Bearer ${token}`, Accept: 'application/xml' }
      const { text } = await market.send('/odata/$metadata', { headers })
      const changed = text.replace(pattern, replacement)
      expect(changed).not.toBe(text)
      res.writeHead(200).end(changed)
      return true
    }
  }
  const FIELD = /<Property Name="YearBuilt"[^>]*?(\/>|>[\s\S]*?<\/Property>)/

  test.each([
    ['notes.txt', 'mine'],
    ['state.json', '{"bookmarks":{}}'],
    ['state.json', '{"state":{"value":1},"files":{}}'],
    ['state.json', '[]'],
    ['state.json', 'no JSON'],
  ])('RCL-09 a folder of another program is not changed: %s with %s', async (name, text) => {
    const to = await createTarget('folder')
    await mkdir(to)
    const files = { [name]: text, 'Property.1.0.ndjson': '{"mine":1}\n', 'orders.ndjson': '{"mine":2}\n' }
    for (const [file, content] of Object.entries(files)) await writeFile(join(to, file), content)
    expect((await once(to))[0]).toBe(5)
    expect(await readFiles(to)).toEqual(files)
  })

  test('RCL-09 files of another program in the folder of a copy remain', async () => {
    const to = await createTarget('folder')
    expect((await once(to))[0]).toBe(0)
    await writeFile(join(to, 'orders.ndjson'), 'mine')
    expect((await once(to, '--recopy'))[0]).toBe(0)
    expect((await once(to))[0]).toBe(0)
    expect(await readFile(join(to, 'orders.ndjson'), 'utf8')).toBe('mine')
    expect((await readdir(to)).filter(name => name.startsWith('Property'))).toHaveLength(1)
  })

  test.each(TARGETS.slice(1))('RCL-09 tables of another program are not changed in %s', async kind => {
    const to = await createTarget(kind)
    const prefix = kind === 'DuckDB' ? '' : 'replica.'
    if (kind === 'PostgreSQL') await query(to, 'create schema replica')
    await query(to, `create table ${prefix}"Property" (x int)`, `insert into ${prefix}"Property" values (7)`)
    const mine = () => query(to, `select * from ${prefix}"Property"`)
    expect(await once(to)).toEqual(refused(5, 'other tables: Property'))
    expect(await mine()).toEqual([[7]])
    // Another program adds its table to the tables of a copy.
    await query(to, `drop table ${prefix}"Property"`)
    expect((await once(to, '--sets', 'Member'))[0]).toBe(0)
    await query(to, `create table ${prefix}"Property" (x int)`, `insert into ${prefix}"Property" values (7)`)
    const added = await once(to, '--sets', 'Member,Property', '--accept-change')
    expect(added).toEqual(refused(5, '"Property" is a table of another program'))
    expect(await mine()).toEqual([[7]])
    await query(to, `delete from ${prefix}_replication`)
    expect(await once(to, '--sets', 'Member')).toEqual(refused(5, 'has no state'))
  })

  test.runIf(HAS_SERVER)(
    'RCL-09 the database of a service, and a database that cannot be written',
    async () => {
      const service = market.database.clientConfig.connectionString ?? inject('serverUrl') ?? ''
      expect(await once(service)).toEqual(refused(5, 'the database of a service'))
      const schemas = `select nspname from pg_namespace where nspname = 'replica'`
      expect(await query(service, schemas)).toEqual([])
      const to = await createTarget('PostgreSQL')
      await executeOnServer(
        `alter database ${new URL(to).pathname.slice(1)} set default_transaction_read_only = on`,
      )
      expect(await once(to)).toEqual(refused(5, 'read-only transaction'))
      expect(await query(to, schemas)).toEqual([])
    },
  )

  test('RCL-09 paths and addresses that are no targets', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'replica-'))
    for (const to of [
      'mysql://user:hidden@127.0.0.1/x',
      'postgress://user:hidden@127.0.0.1/x',
      'file:///x',
    ]) {
      const [code, output] = await once(to)
      expect([to, code, output.includes('hidden')]).toEqual([to, 1, false])
      expect(existsSync(to.replace(/:.*/, ':'))).toBe(false)
    }
    const file = join(folder, 'file')
    await writeFile(file, 'mine')
    expect(await once(file)).toEqual(refused(5, 'cannot be created'))
    expect(await readFile(file, 'utf8')).toBe('mine')
    // "lock" in the name of a folder is not a lock.
    expect(await once(join(folder, 'block', 'copy.duckdb'))).toEqual(refused(5, 'cannot be opened'))
    expect((await once(join(folder, 'new', 'folder', 'copy')))[0]).toBe(0)
  })

  test.each(TARGETS)(
    'RCL-09 a copy in %s of another source, of other rights, of another layout',
    async kind => {
      const to = await createTarget(kind)
      expect((await once(to))[0]).toBe(0)
      const before = await compareCopy(market, token, to)
      expect(await replicateOnce({ from: market.base, to, token })).toEqual(refused(6, 'another source'))
      const member = market.tokenFor({ scopes: ['listings:read'], audience: 'member' })
      expect(await replicateOnce({ from: proxy.base, to, token: member })).toEqual(
        refused(6, 'other rights of the token'),
      )
      if (kind === 'folder') {
        const path = join(to, 'state.json')
        await writeFile(path, (await readFile(path, 'utf8')).replace('"layout":1', '"layout":0'))
      } else {
        const older = `regexp_replace(state::text, '"layout": ?1', '"layout":0')`
        await query(to, `update _replication set state = ${older}::json`)
      }
      expect(await once(to, '--accept-change', '--recopy')).toEqual(refused(5, 'the copy has the layout 0'))
      expect([before, await compareCopy(market, token, to)]).toEqual([{}, {}])
    },
  )

  test('RCL-09 a copy of another log is made again', async () => {
    const to = await createTarget('folder')
    expect((await once(to))[0]).toBe(0)
    await market.database.withClient(client => client.query('truncate "EntityEvent"'))
    await market.patch('L002', { City: 'Waco' })
    expect(await once(to)).toEqual([0, expect.stringContaining('no longer has the events after')])
    expect(await compareCopy(market, token, to)).toEqual({})
  })

  describe.each(TARGETS)('RCL-10 the model changes: %s', kind => {
    const readYears = async (to: string) => {
      if (kind !== 'folder') return query(to, 'select distinct "YearBuilt" from "Property"')
      const lines = [...(await readFolder(to, 'Property')).values()]
      return [[...new Set(lines.map(line => JSON.parse(line).YearBuilt ?? null))]]
    }

    test('RCL-10 a new field is filled for all records, and a lost one keeps its values', async () => {
      const to = await createTarget(kind)
      changeMetadata(FIELD, '')
      expect((await once(to))[0]).toBe(0)
      // The service fills the field without events.
      proxy.intercept = () => false
      expect(await once(to)).toEqual([
        0,
        expect.stringContaining('The model of the source has changed (new field Property.YearBuilt)'),
      ])
      expect([await compareCopy(market, token, to), await readYears(to)]).toEqual([{}, [[1990]]])
      changeMetadata(FIELD, '')
      expect(await once(to)).toEqual([0, expect.stringContaining('removed field Property.YearBuilt')])
      await market.patch('L003', { City: 'Waco' })
      expect(await once(to)).toEqual([0, expect.not.stringContaining('new copy')])
      expect(await readYears(to)).toEqual([[1990]])
    })

    test('RCL-10 a client that runs notices it', async () => {
      const to = await createTarget(kind)
      changeMetadata(FIELD, '')
      const running = replicateHere({ from: proxy.base, to, token, more: ['--interval', '0.02'] })
      await expect.poll(running.output, POLL).toContain('Up to date')
      proxy.intercept = () => false
      await expect.poll(running.output, POLL).toContain('new field Property.YearBuilt')
      proxy.requests.length = 0
      // It follows the log again.
      await expect.poll(() => proxy.requests.some(url => url.includes('$metadata')), POLL).toBe(true)
      running.stop()
      expect(await running.exit).toBe(0)
      expect(await compareCopy(market, token, to)).toEqual({})
    })
  })

  test.each([
    ['Property.YearBuilt (Edm.Int32, now Edm.Int64)', /(Name="YearBuilt" Type=")Edm.Int32/, '$1Edm.Int64'],
    ['Property.City (Edm.String, now Collection(Edm.String))', /(Name="City" Type=")Edm.String/, '$1Collection(Edm.String)'],
  ])('RCL-10 another type is refused: %s', async (message, pattern, replacement) => {
    const to = await createTarget('folder')
    expect((await once(to))[0]).toBe(0)
    changeMetadata(pattern, replacement)
    expect(await once(to)).toEqual(refused(5, message))
    expect(await compareCopy(market, token, to)).toEqual({})
  }) // biome-ignore format: one case a line

  test.runIf(HAS_SERVER)('RCL-10 null in a column that the target has NOT NULL', async () => {
    const to = await createTarget('PostgreSQL')
    expect((await once(to))[0]).toBe(0)
    await query(to, 'alter table "Property" alter "YearBuilt" set not null')
    await market.patch('L002', { YearBuilt: null })
    expect(await once(to)).toEqual(refused(5, 'null value in column "YearBuilt"'))
    await query(to, 'alter table "Property" alter "YearBuilt" drop not null')
    expect((await once(to))[0]).toBe(0)
    expect(await compareCopy(market, token, to)).toEqual({})
  })
})
