import { createHmac, generateKeyPairSync } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { exportJWK, type JWK, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { nextLinkOf } from '../../support/assertions.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService } from '../../support/test-service.js'

const SECRET = 'a secret of the tests, long enough for HS256'
const now = () => Math.floor(Date.now() / 1000)
const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/** Builds a token that libraries refuse to build. */
function forge(header: object, claims: object, secret?: string): string {
  const signed = `${encode(header)}.${encode({ scope: 'listings:read', ...claims })}`
  return `${signed}.${secret === undefined ? '' : createHmac('sha256', secret).update(signed).digest('base64url')}`
}

const makeKey = (kid: string) => ({ kid, ...generateKeyPairSync('ec', { namedCurve: 'P-256' }) })
type Key = ReturnType<typeof makeKey>
const toJwk = async ({ kid, publicKey }: Key): Promise<JWK> => ({
  ...(await exportJWK(publicKey)),
  kid,
  alg: 'ES256',
  use: 'sig',
})
const signBy = ({ kid, privateKey }: Key) =>
  new SignJWT({ exp: now() + 600, scope: 'listings:read' })
    .setProtectedHeader({ alg: 'ES256', kid })
    .sign(privateKey)

/** The key server of the tests. */
let published: readonly JWK[] = []
let isDown = false
let keyServer: Server
beforeAll(async () => {
  keyServer = createServer(
    (_, res) =>
      void res
        .writeHead(isDown ? 500 : 200, { 'Content-Type': 'application/json' })
        .end(JSON.stringify({ keys: published })),
  )
  keyServer.listen(0, '127.0.0.1')
  await once(keyServer, 'listening')
})
afterAll(() => keyServer.close())
const keySetUrl = () => `http://127.0.0.1:${(keyServer.address() as { readonly port: number }).port}/` // it listens on a port

describe.each(DATABASE_KINDS)('traps of tokens on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  beforeAll(async () => {
    market = await startTestService({
      kind,
      env: {
        JWT_SECRET: SECRET,
        JWKS_URL: keySetUrl(),
        JWKS_MAX_AGE_MS: '300',
        JWKS_COOLDOWN_MS: '0',
        CORS_ORIGINS: 'https://app.example',
      },
    })
    await market.given([{}, {}])
  })
  afterAll(() => market.close())

  const statusOf = async (authorization: string | null, target = '/odata/Property?$top=1') =>
    (await market.send(target, { headers: { Authorization: authorization } })).status
  const statusWith = (
    claims: object,
    header: object = { alg: 'HS256' },
    secret: string | undefined = SECRET,
  ) => statusOf(`Bearer ${forge(header, claims, secret)}`)

  test('JWT-01 algorithm none', async () => {
    const claims = { exp: now() + 60 }
    for (const alg of ['none', 'None', 'NONE'])
      expect([alg, await statusOf(`Bearer ${forge({ alg }, claims)}`)]).toEqual([alg, 401])
    const [header, payload] = market.tokenFor().split('.')
    expect([
      await statusOf(`Bearer ${header}.${payload}.`),
      await statusOf(`Bearer ${header}.${payload}`),
    ]).toEqual([401, 401])
    expect(await statusWith(claims)).toBe(200)
  })

  test('JWT-02 the public key used as an HMAC secret', async () => {
    const key = makeKey('one')
    published = [await toJwk(key)]
    const pem = key.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const secret of [pem, pem.trimEnd(), JSON.stringify(published[0])])
      for (const header of [{ alg: 'HS256' }, { alg: 'HS256', kid: 'one' }])
        expect(await statusWith({ exp: now() + 60 }, header, secret)).toBe(401)
    expect(await statusOf(`Bearer ${await signBy(key)}`)).toBe(200)
  })

  test('JWT-03 times with a small tolerance', async () => {
    const exp = now() + 60
    for (const claims of [{ exp: now() - 5 }, { exp, nbf: now() + 5 }, { exp, iat: now() + 5 }])
      expect([claims, await statusWith(claims)]).toEqual([claims, 200])
    for (const claims of [
      { exp: now() - 600 },
      { exp, nbf: now() + 600 },
      { exp: 'tomorrow' },
      { exp: Date.now() + 60_000 },
    ])
      expect([claims, await statusWith(claims)]).toEqual([claims, 401])
  })

  test('JWT-05 a token without exp', async () => {
    expect(await statusWith({})).toBe(401)
  })

  test('JWT-08 the name of the scheme, and blanks', async () => {
    const token = market.tokenFor()
    for (const header of [`bearer ${token}`, `BEARER ${token}`, `Bearer  ${token}`, `Bearer ${token} `])
      expect(await statusOf(header)).toBe(200)
    for (const header of [`Bearer${token}`, token, `Basic ${token}`, 'Bearer', 'Bearer '])
      expect(await statusOf(header)).toBe(401)
  })

  test('JWT-09 401 against 403', async () => {
    const missing = await market.send('/odata/Property', { headers: { Authorization: null } })
    expect([missing.status, missing.headers['www-authenticate']]).toEqual([401, 'Bearer realm="listings", Basic realm="listings", charset="UTF-8"'])
    const expired = await market.send('/odata/Property', { headers: { Authorization: `Bearer ${market.tokenFor({ expiresIn: -600 })}` } })
    expect([expired.status, expired.headers['www-authenticate']]).toEqual([401, expect.stringContaining('error="invalid_token"')])
    const Authorization = `Bearer ${market.tokenFor({ scopes: ['listings:read'] })}`
    const before = [await market.read('L001'), (await market.send('/odata/Property/$count')).text]
    for (const [method, path] of [['POST', ''], ['PATCH', "('L001')"], ['PUT', "('L001')"], ['DELETE', "('L001')"]] as const) {
      const answer = await market.send(`/odata/Property${path}`, { method, headers: { Authorization }, body: { City: 'X', ChangedByMemberKey: 'M1' } })
      expect([answer.status, answer.headers['www-authenticate']]).toEqual([403, expect.stringContaining('insufficient_scope')])
    }
    expect([await market.read('L001'), (await market.send('/odata/Property/$count')).text]).toEqual(before)
  }) // biome-ignore format: one table

  test('JWT-11 each path needs the token', async () => {
    for (const path of [
      '/odata/',
      '/odata',
      '/odata/$metadata',
      '/odata/Property',
      "/odata/Property('L001')",
      '/odata/Nope',
      '/odata/$batch',
    ])
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await market.send(path, { method, headers: { Authorization: null } })
        expect([path, method, answer.status]).toEqual([path, method, 401])
      }
    const preflight = {
      Origin: 'https://app.example',
      'Access-Control-Request-Method': 'PATCH',
      Authorization: null,
    }
    expect((await market.send('/odata/Property', { method: 'OPTIONS', headers: preflight })).status).toBe(204)
    expect(
      (await market.send('/odata/Property', { method: 'OPTIONS', headers: { Authorization: null } })).status,
    ).toBe(401)
    for (const path of ['/health/live', '/health/ready']) {
      const health = await market.send(path, { headers: { Authorization: null } })
      expect([health.status, health.text]).toEqual([
        200,
        expect.stringMatching(/^\{"status":"(?:live|ready)"\}$/),
      ])
    }
  })

  test('JWT-13 keys change while the service runs', async () => {
    const [old, fresh] = [makeKey('old'), makeKey('fresh')]
    published = [await toJwk(old)]
    const [oldToken, freshToken] = [`Bearer ${await signBy(old)}`, `Bearer ${await signBy(fresh)}`]
    expect(await statusOf(oldToken)).toBe(200)
    published = [await toJwk(old), await toJwk(fresh)]
    expect(await statusOf(freshToken)).toBe(200)
    published = [await toJwk(fresh)]
    await wait(350)
    expect([await statusOf(oldToken), await statusOf(freshToken)]).toEqual([401, 200])
    isDown = true
    await wait(350)
    const unknown = await statusOf(`Bearer ${await signBy(makeKey('unknown'))}`)
    const known = await statusOf(freshToken)
    isDown = false
    expect([known, [401, 503].includes(unknown)]).toEqual([200, true])
  })

  test('JWT-14 tokens outside the header', async () => {
    const token = market.tokenFor()
    const answer = await market.send(`/odata/Property?access_token=${token}&$top=1`, {
      headers: { Authorization: null },
    })
    expect([answer.status, answer.text.includes(token)]).toEqual([401, false])
    const page = await market.send(`/odata/Property?access_token=${token}&$top=1`)
    expect(page.status).toBe(200)
    expect(nextLinkOf(page)).toMatch(/\$skiptoken=/)
    expect(nextLinkOf(page)).not.toContain(token)
    expect((await market.send(`/odata/Property?access_token=${token}&$filter=nonsense`)).text).not.toContain(
      token,
    )
  })
})
