import {
  buildSchema,
  type GraphQLSchema,
  getVariableValues,
  isInputObjectType,
  Kind,
  type OperationDefinitionNode,
  parse,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { JsonNumber } from '../../../src/domain/json.js'
import { coerceVariableValues, tryCoerceVariableValues } from '../../../src/graphql/execute/coercion.js'
import type { InputValues } from '../../../src/graphql/execute/collect-fields.js'
import { SCHEMA } from '../../support/oracle/filter-arguments.js'

function operationOf(declarations: string): OperationDefinitionNode {
  const [operation] = parse(`query${declarations} { __typename }`).definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('No operation')
  return operation
}

/** Coerces the variables with graphql-js. */
const measure = (
  schema: GraphQLSchema,
  { variableDefinitions = [] }: OperationDefinitionNode,
  sent: InputValues,
) => getVariableValues(schema, variableDefinitions, { ...sent }, { maxErrors: 20 })

function expectSame(schema: GraphQLSchema, declarations: string, sent: InputValues) {
  const operation = operationOf(declarations)
  const { coerced } = measure(schema, operation, sent)
  const own = tryCoerceVariableValues(schema, operation, sent)
  expect(own).toStrictEqual(coerced)
  // As text, since the order of members is that of conditions.
  expect(JSON.stringify(own)).toBe(JSON.stringify(coerced))
}

function expectRefused(schema: GraphQLSchema, declarations: string, sent: InputValues) {
  const operation = operationOf(declarations)
  expect(tryCoerceVariableValues(schema, operation, sent)).toBeUndefined()
  const { errors = [] } = measure(schema, operation, sent)
  expect(errors).not.toEqual([])
  expect(coerceVariableValues(schema, operation, sent).errors?.map(e => e.message)).toEqual(
    errors.map(e => e.message),
  )
}

describe('variables of the service', () => {
  test.each<[declarations: string, sent: InputValues]>([
    ['', {}],
    ['', { other: 1 }],
    ['($key: String!)', { key: 'P01' }],
    ['($key: String)', { key: null }],
    ['($key: String)', {}],
    ['($key: String = "P01", $other: String = null)', {}],
    ['($key: String! = "P01")', { key: 'P02' }],
    ['($key: ID!)', { key: 5 }],
    ['($first: Int, $key: String)', { key: 'a', first: 3 }],
    ['($orderBy: [PropertyOrder!])', { orderBy: [{ ListPrice: 'DESC' }, { ListingKey: 'ASC' }] }],
    ['($orderBy: [PropertyOrder!])', { orderBy: { ListAgent: { MemberKey: 'DESC' } } }],
    ['($orderBy: [PropertyOrder!] = [{ ListPrice: DESC }])', {}],
    ['($filter: PropertyFilter)', { filter: {} }],
    ['($filter: PropertyFilter)', { filter: { ListPrice: { le: 2, ge: 1.5 }, City: { eq: 'Vail' } } }],
    ['($filter: PropertyFilter)', { filter: { ListPrice: { eq: new JsonNumber('12345678901234567.89') } } }],
    [
      '($filter: PropertyFilter)',
      {
        filter: {
          or: [{ not: { City: null } }, { City: { in: ['Vail', null] } }],
          and: { City: { in: 'Vail' } },
        },
      },
    ],
    [
      '($filter: PropertyFilter)',
      { filter: { Media: { countOf: { is: { ge: 2 }, filter: { MediaType: { eq: 'image/jpeg' } } } } } },
    ],
    [
      '($filter: PropertyFilter)',
      {
        filter: {
          GeoLocation: {
            geoDistance: { to: { type: 'Point', coordinates: [-105, 39.7] }, is: { le: 1000 } },
          },
        },
      },
    ],
  ])('%s of %j are those of graphql-js', (declarations, sent) => expectSame(SCHEMA, declarations, sent))

  test.each<[declarations: string, sent: InputValues]>([
    ['($key: String!)', {}],
    ['($key: String!)', { key: null }],
    ['($key: String!)', { key: 5 }],
    ['($key: String, $first: Int)', { key: 5, first: 'x' }],
    ['($orderBy: [PropertyOrder!])', { orderBy: [null] }],
    ['($orderBy: [PropertyOrder!])', { orderBy: [{ ListPrice: 'UP' }] }],
    ['($filter: PropertyFilter)', { filter: [] }],
    ['($filter: PropertyFilter)', { filter: 'City' }],
    ['($filter: PropertyFilter)', { filter: { Cty: { eq: 'Vail' } } }],
    ['($filter: PropertyFilter)', { filter: { constructor: { eq: 'Vail' } } }],
    ['($filter: PropertyFilter)', { filter: { City: { eq: 5 }, ListPrice: { eq: 'x', lt: true } } }],
    ['($filter: PropertyFilter)', { filter: new JsonNumber('1e400') }],
    ['($filter: PropertyFilter)', { filter: { ListPrice: { eq: 1234567890.1234567 } } }],
  ])('%s of %j are refused in the words of graphql-js', (declarations, sent) =>
    expectRefused(SCHEMA, declarations, sent),
  )

  const inputs = Object.values(SCHEMA.getTypeMap()).filter(isInputObjectType)

  test.each(inputs.map(type => [type.name, type] as const))(
    '%s has the order of the schema',
    (name, type) => {
      const names = Object.keys(type.getFields()).toReversed()
      const { coerced } = measure(SCHEMA, operationOf(`($of: ${name})`), {
        of: Object.fromEntries(names.map(field => [field, null])),
      })
      const sent = { of: Object.fromEntries(names.map(field => [field, null])) }
      if (coerced) expectSame(SCHEMA, `($of: ${name})`, sent)
      else expectRefused(SCHEMA, `($of: ${name})`, sent)
    },
  )
})

describe('constructs that the schema of the service does not contain', () => {
  const schema = buildSchema(`
    type Query { field: String }
    input Standing { must: String!, mustOrElse: Int! = 1, orElse: Int = 2, may: String }
    input One @oneOf { a: Int, b: Int }`)

  test.each<InputValues>([
    { of: { must: 'a', mustOrElse: 3, orElse: null } },
    { of: { may: null, orElse: 3, mustOrElse: 4, must: 'b' } },
  ])('fields that were sent: %j', sent => {
    expectSame(schema, '($of: Standing)', sent)
  })

  test.each<InputValues>([{ of: { must: 'a' } }, { of: { must: 'a', orElse: 3 } }])(
    'defaults of fields: %j',
    sent => {
      const operation = operationOf('($of: Standing)')
      expect(coerceVariableValues(schema, operation, sent).coerced).toStrictEqual(
        measure(schema, operation, sent).coerced,
      )
    },
  )

  test('one of several', () => {
    const operation = operationOf('($of: One)')
    expect(coerceVariableValues(schema, operation, { of: { a: 1 } }).coerced).toStrictEqual(
      measure(schema, operation, { of: { a: 1 } }).coerced,
    )
    expectRefused(schema, '($of: One)', { of: { a: 1, b: 2 } })
  })

  test.each<[declarations: string, sent: InputValues]>([
    ['($of: Standing)', { of: { may: 'a' } }],
    ['($of: Standing)', { of: { must: null } }],
    ['($of: Query)', { of: {} }],
    ['($of: Nothing)', {}],
  ])('%s of %j are refused', (declarations, sent) => expectRefused(schema, declarations, sent))
})
