import { expect, test } from 'vitest'
import { cachedQueryOf } from '../../../src/graphql/execute/root-field.js'
import { PlanCache } from '../../../src/query/plan-cache.js'

const place = (key: string) => ({ responseName: key, name: 'properties', fieldNodes: [] })
const read = () => ({ count: false })
const plans = new PlanCache()

test('the same arguments at the same place have one query', () => {
  const at = place('a')
  const args = { filter: { City: { eq: 'Vail' } }, first: 5 }
  const known = cachedQueryOf(plans, at, args, read)
  expect(cachedQueryOf(plans, at, structuredClone(args), read)).toBe(known)
  expect(cachedQueryOf(plans, at, { ...args, after: 'x', before: 'y' }, read)).toBe(known)
})

test.each([{}, { first: 6 }, { first: 5, skip: 1 }, { last: 5 }, { first: null }])('%j are others', args => {
  const at = place('a')
  const known = cachedQueryOf(plans, at, { first: 5 }, read)
  expect(cachedQueryOf(plans, at, args, read)).not.toBe(known)
})

test('another place has another query', () => {
  expect(cachedQueryOf(plans, place('a'), { first: 5 }, read)).not.toBe(
    cachedQueryOf(plans, place('a'), { first: 5 }, read),
  )
})

test('a filter that cannot be read is not cached', () => {
  const at = place('a')
  const fault = () =>
    cachedQueryOf(plans, at, {}, () => {
      throw new Error('bad')
    })
  expect(fault).toThrow('bad')
  expect(fault).toThrow('bad')
  expect(cachedQueryOf(plans, at, {}, read)).toEqual({ count: false })
})
