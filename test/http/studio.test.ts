import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { chromium } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { BROWSER_PATH } from '../support/clients/browser.js'
import { DATABASE_KINDS } from '../support/database.js'
import { createTestEnvironment, type TestEnvironment } from '../support/process.js'

const READ_ONLY_TRANSACTION = '25006'
const SLOW = { timeout: 120_000 }

async function findPort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { readonly port: number } // it listens on a port
  server.close()
  return port
}

interface RunningStudio {
  readonly url: string
  readonly child: ChildProcess
  /** Runs a statement like the page, and returns the SQLSTATE of its error. */
  run(sql: string, ...parameters: readonly unknown[]): Promise<string | undefined>
}

/** Returns the status of the page, or undefined while the port is closed. */
const statusOf = (url: string): Promise<number | undefined> =>
  fetch(url).then(
    response => response.status,
    () => undefined,
  )

describe.each(DATABASE_KINDS)('npm run studio on the %s database', kind => {
  let place: TestEnvironment
  const running: ChildProcess[] = []
  beforeAll(async () => {
    place = await createTestEnvironment(kind)
  })
  afterEach(() => {
    for (const child of running.splice(0)) child.kill('SIGTERM')
  })
  afterAll(() => place.remove())

  async function startStudio(command: string, args: readonly string[]): Promise<RunningStudio> {
    const port = await findPort()
    const child = spawn(command, [...args, '--port', String(port)], {
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ENV_FILE: 'none', ...place.env },
      stdio: 'ignore',
    })
    running.push(child)
    const url = `http://127.0.0.1:${port}/`
    await expect.poll(() => statusOf(url), { timeout: 90_000, interval: 300 }).toBe(200)
    const run = async (sql: string, ...parameters: readonly unknown[]) => {
      const body = JSON.stringify({ procedure: 'query', query: { sql, parameters } })
      const response = await fetch(`${url}bff`, { method: 'POST', body })
      const [error] = (await response.json()) as [{ code: string } | null] // what Studio sends
      return error?.code
    }
    return { url, child, run }
  }

  const start = (...args: readonly string[]) =>
    startStudio(process.execPath, ['--import', './src/typescript.mjs', 'src/cli/studio.ts', ...args])
  const startByNpm = (...args: readonly string[]) =>
    startStudio('npm', ['run', '-s', 'studio', '--', ...args])

  const CHANGE = `update "Lookup" set "LookupValue" = "LookupValue"`

  test('is read-only, and ends with the command in every case', SLOW, async () => {
    const { url, child, run } = await start()
    expect(await run('select 1')).toBeUndefined()
    expect(await run(CHANGE)).toBe(READ_ONLY_TRANSACTION)
    child.kill('SIGKILL')
    await expect.poll(() => statusOf(url), { timeout: 10_000 }).toBeUndefined()
  })

  test('writes with --write, and ends with npm', SLOW, async () => {
    const { url, child, run } = await startByNpm('--write')
    expect(await run(CHANGE)).toBeUndefined()
    child.kill('SIGTERM')
    await expect.poll(() => statusOf(url), { timeout: 10_000 }).toBeUndefined()
  })

  test(
    'an edit of a listing is an event of the change log, and gives the listing a new version',
    SLOW,
    async () => {
      const { run } = await start('--write')
      expect(await run(`insert into "Property" ("ListingKey") values ('P1')`)).toBeUndefined()
      const database = await place.connect()
      const read = async () => {
        const { ListPrice, Appliances, ...versions } = await database.prisma.property.findUniqueOrThrow({
          where: { ListingKey: 'P1' },
          select: {
            ListPrice: true,
            Appliances: true,
            RecordVersion: true,
            LastEventSequence: true,
            ModificationTimestamp: true,
          },
        })
        return {
          values: { ListPrice: ListPrice?.toFixed(), Appliances },
          versions: Object.values(versions).map(Number),
        }
      }
      const before = await read()
      // The statement of the page for two edited cells.
      const edit = `update "public"."Property" set "ListPrice" = $1, "Appliances" = $2 where "ListingKey" = $3 returning "ListingKey"`
      expect(await run(edit, 1234.5, ['Range', 'Oven "X"'], 'P1')).toBeUndefined()
      const after = await read()
      expect(after.values).toEqual({ ListPrice: '1234.5', Appliances: ['Range', 'Oven "X"'] })
      for (const [i, version] of after.versions.entries())
        expect(version).toBeGreaterThan(before.versions[i] ?? Infinity)
      const events = await database.prisma.entityEvent.findMany({ where: { ResourceRecordKey: 'P1' } })
      expect(events.map(({ EntityEventSequence }) => Number(EntityEventSequence))).toContain(
        after.versions[1],
      )
      await database.close()
    },
  )

  test.skipIf(BROWSER_PATH === undefined || kind !== DATABASE_KINDS[0])(
    'the page works and sends no request to other servers',
    SLOW,
    async () => {
      const { url } = await start()
      const browser = await chromium.launch({ executablePath: BROWSER_PATH ?? '', args: ['--no-sandbox'] })
      const page = await browser.newPage()
      const foreign: string[] = []
      await page.route(
        address => address.origin !== new URL(url).origin && address.protocol.startsWith('http'),
        route => {
          foreign.push(route.request().url())
          return route.abort()
        },
      )
      const refused = page.waitForEvent('console', message => /Content Security Policy/.test(message.text()))
      await page.goto(url)
      await page.getByText('Property', { exact: true }).first().waitFor({ timeout: 30_000 })
      expect((await refused).text()).toContain('checkpoint.prisma.io')
      expect(foreign).toEqual([])
      await browser.close()
    },
  )
})
