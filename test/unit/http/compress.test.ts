import express from 'express'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../../src/config/config.js'
import { compressResponses } from '../../../src/http/compress.js'
import { request, serve } from './exchange.js'

const configOf = (env: Readonly<Record<string, string>>) =>
  readConfig({ DATABASE_URL: 'postgresql://db/listings', JWT_SECRET: 's'.repeat(32), ...env })

describe('compression', () => {
  const LONG = JSON.stringify(Array(200).fill({ City: 'Vail' }))
  const start = async () => {
    const app = express().use(compressResponses(configOf({})))
    app.use((req, res) => {
      res.setHeader('ETag', 'W/"1"')
      if (req.url === '/304' || req.url === '/204') res.writeHead(Number(req.url.slice(1))).end()
      else
        res
          .setHeader('Content-Type', 'application/json;odata.metadata=minimal')
          .end(req.url === '/short' ? '{}' : LONG)
    })
    return (await serve(app)).port
  }

  test.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
  ])('%s gives %s', async (offered, expected) => {
    const { headers, body } = await request(await start(), 'GET', '/', { 'Accept-Encoding': offered })
    expect(headers).toMatchObject({ 'content-encoding': expected, vary: 'Accept-Encoding', etag: 'W/"1"' })
    expect(body.length).toBeLessThan(LONG.length / 4)
  })

  test.each<[string, string, Readonly<Record<string, string>>]>([
    ['GET', '/short', { 'Accept-Encoding': 'gzip' }],
    ['GET', '/', {}],
    ['GET', '/', { 'Accept-Encoding': 'identity' }],
    ['HEAD', '/', { 'Accept-Encoding': 'gzip' }],
  ])('%s %s with %j is plain', async (method, path, headers) => {
    const answer = await request(await start(), method, path, headers)
    expect(answer.headers).not.toHaveProperty('content-encoding')
    expect(answer.headers.vary).toBe('Accept-Encoding')
  })

  test.each([304, 204])('%d has no body', async status => {
    const answer = await request(await start(), 'GET', `/${status}`, { 'Accept-Encoding': 'gzip' })
    expect(answer).toMatchObject({ status, body: '' })
    expect(answer.headers).not.toHaveProperty('content-encoding')
  })
})
