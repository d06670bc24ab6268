import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { readAnswer, request, sendRaw, serve } from './exchange.js'

const expectError = (text: string, status: number, code: string) => {
  const { headers, body, ...answer } = readAnswer(text)
  expect(answer.status).toBe(status)
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'content-language': 'en',
    'odata-version': '4.01',
    connection: 'close',
  })
  expect(headers['content-length']).toBe(String(Buffer.byteLength(body)))
  expect(JSON.parse(body)).toEqual({
    error: expect.objectContaining({ code, message: expect.any(String), details: [] }),
  })
}

describe('requests that Node refuses get a response in JSON', () => {
  test.each<[string, string, number, string]>([
    ['no HTTP at all', 'hello\r\n\r\n', 400, '2001'],
    ['an unknown method', 'FETCH / HTTP/1.1\r\nHost: a\r\n\r\n', 400, '2001'],
    ['a blank in the URL', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n', 400, '2001'],
    ['a header without a colon', 'GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n', 400, '2001'],
    ['a control character in a header', 'GET / HTTP/1.1\r\nHost: a\r\nX-A: \u0000\r\n\r\n', 400, '2001'],
    [
      'two lengths',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx',
      400,
      '2001',
    ],
    [
      'length and chunks',
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      '2001',
    ],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400, '2021'],
    ['CONNECT', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n', 400, '2001'],
    [
      'a URL of 70,000 characters',
      `GET /odata/Property?$filter=${'x'.repeat(70_000)} HTTP/1.1\r\nHost: a\r\n\r\n`,
      431,
      '4031',
    ],
    [
      'headers of 70,000 characters',
      `GET / HTTP/1.1\r\nHost: a\r\nX-A: ${'x'.repeat(70_000)}\r\n\r\n`,
      431,
      '4031',
    ],
  ])('%s', async (_name, bytes, status, code) => {
    const { port } = await serve((_req, res) => res.end('served'))
    expectError(await sendRaw(port, bytes), status, code)
    expect((await request(port, 'GET', '/')).body).toContain('served')
  })

  test('a URL of 60,000 characters is complete', async () => {
    const { port } = await serve((req, res) => res.end(String(req.url?.length)))
    expect((await request(port, 'GET', `/${'x'.repeat(60_000)}`)).body).toContain('60001')
  })

  test('an unknown expectation is ignored, HTTP/1.0 needs no Host', async () => {
    const { port } = await serve((_req, res) => res.end('served'))
    expect((await request(port, 'GET', '/', { Expect: 'wonders' })).status).toBe(200)
    expect(readAnswer(await sendRaw(port, 'GET / HTTP/1.0\r\n\r\n')).status).toBe(200)
  })

  test.each([
    ['with a length', 'Content-Length: 4', 'body'],
    ['in chunks', 'Transfer-Encoding: chunked', '4\r\nbody\r\n0\r\n\r\n'],
  ])('an offer of HTTP/2 is left aside, the request %s is served as it is', async (_name, framing, body) => {
    const { port } = await serve((req, res) => {
      const chunks: Buffer[] = []
      req
        .on('data', chunk => chunks.push(chunk))
        .on('end', () => res.end(`${req.method} ${req.url} ${Buffer.concat(chunks)} ${req.headers['x-a']}`))
    })
    const offer =
      'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAAA\r\n'
    const plain = 'GET /second HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n'
    const text = await sendRaw(
      port,
      `POST /first HTTP/1.1\r\nHost: a\r\nX-A: b\r\n${offer}${framing}\r\n\r\n${body}`,
      plain,
    )
    expect(text).toContain('POST /first body b')
    expect(text).toContain('GET /second')
    const last = await sendRaw(
      port,
      `GET /third HTTP/1.1\r\nHost: a\r\nConnection: close, Upgrade\r\nUpgrade: h2c\r\n\r\n`,
    )
    expect(readAnswer(last)).toMatchObject({ status: 200, headers: { connection: 'close' } })
  })

  test('an error after half a response closes the connection and is not added to the response', async () => {
    const { port } = await serve((req, res) => {
      res.writeHead(200, { 'Content-Length': '100' }).write('half')
      req.resume()
    })
    const text = await sendRaw(
      port,
      'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n',
      'nonsense\r\n',
    )
    expect(text).not.toContain('error')
  })

  test.each(['nonsense\r\n\r\n', 'CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n'])(
    'after %j a client that never closes is disconnected, and one that resets affects no other',
    async bytes => {
      const { port } = await serve((_req, res) => res.end('served'))
      const halfOpen = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).resume()
      const ended = new Promise(resolve => halfOpen.on('close', resolve).on('error', resolve))
      halfOpen.write(bytes)
      const rude = connect(port, '127.0.0.1')
      rude.on('error', () => {}).write(bytes, () => rude.resetAndDestroy())
      await pause(1300)
      // The first write goes to a closed connection, and the second one fails.
      halfOpen.write('more')
      await pause(50)
      halfOpen.write('more')
      await ended
      expect((await request(port, 'GET', '/')).body).toBe('served')
    },
  )

  test('listening on a port in use rejects', async () => {
    const { port } = await serve((_req, res) => res.end())
    const { createHttpServer } = await import('../../../src/http/server.js')
    await expect(
      createHttpServer(() => {}, {
        host: '127.0.0.1',
        port,
        maxHeaderBytes: 16_384,
        shutdownDrainMs: 0,
        shutdownTimeoutMs: 1,
      }).listen(),
    ).rejects.toThrow('EADDRINUSE')
  })
})

test('a response and the requests that wait for it are released with their connection', async () => {
  const answers: WeakRef<object>[] = []
  const { port } = await serve((_req, res) => void answers.push(new WeakRef(res)))
  const socket = connect(port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(3)))
  await expect.poll(() => answers.length).toBe(1)
  socket.destroy()
  setFlagsFromString('--expose_gc')
  const collect: () => void = runInNewContext('gc')
  const held = () => {
    collect()
    return answers.filter(answer => answer.deref() !== undefined).length
  }
  await expect.poll(held).toBe(0)
})

describe('close', () => {
  test('running requests finish, idle connections end, new ones are refused', async () => {
    let finished = 0
    let finish: (() => void) | undefined
    const { server, port } = await serve(
      (req, res) => {
        if (req.url === '/slow') finish = () => res.end('done')
        else res.end('done', () => finished++)
      },
      { shutdownTimeoutMs: 600_000 },
    )
    const head = ' HTTP/1.1\r\nHost: a\r\n\r\n'
    const idle = sendRaw(port, `GET /${head}`)
    const running = sendRaw(port, `GET /slow${head}`)
    await expect.poll(() => finished === 1 && finish !== undefined).toBe(true)
    const closed = server.close()
    expect(server.isDraining()).toBe(true)
    finish?.()
    await closed
    expect(readAnswer(await running)).toMatchObject({ status: 200, headers: { connection: 'close' } })
    expect(await idle).toContain('done')
    await expect(sendRaw(port, `GET /${head}`)).rejects.toThrow('ECONNREFUSED')
  })

  test('during the drain time new and open connections are served, then the port is closed', async () => {
    const { server, port } = await serve((_req, res) => res.end('done'), {
      shutdownDrainMs: 400,
      shutdownTimeoutMs: 5000,
    })
    const kept = sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    const closed = server.close()
    expect(server.isDraining()).toBe(true)
    expect(readAnswer(await sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'))).toMatchObject({
      status: 200,
      headers: { connection: 'close' },
    })
    expect(await kept).toContain('done')
    await closed
    await expect(sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')).rejects.toThrow('ECONNREFUSED')
  })

  test('a response that began with keep-alive does not delay the shutdown', async () => {
    let finish: (() => void) | undefined
    const { server, port } = await serve(
      (_req, res) => {
        res.writeHead(200, { 'Content-Length': '8' }).write('half')
        finish = () => res.end('half')
      },
      { shutdownTimeoutMs: 600_000 },
    )
    const running = sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n')
    await expect.poll(() => finish).toBeDefined()
    const closed = server.close()
    finish?.()
    await closed
    expect(readAnswer(await running).body).toBe('halfhalf')
  })

  test('requests that do not finish in time are aborted', async () => {
    let requests = 0
    const { server, port } = await serve(() => void requests++, { shutdownTimeoutMs: 100 })
    const hanging = sendRaw(port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n').catch(() => 'reset')
    await expect.poll(() => requests).toBe(1)
    await server.close()
    expect(['', 'reset']).toContain(await hanging)
  })
})

describe('pipelined requests', () => {
  const get = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nHost: a\r\n${more}\r\n`

  test('are served one after the other, and answered in their order', async () => {
    const order: string[] = []
    const { port } = await serve((req, res) => {
      order.push(`begin ${req.url}`)
      setTimeout(() => {
        order.push(`end ${req.url}`)
        res.end(`answer of ${req.url}`)
      }, 5)
    })
    const text = await sendRaw(
      port,
      ['/1', '/2', '/3', '/4'].map(path => get(path)).join('') + get('/5', 'Connection: close\r\n'),
    )
    expect(text.match(/answer of \/\d/g)).toEqual(
      ['/1', '/2', '/3', '/4', '/5'].map(path => `answer of ${path}`),
    )
    expect(order).toEqual(['/1', '/2', '/3', '/4', '/5'].flatMap(path => [`begin ${path}`, `end ${path}`]))
  })

  test('with bodies too', async () => {
    const { port } = await serve((req, res) => {
      let body = ''
      req.setEncoding('utf8').on('data', (part: string) => {
        body += part
      })
      req.on('end', () => setTimeout(() => res.end(`<${body}>`), 5))
    })
    const post = (body: string, more = '') =>
      `POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${body.length}\r\n${more}\r\n${body}`
    const large = 'y'.repeat(200_000)
    expect(
      (await sendRaw(port, post('one') + post(large) + post('three', 'Connection: close\r\n'))).match(
        /<.*>/g,
      ),
    ).toEqual(['<one>', `<${large}>`, '<three>'])
  })

  test('wait, unserved, after a response that the client does not read', async () => {
    let begun = 0
    const { port } = await serve((_req, res) => {
      begun += 1
      res.end('x'.repeat(20_000_000))
    })
    const socket = connect(port, '127.0.0.1').pause()
    socket.on('error', () => undefined)
    socket.write(get('/').repeat(200))
    await expect.poll(() => begun).toBe(1)
    await pause(100)
    expect(begun).toBe(1)
    socket.destroy()
  })

  test('end the connection if there are too many', async () => {
    const { port } = await serve(() => undefined)
    expect(await sendRaw(port, get('/').repeat(1100))).toBe('')
  })

  test('are not served when the connection has ended', async () => {
    let begun = 0
    const { port } = await serve((_req, res) => {
      begun += 1
      res.once('close', () => undefined)
    })
    const socket = connect(port, '127.0.0.1')
    socket.write(get('/').repeat(5))
    await expect.poll(() => begun).toBe(1)
    socket.destroy()
    await pause(50)
    expect(begun).toBe(1)
  })
})
