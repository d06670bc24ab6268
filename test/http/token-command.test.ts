import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'

interface CommandOutput {
  readonly out: string
  readonly err: string
}

const TOKEN = /^[\w-]+\.[\w-]+\.[\w-]+\n$/

const runToken = (
  env: Readonly<Record<string, string>>,
  ...args: readonly string[]
): Promise<CommandOutput> =>
  new Promise(resolve => {
    const program = ['--import', './src/typescript.mjs', 'src/cli/token.ts', ...args]
    execFile(process.execPath, program, { env: { PATH: process.env['PATH'], ...env } }, (_error, out, err) =>
      resolve({ out, err }),
    )
  })

describe.each(DATABASE_KINDS)(
  'npm run token during a running service on the %s database',
  kind => {
    let environment: TestEnvironment
    let service: StartedService
    beforeAll(async () => {
      environment = await createTestEnvironment(kind)
      service = await startService(environment)
      const database = await environment.connect()
      await database.prisma.member.create({ data: { MemberKey: 'M1' } })
      await database.prisma.office.create({ data: { OfficeKey: 'O1' } })
      await database.close()
    })
    afterAll(async () => {
      await service.stop('SIGTERM')
      await environment.remove()
    })

    test('keys without a member or office cause a warning on standard error; the token is printed', async () => {
      const { out, err } = await runToken(environment.env, '--member', 'NOPE', '--office', 'NONE')
      expect(out).toMatch(TOKEN)
      expect(err).toBe(
        "warning: No member has the key 'NOPE'. The token works, but no listing belongs to that member.\n" +
          "warning: No office has the key 'NONE'. The token works, but no listing belongs to that office.\n",
      )
    })

    test('sub of a token is the user who runs the command, or --subject', async () => {
      for (const [args, sub] of [
        [[], userInfo().username],
        [['--subject', 'Ann'], 'Ann'],
      ] as const) {
        const { out } = await runToken(environment.env, ...args)
        expect(decodeJwt(out.trim()).sub).toBe(sub)
        const headers = { Authorization: `Bearer ${out.trim()}` }
        expect((await service.send('/odata/Property?$top=1', { headers })).status).toBe(200)
        await service.process.waitForOutput(new RegExp(`"subject":"${sub}"`))
      }
    })

    test('existing keys and a token without keys cause no warning', async () => {
      // A member may be the office of a listing, so its key is an office too.
      for (const args of [['--member', 'M1', '--office', 'O1'], ['--office', 'M1'], []])
        expect(await runToken(environment.env, ...args)).toEqual({
          out: expect.stringMatching(TOKEN),
          err: '',
        })
    })
  },
  60_000,
)

test('token does not start or create a database to look for a key', { timeout: 60_000 }, async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-token-'))
  const { out, err } = await runToken({ DATA_DIR: dataDir }, '--member', 'NOPE')
  expect({ out, err }).toEqual({ out: expect.stringMatching(TOKEN), err: '' })
  expect(existsSync(join(dataDir, 'postgres'))).toBe(false)
  await rm(dataDir, { recursive: true })
})
