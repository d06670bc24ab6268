import { execFile, spawn } from 'node:child_process'
import { createSecretKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import jwt from 'jsonwebtoken'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS } from '../../support/database.js'
import { createTestEnvironment } from '../../support/process.js'
import { removeSettings } from '../../support/setup.js'

// PKG-09: the start and every command read the same settings file by the same rule. PKG-08: the tests read none.

const SECRET = 'a secret of a file, long enough for HS256 tokens'
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'listing-env-file-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs Node with only these variables. */
const run = (args: readonly string[], env: Readonly<Record<string, string>>, cwd?: string) =>
  new Promise<{ readonly code: unknown; readonly out: string; readonly err: string }>(done => {
    execFile(
      process.execPath,
      [...args],
      { env: { PATH: process.env['PATH'], ...env }, cwd },
      (error, out, err) => done({ code: error?.code ?? 0, out, err }),
    )
  })

describe('PKG-09 the settings file', () => {
  const PRINT =
    'console.log(JSON.stringify([process.env.PORT, process.env.PUBLIC_URL, process.env.JWT_SECRET]))'

  test('is .env beside package.json, in every working folder, and the environment takes precedence', async () => {
    const module = join(folder, 'src', 'env-file.mjs')
    await mkdir(join(folder, 'src'))
    await copyFile('src/env-file.mjs', module)
    const print = (env = {}) => run(['--import', module, '-e', PRINT], env, tmpdir())
    expect(await print()).toEqual({ code: 0, out: '[null,null,null]\n', err: '' })
    await writeFile(
      join(folder, '.env'),
      `# settings\nPORT=4100\nPUBLIC_URL="https://x.example/a b"\nJWT_SECRET=${SECRET}\n`,
    )
    expect((await print({ PORT: '5000', JWT_SECRET: '' })).out).toBe('["5000","https://x.example/a b",""]\n')
    expect((await print({ ENV_FILE: 'none' })).out).toBe('[null,null,null]\n')
    await rm(join(folder, '.env'))
    await mkdir(join(folder, '.env'))
    expect(await print()).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringMatching(/^The settings file cannot be read: EISDIR.*\n$/),
    })
  })

  test('that ENV_FILE names must exist', async () => {
    const args = ['--import', resolve('src/env-file.mjs'), '-e', PRINT]
    const { code, err } = await run(args, { ENV_FILE: join(folder, 'nothing') })
    expect([code, err]).toEqual([
      1,
      expect.stringMatching(/^The settings file cannot be read: ENOENT.*nothing'\n$/),
    ])
  })

  test('is read by every program that needs settings', () => {
    const { scripts } = JSON.parse(readFileSync('package.json', 'utf8')) as {
      readonly scripts: Readonly<Record<string, string>>
    }
    const programs = Object.entries(scripts).filter(([, line]) => /src\/(main|cli\/.*)\.ts$/.test(line))
    const without = programs
      .filter(([, line]) => !line.includes('--import ./src/env-file.mjs '))
      .map(([name]) => name)
    // It reads neither settings nor a database.
    expect([programs.length > 10, without]).toEqual([true, ['schema']])
    const documented = readFileSync('docs/operations.md', 'utf8').match(/^ {4}node .*src\/main\.ts$/m)?.[0]
    expect(documented?.trim()).toBe(scripts['start'])
  })

  test('is named by the start, without values, and its secret signs the tokens of the command', {
    timeout: 240_000,
  }, async () => {
    const place = await createTestEnvironment(DATABASE_KINDS.includes('server') ? 'server' : 'embedded')
    const file = join(folder, 'settings')
    const settings = {
      ...place.env,
      JWT_SECRET: SECRET,
      PORT: '0',
      NODE_ENV: 'production',
      PUBLIC_URL: 'https://x.example',
    }
    await writeFile(
      file,
      Object.entries(settings)
        .map(([name, value]) => `${name}=${value}\n`)
        .join(''),
    )
    const env = { PATH: process.env['PATH'], ENV_FILE: file }
    const service = spawn('npm', ['start'], { env, detached: true })
    let out = ''
    service.stdout.on('data', (text: Buffer) => {
      out += text
    })
    const token = execFileText('npm', ['run', '-s', 'token'], env)
    expect(jwt.verify((await token).trim(), createSecretKey(SECRET, 'utf8'))).toMatchObject({
      scope: 'listings:read',
    })
    await expect.poll(() => out, { timeout: 120_000 }).toMatch(/"msg":"listening"/)
    expect(out).toContain(`"msg":"Settings were read from ${file}"`)
    expect(out).not.toContain(SECRET)
    const ended = new Promise(done => service.once('exit', done))
    process.kill(-(service.pid ?? 0), 'SIGTERM')
    await ended
    await place.remove()
  })
})

const execFileText = (
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) =>
  new Promise<string>((done, fail) => {
    execFile(program, [...args], { env }, (error, out) => (error ? fail(error) : done(out)))
  })

test('PKG-08 tests have no setting of the operator, and read no settings file', () => {
  const env = {
    DATABASE_URL: 'postgresql://db/market',
    JWT_SECRET: SECRET,
    NODE_ENV: 'production',
    PATH: '/bin',
  }
  removeSettings(env)
  expect(env).toEqual({ PATH: '/bin', NODE_ENV: 'test', ENV_FILE: 'none' })
  // The setup of this run has done the same.
  expect([process.env['DATABASE_URL'], process.env['JWT_SECRET'], process.env['ENV_FILE']]).toEqual([
    undefined,
    undefined,
    'none',
  ])
})
