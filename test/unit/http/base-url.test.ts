import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.js'
import { ProblemError } from '../../../src/errors/problem.js'
import { baseUrl } from '../../../src/http/base-url.js'
import { request, serve } from './exchange.js'

const configOf = (env: Readonly<Record<string, string>>) =>
  readConfig({ DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: 's'.repeat(32), ...env })

/** Runs a server handler. The result is the kind of its problem. */
const kindOf = (run: () => unknown): unknown => {
  try {
    return run()
  } catch (error) {
    return error instanceof ProblemError ? error.message : error
  }
}

describe('address', () => {
  const of = async (
    headers: Readonly<Record<string, string>>,
    env: Readonly<Record<string, string>> = {},
  ) => {
    const config = configOf(env)
    const { port } = await serve((req, res) =>
      res.writeHead(200, { Connection: 'close', 'X-Base': String(kindOf(() => baseUrl(req, config))) }).end(),
    )
    return (await request(port, 'GET', '/', headers)).headers['x-base']
  }
  const proxied = { 'X-Forwarded-Proto': 'https, http', 'X-Forwarded-Host': 'api.example.test, inner:80' }

  test.each(['localhost', 'localhost:4000', '127.0.0.1:80', '[::1]:4000', 'my_service.internal'])(
    'Host %s',
    async Host => expect(await of({ Host })).toBe(`http://${Host}`),
  )
  test.each(['a/b', 'a@b', 'a b', 'a:b', '"x"', 'a?b', '', 'a,b', '.', 'a:123456'])(
    'Host %j is refused',
    async Host => expect(await of({ Host })).toBe('BadHeader'),
  )

  test('PUBLIC_URL takes precedence, and forwarded headers count only with TRUST_PROXY', async () => {
    expect(await of(proxied)).toBe('http://localhost')
    expect(await of(proxied, { TRUST_PROXY: 'true' })).toBe('https://api.example.test')
    expect(await of({}, { TRUST_PROXY: 'true' })).toBe('http://localhost')
    expect(await of({ 'X-Forwarded-Proto': 'javascript' }, { TRUST_PROXY: 'true' })).toBe('BadHeader')
    expect(await of({ 'X-Forwarded-Host': 'evil/x' }, { TRUST_PROXY: 'true' })).toBe('BadHeader')
    expect(await of(proxied, { TRUST_PROXY: 'true', PUBLIC_URL: 'https://api.example.test/reso/' })).toBe(
      'https://api.example.test/reso',
    )
  })
})
