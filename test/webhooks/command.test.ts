import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { clientServiceOf } from '../support/partners.js'
import { runProgram } from '../support/shell.js'
import { answering, type Receiver, startReceiver, verify } from './receiver.js'

const ENV = { JWT_SECRET: 'a secret of the tests, long enough for HS256', WEBHOOK_PRIVATE_ADDRESSES: 'on' }

describe.runIf(DATABASE_KINDS.includes('server'))(
  'npm run webhooks',
  () => {
    let database: TestDatabase
    let receiver: Receiver
    beforeAll(async () => {
      database = await openTestDatabase('server')
      receiver = await startReceiver()
      const rights = { Scopes: ['listings:read'], AudienceClass: 'public' } as const
      await clientServiceOf(database).add({ Name: 'Acme', ...rights })
    }, 60_000)
    afterAll(async () => {
      await receiver?.close()
      await database?.close()
    })
    const run = (...args: readonly string[]) => runProgram(database, 'webhooks.ts', args, ENV)

    test('WHK-30: the path and the query of a URL are never shown, and the secret is shown once', async () => {
      const url = receiver.url.replace('/hook', '/services/T0SECRET?key=K0SECRET')
      const added = await run('add', 'Acme', '--url', url, '--entity', 'Property')
      expect(added.code, added.err).toBe(0)
      const [, id = '', secret = ''] = /^webhook id: (.*)\nsecret: {5}(.*)$/m.exec(added.out) ?? []
      const outputs = [added.out.replace(secret, '')]
      for (const args of [['list'], ['list', '--client', 'Acme'], ['show', id], ['pause', id], ['rotate', id, '--end'], ['log', id]]) {
      const { code, out, err } = await run(...args)
      expect(code, err).toBe(0)
      outputs.push(out)
    } // biome-ignore format: one command a list
      expect(outputs.join('')).toContain(`${new URL(url).origin}/…`)
      for (const hidden of ['T0SECRET', 'K0SECRET', secret]) expect(outputs.join('')).not.toContain(hidden)

      // A test message goes to a webhook in any state. The command fails unless it is accepted.
      const accepted = await run('test', id)
      expect(accepted.code, accepted.err).toBe(0)
      expect(JSON.parse(accepted.out)).toMatchObject({ isDelivered: true, status: 204 })
      const [delivery] = receiver.deliveries
      expect(delivery && verify(secret, delivery)).toMatchObject({ type: 'test', value: [] })
      receiver.answer = answering(404)
      const refused = await run('test', id)
      expect([refused.code, refused.err]).toEqual([
        1,
        expect.stringMatching(/The test message was not accepted: answered 404\./),
      ])
      expect(refused.err + refused.out).not.toContain('SECRET')
    })

    test('invalid input is refused with an explanation', async () => {
      const faults: readonly (readonly [args: readonly string[], message: RegExp])[] = [
      [['test', 'wh-none'], /There is no webhook 'wh-none'/],
      [['add', 'Acme'], /--url is missing/],
      [['add', 'Acme', '--url', 'http://169.254.169.254/'], /reserved address/],
      [['add', 'Acme', '--url', receiver.url, '--from', '999999999'], /The change log ends at/],
      [['test', 'wh-none', '--limit', '3'], /--limit/],
    ] // biome-ignore format: a fault a line
      for (const [args, message] of faults) {
        const { code, err } = await run(...args)
        expect([args.join(' '), code]).toEqual([args.join(' '), expect.toBeOneOf([1, 2])])
        expect(err).toMatch(message)
      }
    })
  },
  120_000,
)
