import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { ProblemError } from '../../../src/errors/problem.js'
import { readJsonObject } from '../../../src/http/body.js'
import { readAnswer, request, sendRaw, serve } from './exchange.js'

/** A server that responds with the member names of the body, or with the problem. */
const reader = async (limit = 1000) => {
  const outcomes: unknown[] = []
  const { port } = await serve(async (req, res) => {
    try {
      outcomes.push(Object.keys(await readJsonObject(req, limit)))
    } catch (error) {
      outcomes.push(error instanceof ProblemError ? error.problems[0] : error)
    }
    res.end(JSON.stringify(outcomes.at(-1)))
  })
  const post = async (type: string | undefined, body: string | Buffer, headers = {}): Promise<unknown> => {
    const answer = await request(
      port,
      'POST',
      '/',
      { ...(type !== undefined && { 'Content-Type': type }), ...headers },
      body,
    )
    return JSON.parse(answer.body)
  }
  return { port, post, outcomes }
}

describe('readJsonObject', () => {
  test.each([
    'application/json',
    'application/json ',
    'Application/JSON',
    'application/json;charset=UTF-8;IEEE754Compatible=true',
    'application/json; charset="utf-8"',
    'application/json;odata=verbose',
    'application/json;odata.metadata=minimal;foo=bar ;',
  ])('%j is accepted', async type =>
    expect(await (await reader()).post(type, '{"City":"Vail"}')).toEqual(['City']),
  )

  test.each([
    undefined,
    '',
    'text/json',
    'application/xml',
    'application/jsonx',
    'application/json;charset=iso-8859-1',
    'application/x-www-form-urlencoded',
  ])('%j is 415', async type =>
    expect(await (await reader()).post(type, '{"City":"Vail"}')).toMatchObject({
      kind: 'UnsupportedMediaType',
    }),
  )

  test.each<[string, string | Buffer]>([
    ['nothing', ''],
    ['blanks', '  \n'],
    ['null', 'null'],
    ['a list', '[{}]'],
    ['a text', '"x"'],
    ['a number', '1'],
    ['half an object', '{"City":'],
    ['bytes that are no UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d])],
  ])('%s is malformed', async (_name, body) =>
    expect(await (await reader()).post('application/json', body)).toMatchObject({ kind: 'MalformedBody' }),
  )

  test('a byte order mark and text beyond ASCII are accepted', async () =>
    expect(await (await reader()).post('application/json', '\uFEFF{"Größe":1}')).toEqual(['GrÃ¶Ã\u009fe']))

  test('compressed bodies are 415, identity is none', async () => {
    const { post } = await reader()
    expect(
      await post('application/json', gzipSync('{"City":"Vail"}'), { 'Content-Encoding': 'gzip' }),
    ).toMatchObject({ kind: 'UnsupportedMediaType' })
    expect(await post('application/json', '{"City":"Vail"}', { 'Content-Encoding': 'identity' })).toEqual([
      'City',
    ])
  })

  test('the limit applies to Content-Length and to chunks, to the byte', async () => {
    const { port, post } = await reader(10)
    expect(await post('application/json', '{"a":1234}')).toEqual(['a'])
    expect(await post('application/json', '{"a":12345}')).toEqual({ kind: 'BodyTooLarge', limit: 10 })
    const chunks =
      'POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n'
    expect(
      readAnswer(await sendRaw(port, chunks, '5\r\n{"a":\r\n', '6\r\n12345}\r\n', '0\r\n\r\n')).body,
    ).toContain('BodyTooLarge')
  })

  test('a body far above the limit is refused, and the client can read the response', async () => {
    const { post } = await reader()
    expect(await post('application/json', 'x'.repeat(5_000_000))).toEqual({
      kind: 'BodyTooLarge',
      limit: 1000,
    })
  })

  test('reading ends when the client disconnects', async () => {
    const { port, outcomes } = await reader()
    const socket = connect(port, '127.0.0.1')
    socket.write(
      'POST / HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{"a"',
    )
    await pause(50)
    socket.destroy()
    await pause(100)
    expect(outcomes).toEqual([{ kind: 'BadRequest', reason: 'the body is incomplete' }])
  })
})
