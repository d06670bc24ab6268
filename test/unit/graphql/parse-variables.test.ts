import { expect, test } from 'vitest'
import { JsonNumber } from '../../../src/domain/json.js'
import { parseVariables, parseVariablesBytes } from '../../../src/graphql/transport/parse-variables.js'

const LEVELS = 3

// biome-ignore format: table
test.each<[text: string, value: unknown]>([
  // JSON as JavaScript writes it.
  ['{"query":"{a}","variables":{"n":[1,-2.5,true,null,"é\\n"]}}', { query: '{a}', variables: { n: [1, -2.5, true, null, 'é\n'] } }],
  ['null', null],
  ['"text"', 'text'],
  ['1e+21', 1e21],
  // JSON as other languages write it.
  [' { "a" : [ 1 , 2 ] } ', { a: [1, 2] }],
  ['"\\u00e9\\/"', 'é/'],
  ['{"2":"b","1":"a"}', { 1: 'a', 2: 'b' }],
  ['[1.50,1e2,0.10]', [1.5, 100, 0.1]],
  // More digits than a double has.
  ['{"n":12345678901234567.89}', { n: new JsonNumber('12345678901234567.89') }],
  ['[9007199254740993,1]', [new JsonNumber('9007199254740993'), 1]],
])('%s', (text, value) => {
  expect(parseVariables(text, LEVELS)).toStrictEqual(value)
  expect(parseVariablesBytes(Buffer.from(text), LEVELS)).toStrictEqual(value)
})

test('a name with a meaning in JavaScript is an ordinary member', () => {
  for (const text of ['{"__proto__":{"a":1}}', '{ "__proto__" : {"a":1} }'])
    expect(Object.entries(parseVariables(text, LEVELS) as object)).toEqual([['__proto__', { a: 1 }]])
})

test.each([
  '', '{', '{"a":1,"a":1}', '{"a":1,"a":2}', '{"a":{"b":1,"b":1}}', '[[[[]]]]', '{"a":{"b":{"c":{}}}}', '[[[[1]]]]', '\ufeff[]', 'undefined', '01', '"\u0001"',
])('%j is refused', text => {
  expect(() => parseVariables(text, LEVELS)).toThrow('MalformedBody')
}) // biome-ignore format: one table

test('the maximum number of levels', () => {
  expect(parseVariables('[[[1]]]', LEVELS)).toEqual([[[1]]])
})

test('bytes that are not UTF-8 are refused, and a byte order mark is ignored', () => {
  expect(() => parseVariablesBytes(Buffer.from([0x22, 0xff, 0x22]), LEVELS)).toThrow('MalformedBody')
  expect(parseVariablesBytes(Buffer.from('\ufeff[1]'), LEVELS)).toEqual([1])
})

test('nesting without end needs no stack', () => {
  expect(() => parseVariables('['.repeat(1_000_000), LEVELS)).toThrow('MalformedBody')
  expect(() => parseVariables(`${'['.repeat(200_000)}${']'.repeat(200_000)}`, LEVELS)).toThrow(
    'MalformedBody',
  )
})
