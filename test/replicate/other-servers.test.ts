import { mkdtemp, readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { replicateHere, replicateOnce } from './client-process.js'
import { queryDuckDB, readFolder } from './copies.js'
import { type OtherServer, startOtherServer } from './other-server.js'

const POLL = { timeout: 60_000 }
const DAY_1 = '2024-01-01T00:00:00.000Z'
const DAY_2 = '2024-01-02T00:00:00.000Z'
const DAY_9 = '2024-01-09T00:00:00.000Z'

describe('npm run replicate and other RESO servers', { timeout: 120_000 }, () => {
  let other: OtherServer
  let to: string
  const token = 'x'
  beforeEach(async () => {
    other = await startOtherServer()
    to = join(await mkdtemp(join(tmpdir(), 'replica-')), 'copy')
  })
  afterEach(() => other.close())

  const put = (from: number, end: number, time: string | null, city: string) => {
    for (let n = from; n < end; n++) other.records.set(`K${n}`, { time, city })
  }
  const sorted = (records: ReadonlyMap<string, string>) => [...records].sort(([a], [b]) => (a < b ? -1 : 1))
  const copied = async () =>
    sorted(
      new Map([...(await readFolder(to, 'Property'))].map(([key, line]) => [key, JSON.parse(line).City])),
    )
  const expected = () => sorted(new Map([...other.records].map(([key, { city }]) => [key, city])))
  const once = (...more: readonly string[]) => replicateOnce({ from: other.base, to, token, more })

  test('RCL-14 one timestamp for many records, a cap below $top, deletions by sweep', async () => {
    put(0, 300, DAY_1, 'A')
    put(300, 350, DAY_2, 'A')
    expect(await once()).toEqual([0, expect.stringContaining('Deletions are found by sweeps only')])
    expect(await copied()).toEqual(expected())
    put(5, 6, DAY_9, 'B')
    put(900, 901, DAY_9, 'C')
    for (let n = 10; n < 20; n++) other.records.delete(`K${n}`)
    other.requests.length = 0
    expect((await once())[0]).toBe(0)
    expect(await copied()).toEqual(expected())
    expect(other.requests.every(url => !url.includes('EntityEvent'))).toBe(true)
    expect(await once('--verify')).toEqual([3, expect.stringContaining('--verify needs LastEventSequence')])
  })

  test('RCL-14 a page of records without a time does not repeat without a limit, and a sweep finds them', async () => {
    put(0, 250, null, 'A')
    put(250, 300, DAY_1, 'B')
    expect(await once()).toEqual([0, expect.stringContaining('0 records removed, 250 added')])
    expect(await copied()).toEqual(expected())
    expect(await once('--recopy')).toEqual([0, expect.stringContaining('new copy')])
    expect(await copied()).toEqual(expected())
  })

  test('RCL-14 a record that occurs twice on a page is stored once', async () => {
    other.isRepeating = true
    put(0, 30, DAY_1, 'A')
    const file = `${to}.duckdb`
    expect((await replicateOnce({ from: other.base, to: file, token }))[0]).toBe(0)
    expect(
      await queryDuckDB(file, 'select count(*)::int, count(distinct "ListingKey")::int from "Property"'),
    ).toEqual([[30, 30]])
  })

  test('RCL-14 sweeps run at their interval while the client runs, and a sweep that removes a fifth stops it', async () => {
    put(0, 100, DAY_1, 'A')
    const rare = replicateHere({ from: other.base, to, token, more: ['--interval', '0.02'] })
    await expect.poll(rare.output, POLL).toContain('Up to date')
    other.records.delete('K7')
    put(8, 9, DAY_2, 'B')
    await expect.poll(rare.output, POLL).toContain('1 changes')
    rare.stop()
    expect([await rare.exit, (await copied()).length]).toEqual([0, 100])
    const more = ['--interval', '0.02', '--sweep-hours', '0.00001']
    const frequent = replicateHere({ from: other.base, to, token, more })
    await expect.poll(frequent.output, POLL).toContain('1 records removed')
    for (let n = 50; n < 75; n++) other.records.delete(`K${n}`)
    expect(await frequent.exit).toBe(6)
    expect(frequent.output()).toContain('Stopped before 25 of 99 records of Property would be deleted')
    expect(await copied()).toHaveLength(99)
    expect((await once('--allow-deletions'))[0]).toBe(0)
    expect(await copied()).toEqual(expected())
  })

  test('a folder that follows by time is also rewritten when most of its lines are outdated', async () => {
    other.cap = 1000
    put(0, 1010, DAY_1, 'A')
    expect((await once())[0]).toBe(0)
    put(0, 1010, DAY_2, 'B')
    expect((await once())[0]).toBe(0)
    put(0, 1010, DAY_9, 'C')
    expect((await once())[0]).toBe(0)
    expect(await copied()).toEqual(expected())
    expect((await readdir(to)).filter(name => name.endsWith('.ndjson'))).toEqual(['Property.1.1.ndjson'])
  })

  test('RCL-14 a server that ignores $orderby is refused', async () => {
    put(0, 2, DAY_1, 'A')
    put(2, 4, DAY_2, 'A')
    other.isUnordered = true
    expect(await once()).toEqual([3, expect.stringContaining('is not returned in the order')])
  })
})
