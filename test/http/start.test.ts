import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ServiceProcess, spawnService } from '../support/service-process.js'
import { runShell } from '../support/shell.js'

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

/**
 * Returns the processor time of a process in seconds. Unlike the time of day, it does not grow while other
 * programs run. Linux has it in units of 10 ms.
 */
async function readProcessorSeconds(pid: number | undefined): Promise<number> {
  const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')
  const [user, system] = fields.split(' ').slice(11, 13).map(Number)
  return ((user ?? Number.NaN) + (system ?? Number.NaN)) / 100
}

describe('the first start', () => {
  test('prints the first step within 2 s, then each further one', { timeout: 240_000 }, async () => {
    const folder = await mkdtemp(join(dataDir, 'new-'))
    const { child, output, exit, waitForOutput } = startService({ DATA_DIR: folder })
    await waitForOutput(/^(First start: creating a database in .+, with a sample market\.)/)
    if (process.platform === 'linux') expect(await readProcessorSeconds(child.pid)).toBeLessThan(2)
    await waitForOutput(/(listening)/)
    const steps = [
      /^Starting the embedded database$/m,
      /^Migrating the database: 1 of \d+$/m,
      /^Adding sample listings: 200 of 500$/m,
      /^Adding sample listings: 500 of 500$/m,
      /^Listing Service is running\.$/m,
    ].map(step => output.out.search(step))
    expect(steps).toEqual([...steps].sort((a, b) => a - b))
    expect(steps).not.toContain(-1)
    child.kill('SIGTERM')
    expect(await exit).toBe(0)
    // The second start reports that the database exists.
    const second = startService({ DATA_DIR: folder })
    await second.waitForOutput(/^(Starting, with the database in )/)
    await second.waitForOutput(/(listening)/)
    expect(second.output.out).not.toMatch(/Migrating|Adding/)
    second.child.kill('SIGTERM')
    await second.exit
  })

  test('creates the sample market, prints a token and working requests, and stops without leaving files elsewhere', {
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
    const base = await waitForOutput(/BASE=(\S+)/)
    const [commands = ''] = /^export BASE=[\s\S]*?(?=\n\n)/m.exec(output.out) ?? []
    const answers = (await runShell(commands)).map(answer => JSON.parse(answer))
    expect(answers).toEqual([
      expect.objectContaining({ '@odata.count': 230, value: expect.objectContaining({ length: 5 }) }),
      {
        '@odata.context': expect.any(String),
        '@odata.nextLink': expect.any(String),
        value: [expect.anything()],
      },
      expect.objectContaining({ ListingKey: expect.stringMatching(/^Draft/), City: 'Boise' }),
      { data: { properties: { totalCount: 230, nodes: expect.objectContaining({ length: 3 }) } } },
    ])
    // A request that is running at the signal is still answered.
    const last = fetch(`${base}/odata/Property?$top=500`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    await new Promise(resolve => setTimeout(resolve, 20))
    child.kill('SIGTERM')
    expect((await last).status).toBe(200)
    expect(await exit).toBe(0)
    expect(output.err).toBe('')
    expect(await readdir(elsewhere)).toEqual([])
  })
})

describe('a failed start', () => {
  test('reports all invalid settings together', { timeout: 60_000 }, async () => {
    const { output, exit } = startService({ PORT: 'many', PAGE_SIZE: '0', CORS_ORIGINS: 'nonsense' })
    expect(await exit).toBe(1)
    for (const name of ['PORT', 'PAGE_SIZE', 'CORS_ORIGINS']) expect(output.err).toContain(name)
    expect(output.err).not.toMatch(/\bat .*\.ts/)
  })

  test('reports in one line that the port is in use or the database is unreachable', {
    timeout: 60_000,
  }, async () => {
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
