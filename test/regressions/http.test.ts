import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.js'
import { createTokenVerifier } from '../../src/http/auth/bearer.js'
import { readAnswer, sendRaw, serve } from '../unit/http/exchange.js'

const SECRET = 'a secret of the test, long enough for HS256'
const config = readConfig({ DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: SECRET })

/** A token with exactly these parts and a valid signature. */
function forge(header: object, claims: string): string {
  const signed = [JSON.stringify({ alg: 'HS256', ...header }), claims]
    .map(part => Buffer.from(part).toString('base64url'))
    .join('.')
  return `Bearer ${signed}.${createHmac('sha256', SECRET).update(signed).digest('base64url')}`
}

const claims = (more = '') => `{"scope":"listings:read","exp":${Math.floor(Date.now() / 1000) + 60}${more}}`

describe('tokens with a valid signature that are refused', () => {
  test.each([{ crit: ['exp'] }, { crit: ['b64'], b64: false }, { crit: [] }])(
    'an extension that must be understood: %j',
    async header => {
      await expect(createTokenVerifier(config).verify(forge(header, claims()))).rejects.toMatchObject({
        problems: [{ kind: 'TokenRefused' }],
      })
    },
  )

  test.each([
    String.raw`,"member_key":"M\u0000"`,
    String.raw`,"office_key":"\ud800"`,
    String.raw`,"scope":"a\u0000"`,
  ])('a claim with a text that no database has, which made every query 400: %s', async more => {
    await expect(createTokenVerifier(config).verify(forge({}, claims(more)))).rejects.toMatchObject({
      problems: [{ kind: 'TokenRefused' }],
    })
  })
})

test.each(['1.1', '1.0'])(
  'two Host headers are refused, since a proxy may have used the other one (HTTP/%s)',
  async version => {
    const { port } = await serve((_req, res) => res.end('served'))
    const { status, body } = readAnswer(
      await sendRaw(port, `GET / HTTP/${version}\r\nHost: a\r\nhost: b\r\n\r\n`),
    )
    expect(status).toBe(400)
    expect(JSON.parse(body)).toMatchObject({ error: { code: '2021', target: 'Host' } })
  },
)
