import express from 'express'
import { afterEach, expect, test } from 'vitest'
import { createRequestResponseClasses } from '../../../src/http/express-prototypes.js'
import { createHttpServer, type HttpServer } from '../../../src/http/server.js'

const SETTINGS = {
  host: '127.0.0.1',
  port: 0,
  maxHeaderBytes: 16_384,
  shutdownDrainMs: 0,
  shutdownTimeoutMs: 200,
}

let server: HttpServer | undefined
afterEach(() => server?.close())

test('Express finds nothing to change in the prototypes of requests and responses, and its own members on them', async () => {
  const app = express()
  const messages = createRequestResponseClasses(app)
  app.get('/', (req, res) => {
    res.set('X-App', String(req.app === app && res.app === app)).send(req.path)
  })
  const changed: boolean[] = []
  server = createHttpServer(
    (req, res) => {
      const before = [Object.getPrototypeOf(req), Object.getPrototypeOf(res)]
      app(req, res)
      changed.push(before[0] !== Object.getPrototypeOf(req), before[1] !== Object.getPrototypeOf(res))
    },
    SETTINGS,
    { messages },
  )
  const { port } = await server.listen()
  const answer = await fetch(`http://127.0.0.1:${port}/`)
  expect([answer.headers.get('x-app'), await answer.text(), changed]).toEqual(['true', '/', [false, false]])
})
