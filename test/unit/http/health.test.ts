import { describe, expect, test } from 'vitest'
import { serveHealth } from '../../../src/http/health.js'
import { request, serve } from './exchange.js'

describe('health', () => {
  const start = async (isReady: () => Promise<boolean>, draining = false) => {
    const handler = serveHealth({ isReady, isDraining: () => draining })
    return (await serve((req, res) => handler(req, res, () => res.writeHead(404).end()))).port
  }
  const probe = async (port: number, path = '/health/ready') => {
    const { status, body } = await request(port, 'GET', path)
    return [status, body === '' ? '' : JSON.parse(body).status]
  }

  test('ready, not ready, failing, hanging, draining', async () => {
    expect(await probe(await start(async () => true))).toEqual([200, 'ready'])
    expect(await probe(await start(async () => false))).toEqual([503, 'unavailable'])
    expect(await probe(await start(() => Promise.reject(new Error('secret host name'))))).toEqual([
      503,
      'unavailable',
    ])
    expect(await probe(await start(() => new Promise(() => {})))).toEqual([503, 'unavailable'])
    expect(await probe(await start(async () => true, true))).toEqual([503, 'draining'])
  })

  test('live whatever the database does, HEAD without a body, anything else goes on', async () => {
    const port = await start(() => new Promise(() => {}), true)
    expect(await probe(port, '/health/live?x')).toEqual([200, 'live'])
    expect(await request(port, 'HEAD', '/health/live')).toMatchObject({ status: 200, body: '' })
    expect((await request(port, 'POST', '/health/live')).status).toBe(404)
  })
})
