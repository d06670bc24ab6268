import { GraphQLError, parseValue } from 'graphql'
import { expect, test } from 'vitest'
import { JsonNumber, type JsonValue } from '../../../src/domain/json.js'
import type { InputValues } from '../../../src/graphql/execute/collect-fields.js'
import { readRecordInput } from '../../../src/graphql/execute/mutations.js'
import { readOrderBy } from '../../../src/graphql/execute/query-arguments.js'
import { fitsDouble, SCALARS } from '../../../src/graphql/schema/scalars.js'
import { getEntity } from '../../../src/model/model.js'
import { coerceArguments } from '../../support/oracle/filter-arguments.js'

const PROPERTY = getEntity('Property')
const fromLiteral = (scalar: string, text: string): unknown =>
  SCALARS[scalar]?.parseLiteral(parseValue(text), {})
const fromVariable = (scalar: string, json: string): unknown => SCALARS[scalar]?.parseValue(JSON.parse(json))

const BOTH = [fromLiteral, fromVariable]

// Written the same in a document and in JSON.
test.each([
  ['Decimal', '123456.78', '123456.78'],
  ['Decimal', '2400000000', '2400000000'],
  ['Decimal', '-0.5', '-0.5'],
  ['Decimal', '"12345678901234567.890"', '12345678901234567.890'],
  ['Decimal', '"1e2"', '1e2'],
  ['Long', '5', '5'],
  ['Long', '9007199254740991', '9007199254740991'],
  ['Long', '"9223372036854775807"', '9223372036854775807'],
  ['DateTime', '"2024-05-01T02:00:00+02:00"', '2024-05-01T00:00:00Z'],
  ['DateTime', '"2024-05-01T00:00:00.000Z"', '2024-05-01T00:00:00Z'],
  ['Date', '"2024-02-29"', '2024-02-29'],
  ['TimeOfDay', '"08:30"', '08:30:00'],
  ['Duration', '"P1DT2H3M4.5S"', '93784.5'],
])('%s reads %s', (scalar, text, value) => {
  for (const read of BOTH) expect(read(scalar, text)).toBe(value)
})

test.each([
  ['Decimal', '"abc"', "'abc' is not a valid value of type Decimal."],
  ['Decimal', '""', "'' is not a valid value of type Decimal."],
  ['Decimal', '"INF"', "'INF' is not a valid value of type Decimal."],
  ['Decimal', 'true', "'true' is not a valid value of type Decimal."],
  ['Decimal', '[1]', "'[1]' is not a valid value of type Decimal."],
  ['Long', '1.5', "'1.5' is not a valid value of type Long."],
  ['Long', '"9223372036854775808"', "'9223372036854775808' is not a valid value of type Long."],
  ['DateTime', '"2024-05-01T00:00:00"', 'A timestamp must end with Z or an offset like +02:00.'],
  ['DateTime', '"2023-02-29T00:00:00Z"', 'This date or time does not exist.'],
  ['DateTime', '"2024-05-01"', 'A timestamp must end with Z or an offset like +02:00.'],
  ['DateTime', '5', "'5' is not a valid value of type DateTime."],
  ['Date', '"2024-02-30"', 'This date or time does not exist.'],
  ['Date', '"12024-02-28"', 'The year must be between 0001 and 9999.'],
  ['TimeOfDay', '"24:01"', 'This date or time does not exist.'],
  ['Duration', '"P1Y"', 'Write it like P1DT2H30M.'],
  ['GeoPoint', '"POINT(1 2)"', 'is not a valid value of type GeoPoint.'],
  ['GeoPoint', '[181, 2]', "'[181,2]' is not a valid value of type GeoPoint."],
])('%s refuses %s in words', (scalar, text, words) => {
  for (const read of BOTH) {
    expect(() => read(scalar, text)).toThrow(words)
    expect(() => read(scalar, text)).toThrow(GraphQLError)
  }
})

test.each(['9007199254740993', '12345678901234567.89', '1234567890.1234567'])(
  'a number of JSON that a double may have changed is refused: %s',
  json => {
    expect(() => fromVariable('Decimal', json)).toThrow('A number with this many digits must be a string.')
    expect(fromLiteral('Decimal', json)).toBe(json)
  },
)

const POINT = { type: 'Point', coordinates: [new JsonNumber('-104.990250'), new JsonNumber('39.7')] }

test('a point keeps its digits, also with variables in it', () => {
  expect(fromLiteral('GeoPoint', '{ type: "Point", coordinates: [-104.990250, 39.7] }')).toEqual(POINT)
  expect(
    fromVariable('GeoPoint', '{ "type": "Point", "coordinates": [-104.123456789012345, 39.7] }'),
  ).toMatchObject({
    coordinates: [{ text: '-104.12345678901235' }, {}],
  })
  const text =
    'query($x: Float!) { properties(filter: { GeoLocation: { geoDistance: { to: { type: "Point", coordinates: [$x, 39.7] }, is: { lt: 1 } } } }) { totalCount } }'
  expect(coerceArguments(text, { x: -104.5 })).toMatchObject({
    filter: { GeoLocation: { geoDistance: { to: { coordinates: [{ text: '-104.5' }, { text: '39.7' }] } } } },
  })
})

test.each([
  ['one coordinate', '{ type: "Point", coordinates: [0] }'],
  ['no coordinates', '{ type: "Point" }'],
  ['texts that are no numbers', '{ type: "Point", coordinates: ["0 1", 2] }'],
  ['another coordinate system', '{ type: "Point", coordinates: [0, 1], crs: { type: "name" } }'],
  ['another shape', '{ type: "LineString", coordinates: [[0, 1], [1, 2]] }'],
])('no point: %s', (_, text) => {
  expect(() => fromLiteral('GeoPoint', text)).toThrow('is not a valid value of type GeoPoint')
})

test.each([
  ['no ring', '{ type: "Polygon", coordinates: [] }'],
  ['a ring that is no list', '{ type: "Polygon", coordinates: [1] }'],
  ['a position that is no list', '{ type: "Polygon", coordinates: [[0, 1]] }'],
])('no polygon: %s', (_, text) => {
  expect(() => fromLiteral('GeoPolygon', text)).toThrow('is not a valid value of type GeoPolygon')
})

test.each([
  ['1.5', true],
  ['123456789012345', true],
  ['1e-300', true],
  ['0e-999', true],
  ['0.000', true],
  ['1234567890.1234567', true],
  ['1234567890.12345678', false],
  ['1e-400', false],
  ['1e-324', false],
  ['1e400', false],
  ['1.23456789e-320', false],
])('a double holds %s exactly: %s', (text, isExact) => {
  expect(fitsDouble(text)).toBe(isExact)
})

test('an input becomes a body with every digit', () => {
  const text = `mutation($price: Decimal) { createDraft(input: {
    City: "Vail", ListPrice: $price, BedroomsTotal: 3, NewConstructionYN: null, Appliances: ["Range"], ExpirationDate: "2024-05-01"
    GeoLocation: { type: "Point", coordinates: [-104.990250, 39.7] }
  }) { id } }`
  const body = (price: unknown): JsonValue =>
    readRecordInput(getEntity('Property'), coerceArguments(text, { price })['input'] as InputValues) // by its type
  const expected = {
    City: 'Vail',
    ListPrice: new JsonNumber('12345678901234.50'),
    BedroomsTotal: new JsonNumber('3'),
    NewConstructionYN: null,
    Appliances: ['Range'],
    GeoLocation: POINT,
  }
  expect(body('+12345678901234.50')).toMatchObject(expected)
  expect(body(123456.78)).toMatchObject({ ListPrice: new JsonNumber('123456.78') })
  expect(body(null)).toMatchObject({ ListPrice: null })
  expect(readRecordInput(getEntity('Property'), { City: null })).toEqual({ City: null })
})

const orderOf = (orderBy: string) =>
  readOrderBy(
    PROPERTY,
    coerceArguments(`{ properties(orderBy: ${orderBy}) { totalCount } }`)[
      'orderBy'
    ] as readonly InputValues[],
  ) // by its type

test('an order has one field in each object', () => {
  const path = (...names: readonly string[]) => ({ kind: 'path', names, at: { source: 'orderBy' } })
  expect(orderOf('[{ ListPrice: DESC }, { ListAgent: { MemberFullName: ASC } }]')).toEqual([
    { expr: path('ListPrice'), descending: true },
    { expr: path('ListAgent', 'MemberFullName'), descending: false },
  ])
  expect(orderOf('{ ListPrice: ASC }')).toHaveLength(1)
  expect(orderOf('[]')).toEqual([])
})

test.each([
  '[{}]',
  '[{ ListPrice: null }]',
  '[{ ListPrice: ASC, City: ASC }]',
  '[{ ListAgent: {} }]',
  '[{ ListAgent: null }]',
])('an order that is refused: %s', orderBy => {
  expect(() => orderOf(orderBy)).toThrow(
    expect.objectContaining({ problems: [expect.objectContaining({ kind: 'BadOptionValue' })] }),
  )
})
