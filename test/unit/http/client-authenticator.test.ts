import { expect, test, vi } from 'vitest'
import type { ClientDirectory } from '../../../src/domain/clients/directory.js'
import * as secrets from '../../../src/domain/clients/secrets.js'
import { ProblemError } from '../../../src/errors/problem.js'
import { ClientAuthenticator } from '../../../src/http/auth/client-authenticator.js'

const { text, stored } = await secrets.generateSecret()
const client = { id: 'c1', secrets: [stored] }
const createAuthenticator = () =>
  new ClientAuthenticator({
    ready: async () => undefined,
    find: (id: string) => (id === 'c1' ? client : undefined),
  } as unknown as ClientDirectory)

const kindOf = (attempt: Promise<unknown>) =>
  attempt.then(
    () => 'accepted',
    (error: unknown) => (error instanceof ProblemError ? error.problems[0].kind : error),
  )

test('concurrent attempts are limited like consecutive ones', async () => {
  const authenticator = createAuthenticator()
  const guesses = Array.from({ length: 40 }, (_, n) =>
    kindOf(authenticator.authenticate('c1', `${stored.id}_guess${n}`, '192.0.2.1')),
  )
  const kinds = await Promise.all(guesses)
  expect(kinds.filter(kind => kind === 'TokenRefused')).toHaveLength(20)
  expect(kinds.filter(kind => kind === 'TooManyRequests')).toHaveLength(20)
  expect(await kindOf(authenticator.authenticate('c1', text, '192.0.2.2'))).toBe('accepted')
})

test('many programs can use one secret at the same time', async () => {
  const authenticator = createAuthenticator()
  const attempts = Array.from({ length: 60 }, () =>
    kindOf(authenticator.authenticate('c1', text, '192.0.2.1')),
  )
  expect(new Set(await Promise.all(attempts))).toEqual(new Set(['accepted']))
})

test('OAU-17 wrong secrets are not remembered, and do not replace a correct one', async () => {
  const authenticator = createAuthenticator()
  const { findMatchingSecret } = secrets
  // The hashes of wrong secrets would take minutes.
  const hashes = vi
    .spyOn(secrets, 'findMatchingSecret')
    .mockImplementation(async (secret, stored) =>
      secret === text ? findMatchingSecret(secret, stored) : undefined,
    )
  try {
    await authenticator.authenticate('c1', text, '192.0.2.1')
    for (let n = 0; n < 10_001; n++)
      expect(await kindOf(authenticator.authenticate('c1', `${stored.id}_guess`, `${n}`))).toBe(
        'TokenRefused',
      )
    // Each attempt was compared, also with the same secret.
    expect(hashes).toHaveBeenCalledTimes(10_002)
    await authenticator.authenticate('c1', text, '192.0.2.1')
    expect(hashes).toHaveBeenCalledTimes(10_002)
  } finally {
    hashes.mockRestore()
  }
})
