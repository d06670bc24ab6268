import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { decodeJwt, jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'

const ENV = { DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: 's'.repeat(32) }

const run = (
  args: readonly string[],
  env: Readonly<Record<string, string>> = ENV,
): Promise<{ readonly code: number | null; readonly out: string; readonly err: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', './src/typescript.mjs', 'src/cli/token.ts', ...args], {
      env: { PATH: process.env.PATH, ...env },
    })
    let [out, err] = ['', '']
    child.stdout.on('data', text => (out += text))
    child.stderr.on('data', text => (err += text))
    child.on('error', reject)
    child.on('close', code => resolve({ code, out, err }))
  })

describe('npm run token', () => {
  test('without flags: listings:read, public, one hour, and nothing but the token', async () => {
    const { code, out, err } = await run([])
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+\n$/)
    const claims = decodeJwt(out.trim())
    expect(claims).toEqual({
      scope: 'listings:read',
      audience_class: 'public',
      sub: userInfo().username,
      iat: expect.any(Number),
      exp: (claims.iat ?? 0) + 3600,
    })
  })

  test('all flags, issuer and audience as configured', async () => {
    const args = [
      '--scope',
      'listings:read listings:write',
      '--member',
      'M1',
      '--office',
      'O1',
      '--class',
      'staff',
      '--subject',
      'Ann',
      '--expires',
      '8h',
    ]
    const claims = decodeJwt(
      (await run(args, { ...ENV, JWT_ISSUER: 'https://id.example', JWT_AUDIENCE: 'listings' })).out.trim(),
    )
    expect(claims).toMatchObject({
      scope: 'listings:read listings:write',
      member_key: 'M1',
      office_key: 'O1',
      audience_class: 'staff',
      sub: 'Ann',
      iss: 'https://id.example',
      aud: 'listings',
    })
    expect((claims.exp ?? 0) - (claims.iat ?? 0)).toBe(8 * 3600)
  })

  test.each<[string, readonly string[], Readonly<Record<string, string>>, string]>([
    ['an unknown flag', ['--days', '3'], ENV, '--days'],
    ['an argument without a flag', ['staff'], ENV, 'staff'],
    ['an unknown scope', ['--scope', 'listings:all'], ENV, "no scope 'listings:all'"],
    ['an unknown class', ['--class', 'root'], ENV, "--class is 'root'"],
    ['a time without a unit', ['--expires', '8'], ENV, "--expires is '8'"],
    ['a time beyond the limit', ['--expires', '401d'], ENV, 'at most 400 days'],
    ['a flag without its value', ['--member'], ENV, '--member'],
    ['an empty key', ['--member', ''], ENV, 'non-empty key'],
    ['an empty subject', ['--subject', ''], ENV, 'non-empty name'],
    ['settings that are wrong', [], { ...ENV, PORT: 'x' }, "PORT is 'x'"],
    [
      'no JWT_SECRET',
      [],
      { DATABASE_URL: ENV.DATABASE_URL, JWKS_URL: 'https://id.example/keys', TOKEN_KEY: ENV.JWT_SECRET },
      'JWT_SECRET is not set',
    ],
  ])(
    '%s: a sentence on standard error, exit 1, and the usage if the arguments are what is wrong',
    async (_name, args, env, sentence) => {
      const { code, out, err } = await run(args, env)
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err).toContain(sentence)
      expect(err).not.toMatch(/\n\s+at /)
      expect(err.includes('usage: ')).toBe(args.length > 0)
    },
  )

  test('two commands on a new folder of the embedded database agree on its secret', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'listing-token-'))
    const env = { DATA_DIR: join(folder, 'data') }
    const runs = await Promise.all([run([], env), run([], env)])
    const secret = Buffer.from(readFileSync(join(env.DATA_DIR, 'secret'), 'utf8').trim())
    rmSync(folder, { recursive: true })
    for (const { out } of runs) await expect(jwtVerify(out.trim(), secret)).resolves.toBeDefined()
  })
}, 30_000)
