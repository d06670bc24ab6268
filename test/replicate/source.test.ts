import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import { startTestService } from '../support/test-service.js'
import { replicateHere, replicateOnce, startReplicate } from './client-process.js'
import { compareCopy } from './copies.js'
import { startProxy, type TestProxy } from './proxy.js'

const POLL = { timeout: 60_000 }
const LISTINGS = 30

const refuse = (
  res: ServerResponse,
  status: number,
  headers: Readonly<Record<string, string>> = {},
): true => {
  res.writeHead(status, headers).end('{}')
  return true
}

describe('npm run replicate and its source', { timeout: 120_000 }, () => {
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

  test('RCL-06 the client waits after 429 and 503, and repeats dropped connections and interrupted exports', async () => {
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

  test('RCL-06 each request is refused once: the client repeats it, and no page is skipped', async () => {
    const refusals = [
      (res: ServerResponse) => refuse(res, 500),
      (res: ServerResponse) => refuse(res, 429, { 'Retry-After': '0' }),
      (res: ServerResponse) => {
        res.destroy()
        return true as const
      },
    ]
    const seen = new Set<string>()
    proxy.intercept = (req, res) => {
      const url = req.url ?? ''
      if (seen.has(url)) return false
      seen.add(url)
      return refusals[seen.size % refusals.length]?.(res) ?? false
    }
    expect((await once())[0]).toBe(0)
    await market.patch('L003', { City: 'Changed' })
    await market.patch('L004', { InternetEntireListingDisplayYN: false })
    expect((await once('--verify'))[0]).toBe(0)
    expect(seen.size).toBeGreaterThan(10)
    proxy.intercept = () => false
    expect(await differences()).toEqual({})
    await market.patch('L004', { InternetEntireListingDisplayYN: true })
  })

  test('RCL-06 a long Retry-After ends --once with code 3, and a signal ends a wait immediately', async () => {
    proxy.intercept = (_, res) => refuse(res, 503, { 'Retry-After': '3600' })
    expect(await once()).toEqual([3, expect.stringContaining('Source: the source answered 503')])
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const waiting = startReplicate({ from: proxy.base, to, token })
      await expect.poll(waiting.output, POLL).toContain('next try at')
      waiting.child.kill(signal)
      expect([await waiting.exit, waiting.output()]).toEqual([0, expect.stringContaining('Stopped')])
    }
  })

  test.each(['9999999999', '99999999999999999999', 'Fri, 01 Jan 2100 00:00:00 GMT'])(
    'RCL-06 a Retry-After beyond the timers of Node.js does not cause an immediate request: %s',
    async after => {
      proxy.intercept = (_, res) => refuse(res, 503, { 'Retry-After': after })
      const waiting = replicateHere({ from: proxy.base, to, token })
      await expect.poll(waiting.output, POLL).toContain('next try at')
      await wait(100)
      expect(proxy.requests).toHaveLength(1)
      waiting.stop()
      expect(await waiting.exit).toBe(0)
    },
  )

  test('RCL-02 a page of events that cannot be read does not move the position', async () => {
    expect((await once())[0]).toBe(0)
    const position = async () => JSON.parse(await readFile(join(to, 'state.json'), 'utf8')).state.position
    const before = await position()
    await market.patch('L001', { City: 'Changed' })
    proxy.intercept = (req, res) => (req.url?.includes('ListingKey%20in') ? refuse(res, 500) : false)
    const running = replicateHere({ from: proxy.base, to, token })
    await expect
      .poll(() => proxy.requests.filter(url => url.includes('%20in')).length, POLL)
      .toBeGreaterThan(1)
    running.stop()
    await running.exit
    expect(await position()).toBe(before)
    proxy.intercept = () => false
    expect((await once())[0]).toBe(0)
    expect(Number(await position())).toBeGreaterThan(Number(before))
    expect(await differences()).toEqual({})
  })

  test('--verify reads digests, and keys only where they differ', async () => {
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

  test('RCL-07 a renewed token file is read after 401; without a new token the run ends with 4', async () => {
    const file = `${to}.token`
    const old = `${token}x`
    await writeFile(file, `${old}\n`)
    let refused = 0
    proxy.intercept = (req, res) => {
      if (req.headers.authorization !== `Bearer ${old}`) return false
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
    const missing = await replicateOnce({ from: proxy.base, to, more: ['--token-file', `${to}.none`] })
    expect(missing).toEqual([4, expect.stringContaining('the token cannot be read: ENOENT')])
  })

  test('RCL-07 a renewed token with other rights does not continue the copy', async () => {
    const file = `${to}.token`
    await writeFile(file, token)
    const isFirst = new Set(['/odata/Property/$count'])
    proxy.intercept = async (req, res) => {
      if (!isFirst.delete(req.url ?? '')) return false
      await writeFile(file, market.tokenFor({ scopes: ['listings:read'], audience: 'member' }))
      return refuse(res, 401)
    }
    const run = await replicateOnce({ from: proxy.base, to, more: ['--token-file', file] })
    expect([run, isFirst.size]).toEqual([[6, expect.stringContaining('has other rights')], 0])
  })

  test('the token is sent to the origin of --from only', async () => {
    const other = await startProxy(market.base)
    proxy.intercept = (req, res) =>
      req.url?.includes('Property') ? refuse(res, 307, { Location: `${other.base}/odata/Property` }) : false
    expect(await once()).toEqual([3, expect.stringContaining(`a link refers to ${other.base}`)])
    expect(other.requests).toEqual([])
    other.close()
  })

  test('RCL-15 arguments, the address with and without /odata, lines in place of a bar', async () => {
    for (const from of [market.base, `${market.base}/`, `${market.base}/odata`, `${market.base}/odata/`])
      expect([from, ...(await replicateOnce({ from, to, token }))]).toEqual([from, 0, expect.any(String)])
    const usage = expect.stringContaining('usage: npm run replicate')
    const [process, unknown] = ['--once', '--nonsense'].map(more =>
      startReplicate({ from: market.base, to, token, more: [more] }),
    )
    expect([await process?.exit, process?.output().includes('\u001b')]).toEqual([0, false])
    expect([await unknown?.exit, unknown?.output()]).toEqual([1, usage])
    const filter = ['--filter', "Property=City eq 'Austin'"]
    const twice = startReplicate({ from: market.base, to, token, more: [...filter, ...filter] })
    expect([await twice.exit, twice.output()]).toEqual([1, usage])
    expect(await once('--filter', "Propertey=City eq 'Austin'")).toEqual([
      3,
      expect.stringContaining('--filter names Propertey'),
    ])
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

  test('--once ends and --verify finds no difference while a writer never stops', async () => {
    expect((await once())[0]).toBe(0)
    let n = 0
    proxy.intercept = async req => {
      if (!req.url?.includes('$metadata')) await market.patch(`L00${(n % 3) + 1}`, { ListPrice: ++n })
      return false
    }
    expect(await once('--verify')).toEqual([0, expect.stringContaining('Verified')])
    proxy.intercept = () => false
    expect((await once())[0]).toBe(0)
    expect(await differences()).toEqual({})
  })

  test('RCL-06 an export that is interrupted repeatedly continues after its last record', async () => {
    let broken = 0
    let lines = 20
    proxy.intercept = async (req, res) => {
      if (!req.url?.startsWith('/odata/Property') || req.url.includes('count')) return false
      const headers = { Authorization: req.headers.authorization ?? '', Accept: 'application/x-ndjson' }
      const { text } = await market.send(req.url, { headers })
      if (text.split('\n').length <= lines) return false
      broken++
      res.write(text.split('\n').slice(0, lines).join('\n'))
      setTimeout(() => res.destroy(), 20)
      return true
    }
    expect(await once()).toEqual([0, expect.stringContaining('continuing after the last record')])
    expect([broken, await differences()]).toEqual([1, {}])
    lines = 1
    const more = ['--recopy', '--max-wait', '0.1']
    expect(await once(...more)).toEqual([
      3,
      expect.stringContaining('the export of Property is interrupted each time'),
    ])
  })
})
