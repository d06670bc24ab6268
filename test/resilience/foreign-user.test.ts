import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../support/database.js'
import {
  createTestEnvironment,
  type StartedService,
  startService,
  type TestEnvironment,
} from '../support/process.js'

// The service and its commands as a container runs them: a user without a name and a home, whose only writable folder is
// DATA_DIR. Only root can start processes of another user.

const UID = 12_345
const HOMELESS = { HOME: '/nonexistent', TMPDIR: '/nonexistent' }
const isRoot = process.getuid?.() === 0

describe.runIf(isRoot && DATABASE_KINDS.includes('embedded'))('PKG-06 a user without a name', () => {
  let place: TestEnvironment
  let service: StartedService | undefined
  beforeAll(async () => {
    place = await createTestEnvironment('embedded')
    await promisify(execFile)('chown', ['-R', String(UID), place.env['DATA_DIR'] ?? ''])
    service = await startService(place, HOMELESS, { uid: UID })
  }, 240_000)
  afterAll(async () => {
    await service?.stop('SIGTERM')
    await place?.remove()
  })

  const run = async (name: string, ...args: readonly string[]) => {
    const env = { PATH: process.env['PATH'], ...place.env, ...HOMELESS }
    const program = ['--import', './src/typescript.mjs', `src/cli/${name}.ts`, ...args]
    return (await promisify(execFile)(process.execPath, program, { env, uid: UID })).stdout
  }

  test('the service answers, and commands work', async () => {
    expect((await service?.send('/odata/Property?$top=1'))?.status).toBe(200)
    expect(await run('token')).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    expect(await run('import', 'test/cases/fixture.json')).toBeDefined()
    expect(await run('clients', 'add', 'Acme')).toMatch(/^client secret: /m)
    expect(JSON.parse(await run('clients', 'show', 'Acme'))).toMatchObject({
      Audit: [{ Action: 'client.add', Actor: `command uid ${UID}` }],
    })
  }, 240_000)
})
