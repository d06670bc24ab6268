import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { expect, test } from 'vitest'
import type { Client } from '../../../src/domain/clients/client.js'
import { verifyClientAssertion } from '../../../src/oauth/client-assertion.js'

const AUDIENCE = 'https://listings.example.org'
const { publicKey, privateKey } = await generateKeyPair('ES256')
const client = {
  id: 'c1', name: 'Acme', scopes: [], audience: 'public', limits: {}, secrets: [], isDisabled: false, isRemoved: false,
  publicKeys: [await exportJWK(publicKey)],
} as unknown as Client // biome-ignore format: table

const verify = async (jti: unknown) => {
  const claims = { iss: 'c1', sub: 'c1', aud: AUDIENCE, exp: Math.floor(Date.now() / 1000) + 60, jti }
  const assertion = await new SignJWT(claims as never).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
  return verifyClientAssertion(assertion, client, [AUDIENCE])
}

test.each(['a', 'ä'.repeat(255)])('an assertion with the id %s is valid', async jti =>
  expect(await verify(jti)).toMatchObject({ id: jti }),
)

// An index of PostgreSQL holds no text of more than 2,704 bytes, and no text holds NUL.
test.each<[jti: unknown, reason: string]>([
  ['', 'empty'],
  ['a\0b', 'with NUL'],
  ['x'.repeat(256), 'too long'],
  [5, 'a number'],
  [true, 'a boolean'],
  [['a'], 'a list'],
  [{ a: 1 }, 'an object'],
])('an assertion is refused whose id %j is %s', async (jti, _reason) =>
  expect(await verify(jti)).toBeUndefined(),
)
