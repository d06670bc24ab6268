import { describe, expect, test } from 'vitest'
import { readBoundary, readMimeMessage, readMimePart, splitMultipart } from '../../../src/odata/batch/mime.js'

describe('a boundary', () => {
  // biome-ignore format: table
  test.each([
    ['multipart/mixed; boundary=b', 'b'],
    ['multipart/mixed;boundary="batch 1"', 'batch 1'],
    ['multipart/mixed; charset=UTF-8;boundary=batch_2eb157fa', 'batch_2eb157fa'],
    ['Multipart/Mixed; Boundary = a=b ; charset=utf-8', 'a=b'],
  ])('of %s', (contentType, boundary) => {
    expect(readBoundary(contentType)).toBe(boundary)
  })

  test.each([
    [undefined],
    ['multipart/mixed'],
    ['multipart/mixed; boundary='],
    ['multipart/mixed; boundary=""'],
    [`multipart/mixed; boundary=${'x'.repeat(71)}`],
  ])('is missing in %s', contentType => {
    expect(() => readBoundary(contentType)).toThrow('BadRequest')
  })
})

describe('parts', () => {
  // biome-ignore format: table
  test.each([
    ['CRLF',                    '--b\r\nA: 1\r\n\r\nx\r\n--b\r\n\r\ny\r\n--b--\r\n',      ['\r\nA: 1\r\n\r\nx', '\r\n\r\ny']],
    ['LF',                      '--b\nA: 1\n\nx\n--b--',                                  ['\nA: 1\n\nx']],
    ['preamble and epilogue',   'hello\n--b\nx\n--b--\nGroup ID: $auto\n--b\nz',          ['\nx']],
    ['blanks after delimiters', '--b \t\r\nx\r\n--b-- \r\n',                              ['\r\nx']],
    ['none',                    '--b--',                                                  []],
    ['an empty one',            '--b\r\n\r\n--b--',                                       []],
    ['a longer boundary inside', '--b\n--bc\nx\n--b--',                                   ['\n--bc\nx']],
    ['the boundary in a line',  '--b\nx --b\n--b--',                                      ['\nx --b']],
  ])('%s', (_, content, parts) => {
    expect(splitMultipart(content, 'b')).toEqual(parts)
  })

  test.each([[''], ['--c--'], ['--b\r\nx'], ['--b\r\nx\r\n--b\r\ny']])('are refused in %j', content => {
    expect(() => splitMultipart(content, 'b')).toThrow('BadRequest')
  })

  test('with characters that have a meaning in a pattern', () => {
    expect(splitMultipart('--a.+?(b)\nx\n--a.+?(b)--', 'a.+?(b)')).toEqual(['\nx'])
  })
})

describe('a message', () => {
  // biome-ignore format: table
  test.each([
    ['A: 1\r\nb:2 \r\n\r\nbody\r\n\r\nmore',  { a: '1', b: '2' },  'body\r\n\r\nmore'],
    ['A:1\n\nbody',                           { a: '1' },          'body'],
    ['A: 1',                                  { a: '1' },          ''],
    ['A: 1\r\n \t\r\nbody',                   { a: '1' },          'body'],
    ['\r\nbody',                              {},                  'body'],
    ['A: 1,\r\n 2\r\na: 3\r\n\r\n',           { a: '1, 2, 3' },    ''],
  ])('%j', (text, headers, content) => {
    expect(readMimeMessage(text)).toEqual({ headers, content })
  })

  test('of a part begins after its delimiter', () => {
    expect(readMimePart('\r\nA: 1\r\n\r\nx')).toEqual({ headers: { a: '1' }, content: 'x' })
    expect(readMimePart('\r\n\r\nx')).toEqual({ headers: {}, content: 'x' })
  })

  test.each([['A\r\n\r\n'], ['A B: 1'], [': 1'], ['A: \0']])('is refused in %j', text => {
    expect(() => readMimeMessage(text)).toThrow('BadRequest')
  })
})
