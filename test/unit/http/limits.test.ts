import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.js'
import { ProblemError } from '../../../src/errors/problem.js'
import { createTokenVerifier } from '../../../src/http/auth/bearer.js'
import { signToken } from '../../../src/http/auth/sign-token.js'
import { limitRate } from '../../../src/http/rate-limit/rate-limit.js'
import { checkQueryLength } from '../../../src/http/url-limits.js'
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

describe('limits', () => {
  test('the query string may be MAX_QUERY_LENGTH long, the path does not count', async () => {
    const config = configOf({ MAX_QUERY_LENGTH: '300' })
    const { port } = await serve((req, res) =>
      res.writeHead(200, { 'X-Kind': String(kindOf(() => checkQueryLength(req, config))) }).end(),
    )
    const of = async (target: string) => (await request(port, 'GET', target)).headers['x-kind']
    expect(await of(`/${'p'.repeat(400)}?${'x'.repeat(300)}`)).toBe('undefined')
    expect(await of(`/?${'x'.repeat(301)}`)).toBe('UrlTooLong')
  })

  test('RATE_LIMIT counts per token, reports the remaining requests, and ignores requests without a valid token', async () => {
    const config = configOf({ RATE_LIMIT: '2' })
    const handler = limitRate(config, { verifier: createTokenVerifier(config) })
    const { port } = await serve((req, res) =>
      handler(req, res, error =>
        res.writeHead(200).end(error instanceof ProblemError ? JSON.stringify(error.problems[0]) : 'served'),
      ),
    )
    const tokens = await Promise.all(
      ['A', 'B'].map(memberKey =>
        signToken(
          { scopes: [], audience: 'public', expiresIn: 60, memberKey },
          config.jwtSecret ?? expect.fail(),
          config,
        ),
      ),
    )
    const of = async (token: string | undefined) => {
      const { headers, body } = await request(
        port,
        'GET',
        '/',
        token === undefined ? {} : { Authorization: `Bearer ${token}` },
      )
      return [
        headers['ratelimit-limit'],
        headers['ratelimit-remaining'],
        /served|TooManyRequests/.exec(body)?.[0],
      ]
    }
    expect([await of(tokens[0]), await of(tokens[0]), await of(tokens[0]), await of(tokens[1])]).toEqual([
      ['2', '1', 'served'],
      ['2', '0', 'served'],
      ['2', '0', 'TooManyRequests'],
      ['2', '1', 'served'],
    ])
    for (const bad of [undefined, undefined, undefined, 'x', 'x', 'x'])
      expect((await of(bad))[2]).toBe('served')
  })
})
