import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, rowsOf } from '../support/assertions.js'
import { deltaLinkOf, summaryOf } from '../support/clients/delta-replica.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'
import { spawnService } from '../support/service-process.js'

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
    const database = await place.connect()
    await database.prisma.member.createMany({ data: ['M1', 'M4'].map(MemberKey => ({ MemberKey })) })
    await database.close()
  }, 180_000)
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

  test('DEL-13 every process follows a delta link, whichever made it', { timeout: 60_000 }, async () => {
    const links = await Promise.all(
      Array.from({ length: 6 }, async () =>
        deltaLinkOf(await service.send('/odata/Property?$deltatoken=latest')),
      ),
    )
    const draft = await service.send('/odata/Property', { method: 'POST', body: DRAFT })
    const { ListingKey: key } = bodyOf(draft)
    // Each request opens a connection, and the processes take connections in turn.
    const answers = await Promise.all(
      links.flatMap(link => Array.from({ length: 4 }, () => service.send(link ?? ''))),
    )
    expect(answers.map(answer => rowsOf(answer).map(row => summaryOf(row)))).toEqual(
      Array.from({ length: 24 }, () => [key]),
    )
  })

  test('all serve requests; a process that ends is replaced without affecting the others; a signal ends all', {
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

/** The processes of a group, without ended ones that were not reaped. */
const processesOf = (group: number): readonly string[] =>
  spawnSync('ps', ['-eo', 'pgid=,stat=,args='], { encoding: 'utf8' })
    .stdout.split('\n')
    .filter(line => new RegExp(`^ *${group} +[^Z ]`).test(line))

describe.runIf(DATABASE_KINDS.includes('server'))(
  'Ctrl-C in a terminal, which every process of the group gets',
  () => {
    let place: TestEnvironment
    beforeAll(async () => {
      place = await createTestEnvironment('server')
    })
    afterAll(() => place.remove())

    /** Starts a request that is in progress until its content is sent. */
    async function startRequest(service: StartedService) {
      const filter = '$filter=ListPrice gt 1'
      const req = request(`${service.base}/odata/Property/$query`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${FULL_ACCESS_TOKEN}`,
          'Content-Type': 'text/plain',
          'Content-Length': filter.length,
          Expect: '100-continue',
        },
      })
      const status = new Promise<number | string | undefined>(resolve => {
        req
          .on('response', res => resolve(res.resume().statusCode))
          .on('error', error => resolve(error.message))
      })
      req.flushHeaders()
      await once(req, 'continue')
      return { status, finish: () => req.end(filter) }
    }

    const stopping = (service: StartedService) => service.process.waitForOutput(/"msg":"(stopping)"/)

    test.each([
      ['one process', '1'],
      ['several processes', '3'],
    ])('%s: a running request is answered', { timeout: 60_000 }, async (_name, workers) => {
      const service = await startService(place, { WORKERS: workers }, { detached: true })
      const { pid = 0 } = service.process.child
      const { status, finish } = await startRequest(service)
      // The first process is notified last, as can happen on a busy machine.
      if (workers !== '1') process.kill(pid, 'SIGSTOP')
      process.kill(-pid, 'SIGINT')
      await stopping(service)
      process.kill(pid, 'SIGCONT')
      // npm passes the signal on to the program that it started.
      process.kill(pid, 'SIGINT')
      await pause(300)
      finish()
      expect(await status).toBe(200)
      expect(await service.process.exit).toBe(0)
    })

    test('a second Ctrl-C ends all immediately', { timeout: 60_000 }, async () => {
      const service = await startService(place, { WORKERS: '2' }, { detached: true })
      const { pid = 0 } = service.process.child
      const { status } = await startRequest(service)
      process.kill(-pid, 'SIGINT')
      await stopping(service)
      await pause(1200)
      process.kill(-pid, 'SIGINT')
      expect(await status).toMatch(/hang up|ECONNRESET/)
      await service.process.exit
      await expect.poll(() => processesOf(pid), { timeout: 5000 }).toEqual([])
    })
  },
)
