import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestApp, type TestApp } from '../support/app.js'

let app: TestApp
beforeAll(async () => {
  app = await startTestApp({ fixture: 'fixture.json' })
}, 60_000)
afterAll(() => app?.close())

/** Returns the value of `$compute` and its integer operands, for each record that has them. */
async function compute(
  expression: string,
): Promise<readonly Readonly<Record<'X' | 'TaxYear' | 'DaysOnMarket', number>>[]> {
  const target = `/odata/Property?$compute=${expression} as X&$select=X,TaxYear,DaysOnMarket&$filter=TaxYear gt 0 and DaysOnMarket gt 0`
  const { status, json } = await app.send(target)
  expect(status).toBe(200)
  const { value } = json as { value: [] } // an envelope, since the status is 200
  expect(value.length).toBeGreaterThan(1)
  return value
}

// The functions accept decimals, including integers. PostgreSQL has other functions for integers, with other
// results.
describe('integers where the language takes decimals', () => {
  test('divby of two integer fields has a fraction', async () => {
    const records = await compute('DaysOnMarket divby TaxYear')
    for (const { X, DaysOnMarket, TaxYear } of records) expect(X).toBeCloseTo(DaysOnMarket / TaxYear, 12)
    expect(records.some(({ X }) => !Number.isInteger(X))).toBe(true)
  })

  test.each(['round', 'floor', 'ceiling'])('%s of an integer field can be shown, it was 500', async name => {
    for (const { X, DaysOnMarket } of await compute(`${name}(DaysOnMarket)`)) expect(X).toBe(DaysOnMarket)
  })

  test('and of a count', async () => {
    for (const { X } of await compute('round(Media/$count)')) expect(Number.isInteger(X)).toBe(true)
  })
})
