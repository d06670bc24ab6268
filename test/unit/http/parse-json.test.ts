import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { JsonNumber } from '../../../src/domain/json.js'
import { ProblemError } from '../../../src/errors/problem.js'
import { parseJson } from '../../../src/http/parse-json.js'

const refusal = (text: string): unknown => {
  try {
    return parseJson(text)
  } catch (error) {
    return error instanceof ProblemError ? error.problems[0] : error
  }
}

/** Returns the result of JSON.parse for comparison. */
const plain = (value: unknown): unknown => {
  if (value instanceof JsonNumber) return Number(value.text)
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  const copy: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value))
    Object.defineProperty(copy, name, {
      value: plain(member),
      enumerable: true,
      writable: true,
      configurable: true,
    })
  return copy
}

describe('parseJson', () => {
  test('agrees with JSON.parse on every JSON text', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), fc.constantFrom(undefined, 2), (text, indent) => {
        const written = JSON.stringify(JSON.parse(text), null, indent)
        expect(plain(parseJson(written))).toEqual(JSON.parse(written))
      }),
    )
  })

  test('refuses what JSON.parse refuses', () => {
    const near = fc.array(
      fc.constantFrom(
        '{',
        '}',
        '[',
        ']',
        ':',
        ',',
        '"a"',
        '"',
        '\\',
        '1',
        '-',
        '.5',
        '01',
        'true',
        'nul',
        ' ',
        '\n',
        '\u0001',
      ),
      {
        maxLength: 8,
      },
    )
    fc.assert(
      fc.property(near, parts => {
        const text = parts.join('')
        let accepted = true
        try {
          JSON.parse(text)
        } catch {
          accepted = false
        }
        const found = refusal(text)
        const isRefused = typeof found === 'object' && found !== null && 'kind' in found
        // Only this parser refuses a duplicate name.
        if (isRefused && JSON.stringify(found).includes('twice')) return
        expect(isRefused).toBe(!accepted)
      }),
      { numRuns: 2000 },
    )
  })

  test.each(['12345678901234567.89', '0.10', '1e2', '-0', '1E+400', '83261.85'])(
    'the number %s keeps its text',
    text => {
      expect(parseJson(`{"ListPrice": ${text}}`)).toMatchObject({ ListPrice: new JsonNumber(text) })
    },
  )

  test('an object with the form of a number of the parser stays an object', () => {
    expect(parseJson('{"text":"1"}')).not.toBeInstanceOf(JsonNumber)
  })

  test('member names such as __proto__ have no effect', () => {
    const value = parseJson('{"__proto__": {"admin": true}, "constructor": 1, "toString": 2}')
    expect(Object.keys(Object(value))).toEqual(['__proto__', 'constructor', 'toString'])
    expect(Object.getPrototypeOf(value)).toBeNull()
    expect(Object.hasOwn(Object.prototype, 'admin')).toBe(false)
  })

  test.each([
    ['{"a":1,"a":1}', 'a member name is specified more than once'],
    ['{"a":1,"\\u0061":2}', 'a member name is specified more than once'],
    ['{"a":1} x', 'unexpected text after the value'],
    ['{"a":1}}', 'unexpected text after the value'],
    ['{"a" 1}', "expected ':'"],
    ['{"a":1,}', 'expected a string'],
    ['[1,]', 'expected a value'],
    ['{"a":"\u0000"}', 'control character'],
    ['{"a":"\\x"}', 'invalid escape'],
    ['{"a":NaN}', 'expected a value'],
  ])('%j is refused: %s', (text, reason) => {
    expect(refusal(text)).toEqual({ kind: 'MalformedBody', reason: expect.stringContaining(reason) })
  })

  test('the deepest and the longest bodies are refused or read quickly', () => {
    const startedAt = performance.now()
    for (const text of [
      '['.repeat(1 << 20),
      '{"a":'.repeat(200_000),
      '"'.repeat((1 << 20) + 1),
      `"${'\\'.repeat(1 << 20)}`,
      '1'.repeat(1 << 20),
    ])
      refusal(text)
    parseJson(`{"a":"${'x'.repeat(1 << 20)}"}`)
    refusal(`[${'1.5,'.repeat(1 << 18)}0]`)
    expect(performance.now() - startedAt).toBeLessThan(20_000)
  })
})
