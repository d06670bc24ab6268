import { expect, test } from 'vitest'
import { cachedQueryOf } from '../../../src/graphql/execute/root-field.js'

const place = (key: string) => ({ responseName: key, name: 'properties', fieldNodes: [] })
const read = () => ({ count: false })

test('the same arguments at the same place have one query', () => {
  const at = place('a')
  const args = { filter: { City: { eq: 'Vail' } }, first: 5 }
  const known = cachedQueryOf(at, args, read)
  expect(cachedQueryOf(at, structuredClone(args), read)).toBe(known)
  expect(cachedQueryOf(at, { ...args, after: 'x', before: 'y' }, read)).toBe(known)
})

test.each([{}, { first: 6 }, { first: 5, skip: 1 }, { last: 5 }, { first: null }])('%j are others', args => {
  const at = place('a')
  const known = cachedQueryOf(at, { first: 5 }, read)
  expect(cachedQueryOf(at, args, read)).not.toBe(known)
})

test('another place has others', () => {
  expect(cachedQueryOf(place('a'), { first: 5 }, read)).not.toBe(
    cachedQueryOf(place('a'), { first: 5 }, read),
  )
})

test('what cannot be read is not kept', () => {
  const at = place('a')
  const fault = () =>
    cachedQueryOf(at, {}, () => {
      throw new Error('bad')
    })
  expect(fault).toThrow('bad')
  expect(fault).toThrow('bad')
  expect(cachedQueryOf(at, {}, read)).toEqual({ count: false })
})
