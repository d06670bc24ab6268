import { expect, test } from 'vitest'
import { queryOf } from '../../../src/graphql/execute/root-field.js'

const place = (key: string) => ({ key, name: 'properties', nodes: [] })
const read = () => ({ count: false })

test('the same arguments at the same place have one query', () => {
  const at = place('a')
  const args = { filter: { City: { eq: 'Vail' } }, first: 5 }
  const known = queryOf(at, args, read)
  expect(queryOf(at, structuredClone(args), read)).toBe(known)
  expect(queryOf(at, { ...args, after: 'x', before: 'y' }, read)).toBe(known)
})

test.each([{}, { first: 6 }, { first: 5, skip: 1 }, { last: 5 }, { first: null }])('%j are others', args => {
  const at = place('a')
  const known = queryOf(at, { first: 5 }, read)
  expect(queryOf(at, args, read)).not.toBe(known)
})

test('another place has others', () => {
  expect(queryOf(place('a'), { first: 5 }, read)).not.toBe(queryOf(place('a'), { first: 5 }, read))
})

test('what cannot be read is not kept', () => {
  const at = place('a')
  const fault = () =>
    queryOf(at, {}, () => {
      throw new Error('bad')
    })
  expect(fault).toThrow('bad')
  expect(fault).toThrow('bad')
  expect(queryOf(at, {}, read)).toEqual({ count: false })
})
