import {
  buildSchema,
  type FieldNode,
  type GraphQLSchema,
  getArgumentValues,
  getVariableValues,
  Kind,
  parse,
} from 'graphql'
import { describe, expect, test } from 'vitest'
import { coerceArgumentValues } from '../../../src/graphql/execute/argument-values.js'
import type { InputValues } from '../../../src/graphql/execute/collect-fields.js'
import { SCHEMA } from '../../support/oracle/filter-arguments.js'

/** The first field of an operation, and the inputs of its arguments. */
function open(schema: GraphQLSchema, text: string, sent: InputValues) {
  const [operation] = parse(text).definitions
  if (operation?.kind !== Kind.OPERATION_DEFINITION) throw new Error('No operation')
  const [node] = operation.selectionSet.selections
  const field = node?.kind === Kind.FIELD ? schema.getQueryType()?.getFields()[node.name.value] : undefined
  if (node?.kind !== Kind.FIELD || !field) throw new Error('No field')
  const { coerced } = getVariableValues(schema, operation.variableDefinitions ?? [], { ...sent })
  if (!coerced) throw new Error('No variables')
  return { node, field, variables: coerced }
}

const nameOf = ({ name, alias }: FieldNode) => alias?.value ?? name.value

/** Reads twice, because derived data of a document is cached. */
function read(schema: GraphQLSchema, text: string, sent: InputValues) {
  const { node, field, variables } = open(schema, text, sent)
  const asked = { responseName: nameOf(node), name: node.name.value, fieldNodes: [node] }
  const own = () => coerceArgumentValues({ schema, fragments: {}, variables }, asked, field)
  const [first, second] = [own(), own()]
  expect(second).toStrictEqual(first)
  return { own: first, measure: getArgumentValues(field, node, variables) }
}

describe('arguments are those of graphql-js', () => {
  test.each<[text: string, sent: InputValues]>([
    ['{ properties { totalCount } }', {}],
    ['{ properties(first: 3, skip: 2, where: "City eq \'Vail\'", search: null) { totalCount } }', {}],
    [
      '{ properties(orderBy: { ListPrice: DESC }, filter: { ListPrice: { ge: 1.50, in: [1, null] }, City: { eq: "Vail" } }) { totalCount } }',
      {},
    ],
    [
      'query ($f: PropertyFilter, $n: Int) { properties(first: $n, filter: $f) { totalCount } }',
      { n: 3, f: { City: { eq: 'Vail' } } },
    ],
    ['query ($f: PropertyFilter, $n: Int) { properties(first: $n, filter: $f) { totalCount } }', { f: null }],
    [
      'query ($c: String, $o: PropertyOrder!) { properties(filter: { City: { in: [$c, "Vail"] } }, orderBy: [$o]) { totalCount } }',
      { c: 'Aspen', o: { City: 'ASC' } },
    ],
    [
      'query ($c: String, $p: Decimal) { properties(filter: { City: { eq: "Vail", ne: $c }, ListPrice: { gt: $p, lt: 5 } }) { totalCount } }',
      {},
    ],
    [
      'query ($f: StringFilter, $a: [PropertyFilter!]) { properties(filter: { City: $f, and: $a, ListPrice: { lt: 5 } }) { totalCount } }',
      {},
    ],
    ['query ($d: Direction) { properties(orderBy: { ListPrice: $d }) { totalCount } }', {}],
    ['{ property(ListingKey: "P01") { City } }', {}],
    ['query ($k: String!) { property(ListingKey: $k) { City } }', { k: 'P01' }],
  ])('%s with %j', (text, sent) => {
    const { own, measure } = read(SCHEMA, text, sent)
    expect(own).toStrictEqual(measure)
    // As text, since the order of members is that of conditions.
    expect(JSON.stringify(own)).toBe(JSON.stringify(measure))
  })
})

describe('a filter that only absent variables would fill is refused', () => {
  test.each<[filter: string, declared: string, target: string]>([
    ['{ City: { eq: $c } }', '$c: String', '$c'],
    ['{ City: { eq: $c, ne: $d } }', '$c: String, $d: String', '$c'],
    ['{ City: $c }', '$c: StringFilter', '$c'],
    ['{ City: { eq: "Vail" }, ListPrice: { gt: $p } }', '$p: Decimal', '$p'],
    ['{ and: [{ City: { eq: "Vail" } }, { City: { eq: $c } }] }', '$c: String', '$c'],
    ['{ or: { City: { eq: $c } } }', '$c: String', '$c'],
    ['{ not: { City: { eq: $c } } }', '$c: String', '$c'],
    ['{ Media: { any: { MediaType: $t } } }', '$t: StringFilter', '$t'],
    ['{ Media: { all: { MediaType: { eq: $t } } } }', '$t: String', '$t'],
    ['{ Media: { countOf: { filter: { MediaType: { eq: $t } }, is: { gt: 1 } } } }', '$t: String', '$t'],
    ['{ City: { substring: { start: 1, is: { eq: $c } } } }', '$c: String', '$c'],
    // An item that is null would find records without a city, and under `not` all others.
    ['{ City: { in: ["Vail", $c] } }', '$c: String', '$c'],
    [
      '{ GeoLocation: { geoDistance: { to: { type: "Point", coordinates: [$x, 39] }, is: { lt: 5 } } } }',
      '$x: Float',
      '$x',
    ],
  ])('%s without %s', (filter, declared, target) => {
    const text = `query (${declared}) { properties(filter: ${filter}) { totalCount } }`
    let refused: unknown
    try {
      read(SCHEMA, text, {})
    } catch (error) {
      refused = error
    }
    expect(refused).toMatchObject({ problems: [{ kind: 'BadOptionValue', option: target }] })
  })

  test('a variable that is null has a value', () => {
    const text = 'query ($c: String) { properties(filter: { City: { eq: $c } }) { totalCount } }'
    expect(read(SCHEMA, text, { c: null }).own).toEqual({ filter: { City: { eq: null } } })
  })
})

describe('constructs that the schema of the service does not contain', () => {
  const schema = buildSchema(
    'type Query { field(must: Int!, orElse: Int = 2, mustOrElse: Int! = 3, may: Int): Int }',
  )

  test.each<[text: string, sent: InputValues]>([
    ['{ field(must: 1) }', {}],
    ['{ field(must: 1, orElse: null, mustOrElse: 4, may: 5) }', {}],
    ['query ($a: Int!, $b: Int) { field(must: $a, orElse: $b, mustOrElse: $b, may: $b) }', { a: 1 }],
    ['query ($a: Int!, $b: Int) { field(must: $a, orElse: $b, may: $b) }', { a: 1, b: null }],
  ])('defaults: %s with %j', (text, sent) => {
    const { own, measure } = read(schema, text, sent)
    expect(own).toStrictEqual(measure)
  })

  // Validation refuses all of them.
  test.each<[text: string, sent: InputValues]>([
    ['{ field }', {}],
    ['{ field(must: null) }', {}],
    ['{ field(must: "x") }', {}],
    ['query ($a: Int) { field(must: $a) }', {}],
    ['query ($a: Int) { field(must: $a) }', { a: null }],
  ])('values that are missing or wrong: %s with %j', (text, sent) => {
    const { node, field, variables } = open(schema, text, sent)
    const said = (of: () => unknown): unknown => {
      try {
        return of()
      } catch (error) {
        return String(error)
      }
    }
    const own = said(() =>
      coerceArgumentValues(
        { schema, fragments: {}, variables },
        { responseName: 'field', name: 'field', fieldNodes: [node] },
        field,
      ),
    )
    expect(own).toBe(said(() => getArgumentValues(field, node, variables)))
    expect(own).toMatch(/^Argument "must"/)
  })
})
