import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findMatchingSecret } from '../../src/domain/clients/secrets.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { randomPartOf } from '../support/partners.js'

interface Shown {
  readonly state: string
  readonly ClientId: string
  readonly Secrets: readonly { readonly SecretId: string }[]
  readonly [name: string]: unknown
}

describe.each(DATABASE_KINDS)(
  'npm run clients on the %s database',
  kind => {
    let database: TestDatabase
    beforeAll(async () => {
      database = await openTestDatabase(kind)
    })
    afterAll(() => database?.close())

    const run = (...args: readonly string[]): Promise<{ code: unknown; out: string; err: string }> => {
      const { dataDir, databaseUrl = '' } = database.settings
      const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, DATABASE_URL: databaseUrl }
      const program = ['--import', './src/typescript.mjs', 'src/cli/clients.ts', ...args]
      return new Promise(resolve => {
        execFile(process.execPath, program, { env }, (error, out, err) =>
          resolve({ code: error?.code ?? 0, out, err }),
        )
      })
    }
    const show = async (...args: readonly string[]): Promise<Shown> => {
      const { code, out, err } = await run(...args)
      expect(code, err).toBe(0)
      return JSON.parse(out) as Shown
    }
    const make = async (
      ...args: readonly string[]
    ): Promise<{ readonly id: string; readonly secret: string }> => {
      const { code, out, err } = await run(...args)
      expect(code, err).toBe(0)
      const [, id = '', secret = ''] = /^client id: {5}(.*)\nclient secret: (.*)\n$/m.exec(out) ?? []
      return { id, secret }
    }
    const query = <T>(text: string, values: readonly unknown[] = []) =>
      database.queryControl<T>({ text, values })
    const version = async () =>
      (await query<{ v: string }>('select "Version"::text as v from "admin"."State"'))[0]?.v

    test('CLI-01: the secret is shown once and stored as a scrypt hash, which no output and no audit entry contains', async () => {
      const { id, secret } = await make(
      'add', 'Acme IDX', '--contact', 'it@acme.example', '--expires', '90d',
    ) // biome-ignore format: one command
      expect(id).toMatch(/^acme-idx-[a-z0-9]{6}$/)
      expect(secret).toMatch(/^[0-9a-f]{12}_[\w-]{43}$/)
      const [stored] = await query<{ SecretId: string; Hash: string }>(
        'select "SecretId", "Hash" from "admin"."ClientSecret" where "ClientId" = $1',
        [id],
      )
      const hash = stored?.Hash ?? ''
      expect(hash).toMatch(/^scrypt\$16384\$8\$1\$/)
      const secrets = [{ id: stored?.SecretId ?? '', hash }]
      expect(await findMatchingSecret(secret, secrets)).toBe(secrets[0])
      expect(await findMatchingSecret(`${secret}x`, secrets)).toBeUndefined()
      expect(await findMatchingSecret(secret.slice(0, -1), secrets)).toBeUndefined()

      const rotated = await make('rotate', id)
      const outputs = [(await run('list')).out, (await run('show', id)).out]
      const [audit] = await query<{ text: string }>(
        'select string_agg(e::text, chr(10)) as text from "admin"."AuditEntry" e where "ResourceKey" = $1',
        [id],
      )
      const everything = [...outputs, audit?.text ?? ''].join('\n')
      expect(everything).toContain(stored?.SecretId)
      for (const hidden of [secret, rotated.secret].map(randomPartOf))
        expect(everything).not.toContain(hidden)
      expect(everything).not.toContain('scrypt')
    })

    test('limits are set at the start, changed one by one and removed', async () => {
      const { id } = await make(
        'add', 'Limited', '--requests-per-minute', '600', '--requests-per-day', '100000',
        '--rows-per-day', '2000000', '--running-statements', '4',
      ) // biome-ignore format: one command
      const limits = {
        RequestsPerMinute: 600,
        RequestsPerDay: 100_000,
        RowsPerDay: 2_000_000,
        RunningStatements: 4,
      }
      expect(await show('show', id)).toMatchObject(limits)
      const changed = await show('change', id, '--rows-per-day', 'none', '--running-statements', '2')
      expect(changed).toMatchObject({ ...limits, RowsPerDay: null, RunningStatements: 2 })
      expect(await run('change', id, '--requests-per-day', '0')).toEqual({
        code: 1,
        out: '',
        err: "--requests-per-day is '0'; expected a number from 1 to 2147483647, or none.\n",
      })
    })

    test('an unknown client is refused with a message', async () => {
      expect(await run('show', 'nobody')).toEqual({
        code: 1,
        out: '',
        err: "There is no client 'nobody'.\n",
      })
    })

    test('CLI-02: a client has two secrets during a rotation, never three; the operator sees both and ends it', async () => {
      const first = await make('add', 'Beta Homes')
      const second = await make('rotate', first.id)
      const during = await show('show', first.id)
      expect(during.Secrets.map(secret => secret.SecretId)).toEqual(
        [first.secret, second.secret].map(secret => secret.split('_')[0]),
      )
      expect((await run('list')).out).toMatch(/^beta-homes-\w+ .* 2 secrets$/m)
      const third = await run('rotate', first.id)
      expect(third).toEqual({ code: 1, out: '', err: expect.stringMatching(/already has 2 secrets/) })
      const after = await show('rotate', first.id, '--end')
      expect(after.Secrets.map(secret => secret.SecretId)).toEqual([second.secret.split('_')[0]])
      expect((await make('rotate', first.id)).secret).toBeTruthy()
    })

    test('disable, enable, change and remove work by id and name, and write an audit entry and a new version', async () => {
      const { id } = await make(
        'add',
        'Gamma',
        '--class',
        'member',
        '--member',
        'M1',
        '--scope',
        'listings:read',
      )
      const versions = [await version()]
      const states: string[] = []
      for (const args of [
        ['disable', 'Gamma'],
        ['enable', id],
        ['change', id, '--contact', 'new@gamma.example', '--member', 'none', '--name', 'Gamma Two'],
        ['remove', id],
      ]) {
        states.push((await show(...args)).state)
        versions.push(await version())
      }
      expect(states).toEqual(['disabled', 'active', 'active', 'removed'])
      expect(new Set(versions).size).toBe(versions.length)
      const shown = await show('show', id)
      expect(shown).toMatchObject({
        state: 'removed',
        Name: 'Gamma Two',
        Contact: 'new@gamma.example',
        Secrets: [],
      })
      const audit = shown['Audit'] as readonly Record<string, unknown>[]
      expect(audit.map(entry => entry['Action'])).toEqual(
        ['add', 'disable', 'enable', 'change', 'remove'].map(action => `client.${action}`),
      )
      expect(audit[3]).toMatchObject({
        Actor: expect.stringMatching(/^command ./),
        Before: { Name: 'Gamma', MemberKey: 'M1', Contact: null },
        After: { Name: 'Gamma Two', MemberKey: null, Contact: 'new@gamma.example' },
      })
      expect((await run('list')).out).not.toContain(id)
      expect(await run('enable', id)).toMatchObject({ code: 1, err: `The client '${id}' was removed.\n` })
    })
  },
  120_000,
)
