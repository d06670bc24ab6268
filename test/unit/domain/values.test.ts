import { describe, expect, it } from 'vitest'
import { readDecimal, renderDecimal } from '../../../src/domain/decimal.js'
import { readFieldValue } from '../../../src/domain/values.js'
import { parseJson } from '../../../src/http/parse-json.js'
import { getEntity, getScalar, type Scalar } from '../../../src/model/model.js'

const PROPERTY = getEntity('Property')

/** Returns a value as JSON text, or the code of its fault. */
function read(field: string | Scalar, json: string): unknown {
  const outcome = readFieldValue(
    typeof field === 'string' ? getScalar(PROPERTY, field) : field,
    parseJson(json),
  )
  return 'problem' in outcome ? outcome.problem.kind : outcome.value
}

describe('decimals have the written digits', () => {
  it.each([
    ['83261.85', '83261.85'],
    ['0.1', '0.1'],
    ['1000000', '1000000'],
    ['1e2', '100'],
    ['1E-2', '0.01'],
    ['-0', '0'],
    ['000120.500', '120.5'],
    ['+5', '5'],
    ['0e999999999999', '0'],
    ['12345678901234567890.123456789', '12345678901234567890.123456789'],
    ['12.5e3', '12500'],
    ['-3.75e-3', '-0.00375'],
  ])('%s is %s', (text, expected) => {
    const number = readDecimal(text)
    expect(number && renderDecimal(number)).toBe(expected)
  })

  it.each(['', '.5', '5.', '1e', 'NaN', 'Infinity', '0x10', '1,000', ' 1', '1 ', '--1', '1_000'])(
    '%j is none',
    text => expect(readDecimal(text)).toBeUndefined(),
  )

  it('reads a long text of zeros quickly', () => {
    const started = performance.now()
    expect(readDecimal(`1${'0'.repeat(500_000)}1`)?.digits.length).toBe(500_002)
    expect(performance.now() - started).toBeLessThan(5000)
  })
})

describe('values of fields', () => {
  it.each<[string, string, unknown]>([
    ['ListPrice', '450000.50', '450000.5'],
    ['ListPrice', '"450000.50"', '450000.5'],
    ['ListPrice', '999999999999.99', '999999999999.99'],
    ['ListPrice', '1000000000000', 'OutOfRange'],
    ['ListPrice', '0.001', 'OutOfRange'],
    ['ListPrice', '1e999999999', 'OutOfRange'],
    ['ListPrice', '-1', 'OutOfRange'],
    ['ListPrice', '0', '0'],
    ['ListPrice', '"cheap"', 'BadValue'],
    ['ListPrice', '""', 'BadValue'],
    ['ListPrice', 'true', 'BadValue'],
    ['ListPrice', '{}', 'BadValue'],
    ['Latitude', '-90', '-90'],
    ['Latitude', '90.00000001', 'OutOfRange'],
    ['Longitude', '-179.12345678', '-179.12345678'],
    ['Longitude', '-180.1', 'OutOfRange'],
    ['BedroomsTotal', '3', 3],
    ['BedroomsTotal', '3.0', 3],
    ['BedroomsTotal', '1e2', 100],
    ['BedroomsTotal', '2147483647', 2147483647],
    ['BedroomsTotal', '2147483648', 'OutOfRange'],
    ['BedroomsTotal', '1e400', 'OutOfRange'],
    ['BedroomsTotal', '-1', 'OutOfRange'],
    ['BedroomsTotal', '3.5', 'BadValue'],
    ['BedroomsTotal', '"3"', 'BadValue'],
    ['GarageYN', 'true', true],
    ['GarageYN', '"true"', 'BadValue'],
    ['GarageYN', '1', 'BadValue'],
    ['ExpirationDate', '"2028-02-29"', '2028-02-29'],
    ['ExpirationDate', '"2027-02-29"', 'BadValue'],
    ['ExpirationDate', '"0000-01-01"', 'BadValue'],
    ['ExpirationDate', '"2027-02-01T00:00:00Z"', 'BadValue'],
    ['City', '"Zürich 🏠"', 'Zürich 🏠'],
    ['City', '5', 'BadValue'],
    ['City', '"a\\u0000b"', 'BadValue'],
    ['City', '"\\ud83c"', 'BadValue'],
    ['StateOrProvince', '"🏠🏠"', '🏠🏠'],
    ['StateOrProvince', '"🏠🏠🏠"', 'OutOfRange'],
    ['Roof', '["Tile","Tile","Other"]', ['Tile', 'Tile', 'Other']],
    ['Roof', '[]', []],
    ['Roof', '"Tile"', 'BadValue'],
    ['Roof', '["Tile",null]', 'BadValue'],
    ['Roof', '["Tile",5]', 'BadValue'],
  ])('%s %s', (field, json, expected) => expect(read(field, json)).toEqual(expected))

  const timestamp: Scalar = getScalar(PROPERTY, 'ModificationTimestamp')
  it.each([
    ['"2024-05-01T12:00:00.1+02:00"', '2024-05-01T10:00:00.100Z'],
    ['"2024-05-01T12:00Z"', '2024-05-01T12:00:00.000Z'],
    // Digits beyond the third are truncated, not rounded.
    ['"2024-05-01T12:00:59.9996Z"', '2024-05-01T12:00:59.999Z'],
    ['"2024-05-01T12:00:00.0009999999Z"', '2024-05-01T12:00:00.000Z'],
    ['"2024-05-01T12:00:00.123456789012+02:00"', '2024-05-01T10:00:00.123Z'],
    ['"1969-12-31T23:59:59.999999999Z"', '1969-12-31T23:59:59.999Z'],
    ['"2024-05-01T12:00:00"', 'BadValue'],
    ['"2024-02-30T12:00:00Z"', 'BadValue'],
    ['"2024-05-01"', 'BadValue'],
    // Years are in UTC.
    ['"9999-12-31T23:59:59.9999Z"', '9999-12-31T23:59:59.999Z'],
    ['"9999-12-31T23:59:59+00:01"', '9999-12-31T23:58:59.000Z'],
    ['"9999-12-31T23:59:59-05:00"', 'BadValue'],
    ['"0001-01-01T00:00:00Z"', '0001-01-01T00:00:00.000Z'],
    ['"0001-01-01T00:00:00-05:00"', '0001-01-01T05:00:00.000Z'],
    ['"0001-01-01T00:00:00+05:00"', 'BadValue'],
    ['"0000-12-31T23:59:59-05:00"', 'BadValue'],
  ])('timestamp %s', (json, expected) => expect(read(timestamp, json)).toBe(expected))

  it('64-bit numbers may be texts', () => {
    const sequence = getScalar(getEntity('EntityEvent'), 'EntityEventSequence')
    expect(read(sequence, '"9223372036854775807"')).toBe('9223372036854775807')
    expect(read(sequence, '9223372036854775808')).toBe('OutOfRange')
  })
})
