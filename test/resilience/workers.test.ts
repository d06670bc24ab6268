import { spawnSync } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  type StartedService,
  spawnService,
  startService,
  type TestEnvironment,
} from '../support/process.js'

test('the embedded database has one process', async () => {
  const service = spawnService({ WORKERS: '2', JWT_SECRET: 'a secret of the tests, long enough for HS256' })
  expect(await service.exit).toBe(1)
  expect(service.output.err).toContain("WORKERS is '2'; expected 1 without DATABASE_URL")
})

describe.runIf(DATABASE_KINDS.includes('server'))('several processes on one port', () => {
  let place: TestEnvironment
  let service: StartedService
  beforeAll(async () => {
    place = await createTestEnvironment('server')
    service = await startService(place, { WORKERS: '3' })
  })
  afterAll(async () => {
    await service.stop('SIGKILL')
    await place.remove()
  })

  const workers = () =>
    spawnSync('ps', ['-o', 'pid=', '--ppid', String(service.process.child.pid)], { encoding: 'utf8' })
      .stdout.trim()
      .split(/\s+/)
      .filter(Boolean)

  const listening = () => service.process.output.out.match(/"listening"/g)?.length

  const readMany = async () =>
    (await Promise.all(Array.from({ length: 12 }, () => service.send('/odata/Property?$top=1')))).map(
      answer => answer.status,
    )

  test('all serve; one that dies is replaced, and the others notice nothing; a signal ends them all', {
    timeout: 60_000,
  }, async () => {
    await expect.poll(listening, { timeout: 20_000 }).toBe(3)
    expect(new Set(await readMany())).toEqual(new Set([200]))
    const [victim] = workers()
    process.kill(Number(victim), 'SIGKILL')
    await service.process.waitForOutput(/"msg":"(worker ended)"/)
    expect(new Set(await readMany())).toEqual(new Set([200]))
    await expect.poll(listening, { timeout: 20_000 }).toBe(4)
    expect(workers()).toHaveLength(3)
    expect(await service.stop('SIGTERM')).toBe(0)
    expect(workers()).toEqual([])
  })
})
