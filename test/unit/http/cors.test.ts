import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.js'
import { allowOrigins } from '../../../src/http/cors.js'
import { request, serve } from './exchange.js'

const configOf = (env: Readonly<Record<string, string>>) =>
  readConfig({ DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: 's'.repeat(32), ...env })

describe('CORS', () => {
  const preflight = {
    Origin: 'https://a.example',
    'Access-Control-Request-Method': 'PATCH',
    'Access-Control-Request-Headers': 'authorization,odata-version,x-new',
  }
  const start = async (CORS_ORIGINS: string) => {
    const handler = allowOrigins(configOf({ CORS_ORIGINS }))
    return (await serve((req, res) => handler(req, res, () => res.writeHead(401).end('adapter')))).port
  }

  test('a preflight of an allowed origin', async () => {
    const { status, headers, body } = await request(
      await start('https://a.example'),
      'OPTIONS',
      '/odata/Property',
      preflight,
    )
    expect({ status, body }).toEqual({ status: 204, body: '' })
    expect(headers).toMatchObject({
      'access-control-allow-origin': 'https://a.example',
      'access-control-allow-methods': 'GET, HEAD, POST, PATCH, PUT, DELETE',
      'access-control-allow-headers': 'authorization,odata-version,x-new',
      vary: 'Origin, Access-Control-Request-Headers',
    })
  })

  test('errors have the headers, and credentials are never allowed', async () => {
    const { status, headers } = await request(await start('https://a.example'), 'GET', '/', {
      Origin: 'https://a.example',
    })
    expect(status).toBe(401)
    expect(headers['access-control-allow-origin']).toBe('https://a.example')
    for (const name of [
      'OData-Version',
      'ETag',
      'Location',
      'OData-EntityId',
      'EntityId',
      'Preference-Applied',
      'Content-Language',
      'Retry-After',
      'WWW-Authenticate',
      'X-Request-Id',
    ])
      expect(headers['access-control-expose-headers']?.split(', ')).toContain(name)
    expect(headers).not.toHaveProperty('access-control-allow-credentials')
  })

  test.each([
    ['', 'https://a.example'],
    ['https://a.example', 'https://b.example'],
    ['https://a.example', 'null'],
    ['https://a.example', 'https://a.example.evil.test'],
  ])('CORS_ORIGINS=%s sends no CORS headers to %s', async (setting, Origin) => {
    const port = await start(setting)
    for (const answer of [
      await request(port, 'GET', '/', { Origin }),
      await request(port, 'OPTIONS', '/', { ...preflight, Origin }),
    ])
      expect(Object.keys(answer.headers).filter(name => name.startsWith('access-control'))).toEqual([])
  })

  test('responses without an Origin have Vary too', async () =>
    expect((await request(await start('https://a.example'), 'GET', '/')).headers.vary).toBe('Origin'))

  test('* allows every origin', async () =>
    expect(
      (await request(await start('*'), 'GET', '/', { Origin: 'null' })).headers[
        'access-control-allow-origin'
      ],
    ).toBe('*'))

  test('an OPTIONS request that is not a preflight reaches the adapter', async () =>
    expect((await request(await start('*'), 'OPTIONS', '/', { Origin: 'https://a.example' })).body).toBe(
      'adapter',
    ))
})
