import {
  createHmac,
  createSecretKey,
  createSign,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, type JWK, type JWTPayload, SignJWT } from 'jose'
import type { Logger } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type Config, readConfig } from '../../../src/config/config.js'
import { RESOURCES } from '../../../src/errors/phrases.js'
import { ProblemError } from '../../../src/errors/problem.js'
import { REASONS } from '../../../src/errors/reasons.js'
import { createTokenVerifier, type TokenVerifier } from '../../../src/http/auth/bearer.js'
import { signToken } from '../../../src/http/auth/sign-token.js'
import { watchTokenExpiry } from '../../../src/http/auth/token-expiry.js'
import { bearerChallenge } from '../../../src/http/errors.js'

const SECRET = 'a secret of the test, long enough for HS256'
const DATABASE = { DATABASE_URL: 'postgresql://db/listings', TOKEN_KEY: SECRET }
const now = () => Math.floor(Date.now() / 1000)

const configOf = (env: Readonly<Record<string, string>>): Config => readConfig({ ...DATABASE, ...env })

const hs256 = (claims: JWTPayload, secret: string | KeyObject = SECRET): Promise<string> =>
  new SignJWT({ exp: now() + 60, ...claims })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(typeof secret === 'string' ? createSecretKey(secret, 'utf8') : secret)

/** Builds a token that libraries refuse to build. */
const forge = (header: object, claims: object, secret?: string | Buffer): string => {
  const signed = [header, claims]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${signed}.${secret === undefined ? '' : createHmac('sha256', secret).update(signed).digest('base64url')}`
}

/** The kind of the problem, with its reason; 'accepted' if there is none. */
const outcome = async (verifier: TokenVerifier, authorization: string | undefined): Promise<string> => {
  try {
    await verifier.verify(authorization)
    return 'accepted'
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    const problem = error.problems[0]
    return 'reason' in problem ? `${problem.kind}: ${problem.reason}` : problem.kind
  }
}

describe('HS256', () => {
  const verifier = createTokenVerifier(configOf({ JWT_SECRET: SECRET }))
  const outcomeOf = async (token: string | Promise<string>) => outcome(verifier, `Bearer ${await token}`)

  test('claims become an actor', async () => {
    const token = await hs256({
      scope: 'listings:read  listings:write other',
      member_key: 'M1',
      office_key: 'O1',
      audience_class: 'staff',
    })
    expect(await verifier.verify(`Bearer ${token}`)).toEqual({
      scopes: new Set(['listings:read', 'listings:write', 'other']),
      memberKey: 'M1',
      officeKey: 'O1',
      audience: 'staff',
    })
    expect(await verifier.verify(`Bearer ${await hs256({})}`)).toEqual({
      scopes: new Set(),
      audience: 'public',
    })
  })

  test.each([
    [undefined, 'TokenMissing'],
    ['', 'TokenMissing'],
    ['Bearer', 'TokenMissing'],
    ['Bearer ', 'TokenMissing'],
    ['Basic YTpi', 'TokenMissing'],
    ['BearerT', 'TokenMissing'],
    ['T', 'TokenMissing'],
    ['Bearer not-a-token', 'TokenRefused: it is malformed'],
    ['Bearer a.b.c', 'TokenRefused: it is malformed'],
  ])('%j: %s', async (header, expected) => expect(await outcome(verifier, header)).toBe(expected))

  test.each([
    ['bearer ', ''],
    ['BEARER ', ''],
    ['Bearer  ', ''],
    ['Bearer ', ' '],
    ['  Bearer\t', ''],
  ])('%jT%j is accepted', async (before, after) =>
    expect(await outcome(verifier, `${before}${await hs256({})}${after}`)).toBe('accepted'),
  )

  test.each(['none', 'None', 'NONE', 'HS512', 'hs256', 'RS256', 'ES256', ''])(
    'algorithm %j is refused',
    async alg =>
      expect(await outcomeOf(forge({ alg }, { exp: now() + 60 }, SECRET))).toMatch(/^TokenRefused/),
  )

  test('a truncated or changed signature, and one with another secret', async () => {
    const token = await hs256({})
    expect(await outcomeOf(token.slice(0, token.lastIndexOf('.') + 1))).toMatch(/^TokenRefused/)
    expect(await outcomeOf(token.slice(0, token.lastIndexOf('.')))).toMatch(/^TokenRefused/)
    expect(await outcomeOf(hs256({}, 'another secret that is long enough too'))).toBe(
      'TokenRefused: its signature is invalid',
    )
    expect(await outcomeOf(forge({ alg: 'none' }, { exp: now() + 60 }))).toBe(
      'TokenRefused: its algorithm is not allowed',
    )
  })

  test.each<[string, () => object, string]>([
    ['exp 5 s ago', () => ({ exp: now() - 5 }), 'accepted'],
    ['exp 10 min ago', () => ({ exp: now() - 600 }), 'TokenRefused: it has expired'],
    ['nbf in 5 s', () => ({ exp: now() + 60, nbf: now() + 5 }), 'accepted'],
    ['nbf in 10 min', () => ({ exp: now() + 60, nbf: now() + 600 }), 'TokenRefused: it is not valid yet'],
    ['iat in 5 s', () => ({ exp: now() + 60, iat: now() + 5 }), 'accepted'],
    ['no exp', () => ({}), 'TokenRefused: its claim exp is missing'],
    ['exp as text', () => ({ exp: 'tomorrow' }), 'TokenRefused: its claim exp is not accepted'],
    ['exp null', () => ({ exp: null }), 'TokenRefused: its claim exp is not accepted'],
    [
      'exp in milliseconds',
      () => ({ exp: Date.now() + 60_000 }),
      'TokenRefused: it expires more than 400 days from now',
    ],
    ['exp in 399 days', () => ({ exp: now() + 399 * 86_400 }), 'accepted'],
    [
      'scope as a list',
      () => ({ exp: now() + 60, scope: ['listings:read'] }),
      'TokenRefused: its claim scope is not a string',
    ],
    [
      'member_key as a number',
      () => ({ exp: now() + 60, member_key: 1 }),
      'TokenRefused: its claim member_key is not a string',
    ],
    [
      'audience_class root',
      () => ({ exp: now() + 60, audience_class: 'root' }),
      'TokenRefused: its claim audience_class is unknown',
    ],
  ])('%s: %3$s', async (_name, claims, expected) =>
    expect(await outcomeOf(forge({ alg: 'HS256' }, claims(), SECRET))).toBe(expected),
  )

  test('issuer and audience, where the settings name them', async () => {
    const config = configOf({
      JWT_SECRET: SECRET,
      JWT_ISSUER: 'https://id.example',
      JWT_AUDIENCE: 'listings',
    })
    const strict = createTokenVerifier(config)
    const of = async (claims: JWTPayload) => outcome(strict, `Bearer ${await hs256(claims)}`)
    expect(await of({ iss: 'https://id.example', aud: ['other', 'listings'] })).toBe('accepted')
    expect(await of({ iss: 'https://id.example' })).toBe('TokenRefused: its claim aud is not accepted')
    expect(await of({ iss: 'https://id.example', aud: 'other' })).toBe(
      'TokenRefused: its claim aud is not accepted',
    )
    expect(await of({ iss: 'https://evil.example', aud: 'listings' })).toBe(
      'TokenRefused: its claim iss is not accepted',
    )
    const own = await signToken(
      { scopes: [], audience: 'public', expiresIn: 60 },
      createSecretKey(SECRET, 'utf8'),
      config,
    )
    expect(await outcome(strict, `Bearer ${own}`)).toBe('accepted')
  })

  test('a cached token is refused after its expiration', async () => {
    const token = `Bearer ${await hs256({ exp: now() - 29 })}`
    expect(await outcome(verifier, token)).toBe('accepted')
    await new Promise(resolve => setTimeout(resolve, 2100))
    expect(await outcome(verifier, token)).toBe('TokenRefused: it has expired')
  })

  test('the challenge of each response', () => {
    expect(bearerChallenge({ kind: 'TokenMissing' })).toBe('Bearer realm="listings"')
    expect(bearerChallenge({ kind: 'TokenRefused', reason: REASONS.tokenExpired })).toContain(
      'error="invalid_token"',
    )
    expect(bearerChallenge({ kind: 'ScopeMissing', scope: 'admin' })).toContain('error="insufficient_scope"')
    expect(bearerChallenge({ kind: 'NotFound', what: RESOURCES.resource('x') })).toBeUndefined()
  })
})

const pause = (ms: number) => new Promise(resolve => setTimeout(resolve, ms))

interface Signer {
  readonly kid: string
  readonly alg: 'RS256' | 'ES256'
  readonly privateKey: KeyObject
  readonly publicKey: KeyObject
}

const makeSigner = (alg: Signer['alg'] = 'ES256', modulusLength = 2048): Signer => {
  const pair =
    alg === 'ES256'
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength })
  return { kid: randomBytes(4).toString('hex'), alg, ...pair }
}

const sign = async ({ kid, alg, privateKey }: Signer, header: { kid?: string } = { kid }): Promise<string> =>
  `Bearer ${await new SignJWT({ exp: now() + 600, scope: 'listings:read' }).setProtectedHeader({ alg, ...header }).sign(privateKey)}`

describe('JWKS_URL', () => {
  let server: Server
  let url: string
  let published: readonly JWK[]
  let state: 'up' | 'down' | 'hanging' | 'endless' | 'slow'
  let readings: number
  /** Bytes of the body that the service took. */
  let sentBytes: number

  beforeEach(async () => {
    published = []
    state = 'up'
    readings = 0
    sentBytes = 0
    server = createServer((_req, res) => {
      readings++
      if (state === 'endless') writeEndlessly(res, 100_000, 0)
      if (state === 'slow') writeEndlessly(res, 1, 50)
      if (state === 'up')
        res.setHeader('Content-Type', 'application/json').end(JSON.stringify({ keys: published }))
      if (state === 'down') res.writeHead(500).end('<html>')
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    // A server that listens on a port has an address of this form.
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`
  })
  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  /** Spaces may precede any JSON. */
  const writeEndlessly = async (res: ServerResponse, bytes: number, pauseMs: number) => {
    while (!res.destroyed) {
      await new Promise(resolve => res.write(' '.repeat(bytes), resolve))
      sentBytes += bytes
      await pause(pauseMs)
    }
  }
  const publish = async (...signers: readonly Signer[]) => {
    published = await Promise.all(
      signers.map(async ({ kid, alg, publicKey }) => ({
        ...(await exportJWK(publicKey)),
        kid,
        alg,
        use: 'sig',
      })),
    )
  }
  const verifierOf = (env: Readonly<Record<string, string>> = {}, logger?: Pick<Logger, 'warn'>) =>
    createTokenVerifier(
      configOf({
        JWKS_URL: url,
        JWKS_MAX_AGE_MS: '60000',
        JWKS_COOLDOWN_MS: '0',
        JWKS_TIMEOUT_MS: '5000',
        ...env,
      }),
      logger,
    )

  test('RS256 and ES256 are accepted, and the set is read once for many requests', async () => {
    const signers = [makeSigner('RS256'), makeSigner('ES256')]
    await publish(...signers)
    const verifier = verifierOf()
    const tokens = await Promise.all([...signers, ...signers].map(signer => sign(signer)))
    expect(await Promise.all(tokens.map(token => outcome(verifier, token)))).toEqual(
      Array(4).fill('accepted'),
    )
    expect(readings).toBe(1)
  })

  test('an HMAC over the public key is refused, whatever else is configured', async () => {
    const signer = makeSigner('RS256')
    await publish(signer)
    const pem = signer.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const verifier of [verifierOf(), verifierOf({ JWT_SECRET: SECRET })])
      for (const key of [pem, pem.trim(), JSON.stringify(published[0])])
        expect(
          await outcome(
            verifier,
            `Bearer ${forge({ alg: 'HS256', kid: signer.kid }, { exp: now() + 60 }, key)}`,
          ),
        ).toMatch(/^TokenRefused/)
    expect(await outcome(verifierOf(), `Bearer ${await hs256({})}`)).toBe(
      'TokenRefused: its algorithm is not allowed',
    )
    expect(await outcome(verifierOf({ JWT_SECRET: SECRET }), `Bearer ${await hs256({})}`)).toBe('accepted')
  })

  test('a key of the other algorithm is not used', async () => {
    const [rsa, ec] = [makeSigner('RS256'), makeSigner('ES256')]
    await publish(rsa)
    expect(await outcome(verifierOf(), await sign(ec, { kid: rsa.kid }))).toBe(
      'TokenRefused: it was signed with an unknown key',
    )
  })

  test('a token that names no key is tried with each', async () => {
    const [first, second, stranger] = [makeSigner(), makeSigner(), makeSigner()]
    await publish(first, second)
    expect(await outcome(verifierOf(), await sign(second, {}))).toBe('accepted')
    expect(await outcome(verifierOf(), await sign(stranger, {}))).toBe(
      'TokenRefused: its signature is invalid',
    )
  })

  test('a new key works immediately; a removed key and cached tokens end with the age of the set', async () => {
    const [old, fresh] = [makeSigner(), makeSigner()]
    await publish(old)
    const verifier = verifierOf({ JWKS_MAX_AGE_MS: '300' })
    const oldToken = await sign(old)
    expect(await outcome(verifier, oldToken)).toBe('accepted')
    await publish(old, fresh)
    expect(await outcome(verifier, await sign(fresh))).toBe('accepted')
    await publish(fresh)
    expect(await outcome(verifier, oldToken)).toBe('accepted')
    await pause(350)
    expect(await outcome(verifier, oldToken)).toBe('TokenRefused: it was signed with an unknown key')
    expect(await outcome(verifier, await sign(fresh))).toBe('accepted')
  })

  test('tokens with invented keys cause no requests to the key server', async () => {
    await publish(makeSigner())
    const verifier = verifierOf({ JWKS_COOLDOWN_MS: '60000' })
    for (let i = 0; i < 5; i++)
      expect(await outcome(verifier, await sign(makeSigner()))).toBe(
        'TokenRefused: it was signed with an unknown key',
      )
    expect(readings).toBe(1)
  })

  test.each(['down', 'hanging'] as const)(
    'the key server is %s: known keys work, unknown ones are 503, then it recovers',
    async outage => {
      const [known, unknown] = [makeSigner(), makeSigner()]
      await publish(known)
      const verifier = verifierOf({ JWKS_MAX_AGE_MS: '100', JWKS_TIMEOUT_MS: '200' })
      expect(await outcome(verifier, await sign(known))).toBe('accepted')
      state = outage
      await pause(150)
      expect(await outcome(verifier, await sign(known))).toBe('accepted')
      const startedAt = performance.now()
      expect(await outcome(verifier, await sign(known))).toBe('accepted')
      expect(performance.now() - startedAt).toBeLessThan(10_000)
      expect(await outcome(verifier, await sign(unknown))).toBe('Unavailable: keys')
      state = 'up'
      await publish(known, unknown)
      await pause(250)
      expect(await outcome(verifier, await sign(unknown))).toBe('accepted')
    },
  )

  test('an outage at the start is 503, and a response that is not a key set is ignored', async () => {
    const signer = makeSigner()
    state = 'down'
    const verifier = verifierOf()
    expect(await outcome(verifier, await sign(signer))).toBe('Unavailable: keys')
    state = 'up'
    // The response of a key server has no static type.
    published = 'no list' as unknown as readonly JWK[]
    expect(await outcome(verifier, await sign(signer))).toBe('Unavailable: keys')
    await publish(signer)
    expect(await outcome(verifier, await sign(signer))).toBe('accepted')
  })

  test.each([[null], [1], ['a key'], [[]], [{}], [{ kty: 'RSA' }], [{ kty: 'EC', crv: 'P-256', x: 1 }]])(
    'NEW-40 an entry that is no key leaves the others alone: %j',
    async entry => {
      const signer = makeSigner()
      await publish(signer)
      published = [entry as JWK, ...published] // what a key server sends has no type
      expect(await outcome(verifierOf(), await sign(signer))).toBe('accepted')
    },
  )

  test('NEW-46 keys that cannot verify tokens are dropped with a log line, once', async () => {
    const signers = [makeSigner('RS256', 1024), makeSigner(), makeSigner(), makeSigner()] as const
    const [short, encrypting, leaked, good] = signers
    await publish(...signers)
    published = published.map(jwk => ({
      ...jwk,
      key_ops: jwk.kid === encrypting.kid ? ['encrypt'] : ['verify'],
      ...(jwk.kid === leaked.kid && { d: jwk.x ?? '' }),
    }))
    const lines: unknown[] = []
    const verifier = verifierOf({ JWKS_MAX_AGE_MS: '100' }, { warn: (line: unknown) => lines.push(line) })
    // Libraries do not sign with so short a key.
    const shortToken = signWithoutLibrary(short)
    expect(await outcome(verifier, shortToken)).toBe('TokenRefused: it was signed with an unknown key')
    for (const signer of [encrypting, leaked])
      expect(await outcome(verifier, await sign(signer))).toBe(
        'TokenRefused: it was signed with an unknown key',
      )
    expect(await outcome(verifier, await sign(good))).toBe('accepted')
    await pause(150)
    expect(await outcome(verifier, await sign(good))).toBe('accepted')
    expect(lines).toEqual([
      {
        keys: [
          { kid: short.kid, reason: 'it has 1024 bits; at least 2048 are required' },
          { kid: encrypting.kid, reason: 'its key_ops do not include verify' },
          { kid: leaked.kid, reason: expect.any(String) },
        ],
      },
    ])
  })

  test('a response without an end is read up to 1 MB', async () => {
    state = 'endless'
    const verifier = verifierOf({ JWKS_TIMEOUT_MS: '20000' })
    expect(await outcome(verifier, await sign(makeSigner()))).toBe('Unavailable: keys')
    await pause(50)
    const sent = sentBytes
    expect(sent).toBeLessThan(8_000_000)
    await pause(50)
    expect(sentBytes).toBe(sent)
  })

  test('a response that arrives too slowly is aborted', async () => {
    state = 'slow'
    const startedAt = performance.now()
    const verifier = verifierOf({ JWKS_TIMEOUT_MS: '200' })
    expect(await outcome(verifier, await sign(makeSigner()))).toBe('Unavailable: keys')
    expect(performance.now() - startedAt).toBeLessThan(15_000)
  })

  test.each(['0', '2000'])(
    'during an outage an open connection checks its token once per cooldown (%s ms), at most once a second',
    async cooldown => {
      const signer = makeSigner()
      await publish(signer)
      const verifier = verifierOf({ JWKS_MAX_AGE_MS: '100', JWKS_COOLDOWN_MS: cooldown })
      const authorization = await sign(signer)
      let checks = 0
      const stop = watchTokenExpiry(
        {
          ...verifier,
          authenticate(text) {
            checks++
            return verifier.authenticate(text)
          },
        },
        authorization,
        await verifier.authenticate(authorization),
        () => undefined,
      )
      state = 'down'
      await pause(1500)
      stop()
      expect(checks).toBeGreaterThan(0)
      expect(checks).toBeLessThanOrEqual(3)
      expect(readings).toBeLessThanOrEqual(4)
    },
  )
})

/** A token by a key that libraries refuse to sign with. */
function signWithoutLibrary({ kid, privateKey }: Signer): string {
  const signed = [
    { alg: 'RS256', kid },
    { exp: now() + 600, scope: 'listings:read' },
  ]
    .map(part => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `Bearer ${signed}.${createSign('sha256').update(signed).sign(privateKey, 'base64url')}`
}
