import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ServiceProcess, spawnService } from '../support/process.js'

let dataDir = ''
const running: ChildProcess[] = []
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'listing-start-'))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  await rm(dataDir, { recursive: true, force: true })
})

function startService(env: Readonly<Record<string, string>>): ServiceProcess {
  const service = spawnService({ DATA_DIR: dataDir, ...env })
  running.push(service.child)
  return service
}

describe('the first start', () => {
  test('fills the market, shows a token and requests that work, and ends in good order, with nothing left elsewhere', {
    timeout: 120_000,
  }, async () => {
    const elsewhere = join(dataDir, 'elsewhere')
    await mkdir(elsewhere)
    const { child, output, exit, waitForOutput } = startService({
      DATA_DIR: join(dataDir, 'data'),
      HOME: elsewhere,
      TMPDIR: elsewhere,
    })
    const token = await waitForOutput(/TOKEN=(\S+)/)
    const urls = await waitForOutput(/TOKEN"? '([^']*\$filter[^']*)'/)
    const headers = { Authorization: `Bearer ${token}` }
    const page = await fetch(urls, { headers })
    expect(page.status).toBe(200)
    expect(((await page.json()) as { value: unknown[] }).value).toHaveLength(5)
    const [, url = '', draft = ''] = /'(\S+\/odata\/Property)' -d '(\{.*\})'/.exec(output.out) ?? []
    const created = await fetch(url, {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json' },
      body: draft,
    })
    expect(created.status).toBe(201)
    // A request that is running when the signal comes is answered still.
    const last = fetch(`${url}?$top=500`, { headers })
    await new Promise(resolve => setTimeout(resolve, 20))
    child.kill('SIGTERM')
    expect((await last).status).toBe(200)
    expect(await exit).toBe(0)
    expect(output.err).toBe('')
    expect(await readdir(elsewhere)).toEqual([])
  })
})

describe('a start that cannot be', () => {
  test('names all faults of the settings at once', { timeout: 60_000 }, async () => {
    const { output, exit } = startService({ PORT: 'many', PAGE_SIZE: '0', CORS_ORIGINS: 'nonsense' })
    expect(await exit).toBe(1)
    for (const name of ['PORT', 'PAGE_SIZE', 'CORS_ORIGINS']) expect(output.err).toContain(name)
    expect(output.err).not.toMatch(/\bat .*\.ts/)
  })

  test('says in one line that the port is taken, or the database away', { timeout: 60_000 }, async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number } // it listens on a port
    const taken = startService({ PORT: String(port) })
    expect(await taken.exit).toBe(1)
    expect(taken.output.err).toBe('The service cannot start. HOST and PORT are in use by another program.\n')
    const away = startService({
      DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/nothing',
      JWT_SECRET: 'x'.repeat(40),
    })
    expect(await away.exit).toBe(1)
    expect(away.output.err.trim().split('\n')).toHaveLength(1)
    server.close()
  })
})
