import { mkdtemp, readdir, readFile, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { startCluster } from '../support/postgres.js'
import { startTestService } from '../support/test-service.js'
import { replicateOnce, startReplicate } from './client-process.js'
import { compareCopy, readFolder } from './copies.js'
import { startProxy } from './proxy.js'

const LISTINGS = 120
const keysBetween = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, n) => `L${String(first + n).padStart(3, '0')}`)

describe('npm run replicate never destroys data without a flag', { timeout: 120_000 }, () => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let token: string
  let to: string
  beforeAll(async () => {
    market = await startTestService(DATABASE_KINDS.includes('server') ? { kind: 'server' } : {})
    token = market.tokenFor({ scopes: ['listings:read'], audience: 'public' })
  }, 120_000)
  afterAll(() => market.close())
  beforeEach(async () => {
    to = join(await mkdtemp(join(tmpdir(), 'replica-')), 'copy')
    await market.given(keysBetween(1, LISTINGS).map(ListingKey => ({ ListingKey })))
    expect((await once())[0]).toBe(0)
  })

  const once = (...more: readonly string[]) => replicateOnce({ from: market.base, to, token, more })
  const differences = () => compareCopy(market, token, to)
  const property = () => market.database.prisma.property

  test('a supervisor that restarts the client does not delete a fifth each time', async () => {
    await property().deleteMany({ where: { ListingKey: { in: keysBetween(1, 24) } } })
    // A page has 500 events: the deletions below are not on the first one.
    const where = { ListingKey: { notIn: keysBetween(25, 34) } }
    for (const City of ['A', 'B', 'C', 'D', 'E', 'F']) await property().updateMany({ where, data: { City } })
    await property().deleteMany({ where: { ListingKey: { in: keysBetween(25, 34) } } })
    const stopped = [6, expect.stringContaining('Stopped before 34 of 120 records of Property')]
    expect(await once()).toEqual(stopped)
    expect((await readFolder(to, 'Property')).size).toBe(96)
    expect(await once()).toEqual(stopped)
    expect((await once('--allow-deletions'))[0]).toBe(0)
    expect(await differences()).toEqual({})
    await property().deleteMany({ where: { ListingKey: { in: keysBetween(35, 50) } } })
    expect((await once())[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  test('--repair implies --verify, and does not delete a fifth either', async () => {
    const path = join(to, 'state.json')
    const state = JSON.parse(await readFile(path, 'utf8'))
    const file = join(to, state.files.Property.name)
    const lines = (await readFile(file, 'utf8')).replace(/"LastEventSequence":\d+/, '"LastEventSequence":1')
    const others = Array.from({ length: 40 }, (_, n) => `{"ListingKey":"X${n}"}\n`)
    const text = `${lines}${others.join('')}`
    await writeFile(file, text)
    state.files.Property.bytes = Buffer.byteLength(text)
    await writeFile(path, JSON.stringify(state))
    expect(await once('--repair')).toEqual([6, expect.stringContaining('Stopped before 40 of 160')])
    expect((await readFolder(to, 'Property')).size).toBe(160)
    expect(await once('--repair', '--allow-deletions')).toEqual([0, expect.stringContaining('Verified')])
    expect(await differences()).toEqual({})
  })

  test('RCL-20 a full disk stops the client, and the copy continues when there is space', async () => {
    const file = join(to, 'Property.1.0.ndjson')
    const { size } = await stat(file)
    await property().updateMany({ data: { City: 'Moved' } })
    const fileBlocks = Math.floor((size * 1.5) / 512)
    const full = startReplicate({ from: market.base, to, token, more: ['--once'] }, { fileBlocks })
    expect([await full.exit, full.output()]).toEqual([5, expect.stringContaining('Target: EFBIG')])
    expect((await stat(file)).size).toBeGreaterThan(size)
    expect((await once())[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  test('RCL-20 a damaged file is named', async () => {
    const file = `${to}.duckdb`
    await writeFile(file, 'no database')
    expect(await replicateOnce({ from: market.base, to: file, token })).toEqual([
      5,
      expect.stringContaining(`${file} cannot be opened`),
    ])
    const name = (await readdir(to)).find(entry => entry.startsWith('Property')) ?? ''
    await writeFile(join(to, name), '')
    expect(await once()).toEqual([5, expect.stringContaining('is shorter than state.json says')])
  })

  test.runIf(DATABASE_KINDS.includes('server'))(
    'RCL-20 a PostgreSQL target that crashes stops the client, and the copy continues after its restart',
    async () => {
      const cluster = await startCluster()
      const proxy = await startProxy(market.base)
      onTestFinished(async () => {
        proxy.close()
        await cluster?.stop()
      })
      const target = cluster?.url('postgres') ?? ''
      const run = () => replicateOnce({ from: proxy.base, to: target, token })
      const runWithCrash = async (part: string) => {
        let crashes = 0
        proxy.intercept = async req => {
          if (req.url?.includes(part) && crashes++ === 0) await cluster?.crash()
          return false
        }
        expect(await run()).toEqual([
          5,
          expect.stringContaining('Target: the connection to PostgreSQL was lost'),
        ])
        expect(await run()).toEqual([5, expect.stringContaining('Target: PostgreSQL cannot be reached')])
        await cluster?.restart()
        proxy.requests.length = 0
        expect(await run()).toEqual([0, expect.stringContaining('Up to date')])
        expect(await compareCopy(market, token, target)).toEqual({})
      }
      await runWithCrash('/odata/Property/$count')
      expect(proxy.requests.filter(url => url.includes('/odata/Media'))).toEqual([])
      await property().updateMany({ data: { City: 'Moved' } })
      await runWithCrash('ListingKey%20in')
    },
  )
})
