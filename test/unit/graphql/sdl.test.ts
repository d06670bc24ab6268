import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLInputObjectType,
  type GraphQLObjectType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isIntrospectionType,
  isObjectType,
  isScalarType,
  isSpecifiedScalarType,
  validateSchema,
} from 'graphql'
import { expect, test } from 'vitest'
import { TRANSITIONS } from '../../../src/domain/lifecycle.js'
import { filterInputNameOf, rootFieldNamesOf } from '../../../src/graphql/schema/names.js'
import { SCALARS } from '../../../src/graphql/schema/scalars.js'
import { createSchemaModel } from '../../../src/graphql/schema/schema-model.js'
import { renderSdl } from '../../../src/graphql/schema/sdl.js'
import { renderDescription, renderTypeDefinition } from '../../../src/graphql/schema/sdl-text.js'
import { toTypeDefinitions } from '../../../src/graphql/schema/sdl-types.js'
import { ADMIN_MODEL, ENTITIES, getEntity, getScalar } from '../../../src/model/model.js'
import { propertyAnnotations } from '../../../src/odata/metadata/csdl-annotations.js'
import { LISTING_SCHEMA } from '../../support/oracle/filter-arguments.js'

const ADMIN_SCHEMA = createSchemaModel(ADMIN_MODEL)
const SCHEMA = buildSchema(renderSdl(LISTING_SCHEMA))
const SCHEMAS = [
  ['/graphql', SCHEMA, 1500],
  ['/admin/graphql', buildSchema(renderSdl(ADMIN_SCHEMA)), 400],
] as const
const PROPERTY = getEntity('Property')
const each = [...ENTITIES.values()].map(e => [e.name, e] as const)

function objectType(name: string): GraphQLObjectType {
  const type = SCHEMA.getType(name)
  if (!isObjectType(type)) throw new Error(`No object type ${name}`)
  return type
}
function inputType(name: string): GraphQLInputObjectType {
  const type = SCHEMA.getType(name)
  if (!isInputObjectType(type)) throw new Error(`No input ${name}`)
  return type
}
const typesOf = (type: GraphQLObjectType | GraphQLInputObjectType) =>
  Object.fromEntries(Object.values(type.getFields()).map(f => [f.name, String(f.type)]))
const argsOf = (type: string, field: string) =>
  Object.fromEntries((objectType(type).getFields()[field]?.args ?? []).map(a => [a.name, String(a.type)]))

test('the schema is valid, and the scalars are those of the resolvers', () => {
  expect(validateSchema(SCHEMA)).toEqual([])
  const scalars = Object.values(SCHEMA.getTypeMap()).filter(isScalarType)
  expect(
    scalars
      .filter(t => !['String', 'Int', 'Float', 'Boolean', 'ID'].includes(t.name))
      .map(t => [t.name, t.description, t.specifiedByURL ?? null]),
  ).toEqual(Object.values(SCALARS).map(s => [s.name, s.description, s.specifiedByURL]))
})

test.each(SCHEMAS)('every type, field, argument and value of %s has a description', (_, schema, atLeast) => {
  expect(validateSchema(schema)).toEqual([])
  const described = Object.values(schema.getTypeMap())
    .filter(type => !isIntrospectionType(type) && !isSpecifiedScalarType(type))
    .flatMap(type => [
      [type.name, type.description],
      ...(isEnumType(type)
        ? type.getValues().map(value => [`${type}.${value.name}`, value.description])
        : []),
      ...(isInputObjectType(type) || isObjectType(type) || isInterfaceType(type)
        ? Object.values(type.getFields()).flatMap(field => [
            [`${type}.${field.name}`, field.description],
            ...('args' in field
              ? field.args.map((a: GraphQLArgument) => [`${type}.${field.name}(${a.name})`, a.description])
              : []),
          ])
        : []),
    ])
  expect(described.length).toBeGreaterThan(atLeast)
  expect(described.filter(([, description]) => !description).map(([name]) => name)).toEqual([])
})

/** The name of a type without its lists and exclamation marks. */
const nameOf = (type: unknown) => String(type).replace(/[[\]!]/g, '')

test.each(SCHEMAS)('every type of %s is used', (_, schema) => {
  const reached = new Set<string>()
  const visit = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    const type = schema.getType(name)
    if (!isObjectType(type) && !isInputObjectType(type)) return
    for (const field of Object.values(type.getFields())) {
      visit(nameOf(field.type))
      if ('args' in field) for (const argument of field.args) visit(nameOf(argument.type))
    }
  }
  for (const root of ['Query', 'Mutation', 'Subscription']) visit(root)
  expect(
    Object.keys(schema.getTypeMap()).filter(name => !name.startsWith('__') && !reached.has(name)),
  ).toEqual([])
})

test('each entity of administration has its fields of Query, and each writable one its mutations', () => {
  const [, [, schema]] = SCHEMAS
  expect(Object.keys(schema.getQueryType()?.getFields() ?? {})).toEqual([
    ...[...ADMIN_MODEL.entities.values()].map(rootFieldNamesOf).flatMap(({ one, many }) => [one, many]),
    'node',
  ])
  const writable = [...ADMIN_MODEL.entities.values()].filter(e => e.writable)
  expect(Object.keys(schema.getMutationType()?.getFields() ?? {})).toEqual(
    writable.flatMap(({ name, immutable }) => [
      `create${name}`,
      ...(immutable ? [] : [`update${name}`]),
      `delete${name}`,
    ]),
  )
  expect(schema.getSubscriptionType()).toBeUndefined()
})

test('each entity has its fields of Query', () => {
  expect([...ENTITIES.values()].map(rootFieldNamesOf)).toEqual([
    { one: 'property', many: 'properties', changes: 'propertyChanges' },
    { one: 'member', many: 'members', changes: 'memberChanges' },
    { one: 'office', many: 'offices', changes: 'officeChanges' },
    { one: 'mediaItem', many: 'mediaItems', changes: 'mediaItemChanges' },
    { one: 'room', many: 'rooms', changes: 'roomChanges' },
    { one: 'openHouse', many: 'openHouses', changes: 'openHouseChanges' },
    { one: 'lookup', many: 'lookups', changes: 'lookupChanges' },
    { one: 'field', many: 'fields' },
    { one: 'entityEvent', many: 'entityEvents' },
  ])
  expect(Object.keys(objectType('Query').getFields())).toEqual([
    ...LISTING_SCHEMA.rootFields.keys(),
    'node',
    'digest',
  ])
  expect(argsOf('Query', 'property')).toEqual({ ListingKey: 'String!' })
  expect(argsOf('Query', 'entityEvent')).toEqual({ EntityEventSequence: 'Long!' })
  const page = {
    orderBy: '[MemberOrder!]',
    first: 'Int',
    after: 'String',
    last: 'Int',
    before: 'String',
    skip: 'Int',
  }
  expect(argsOf('Query', 'members')).toEqual({ filter: 'MemberFilter', where: 'String', ...page })
  expect(argsOf('Query', 'properties')).toMatchObject({ filter: 'PropertyFilter', search: 'String' })
  expect(argsOf('Query', 'memberChanges')).toEqual({
    since: 'String',
    filter: 'MemberFilter',
    where: 'String',
    first: 'Int',
  })
  expect(argsOf('Property', 'Media')).toEqual({
    filter: 'MediaFilter',
    where: 'String',
    orderBy: '[MediaOrder!]',
    first: 'Int',
    skip: 'Int',
  })
})

const UNVERSIONED = ['EntityEvent', 'Field']

test.each(each)('%s has the fields of the model, with their descriptions', (_, of) => {
  expect(LISTING_SCHEMA.entityOfType.get(of.typeName)).toBe(of)
  const fields = objectType(of.typeName).getFields()
  const shown = [...of.fields.values()].filter(f => f.kind === 'navigation' || f.readableBy !== 'nobody')
  expect(Object.keys(fields)).toEqual([
    'id',
    ...(UNVERSIONED.includes(of.name) && !of.hidden.has('RecordVersion') ? [] : ['etag']),
    ...shown.map(f => f.name),
  ])
  for (const field of shown) expect(fields[field.name]?.description).toContain(field.description)
  expect(typesOf(inputType(filterInputNameOf(of)))).toEqual(
    Object.fromEntries(
      [...(LISTING_SCHEMA.filterInputs.get(filterInputNameOf(of))?.fields.values() ?? [])].map(f => [
        f.name,
        f.type,
      ]),
    ),
  )
})

test('types are those of the model; only fields that every reader sees are never null', () => {
  expect(typesOf(objectType('Property'))).toMatchObject({
    id: 'ID!',
    etag: 'String!',
    ListingKey: 'String!',
    ModificationTimestamp: 'DateTime!',
    ListPrice: 'Decimal',
    BedroomsTotal: 'Int',
    OnMarketDate: 'Date',
    NewConstructionYN: 'Boolean',
    GeoLocation: 'GeoPoint',
    Appliances: '[String!]!',
    ListAgent: 'Member',
    Rooms: '[PropertyRooms!]!',
  })
  expect(typesOf(objectType('EntityEvent'))).toMatchObject({ EntityEventSequence: 'Long!' })
  expect(typesOf(inputType('PropertyOrder'))).toMatchObject({
    ListPrice: 'Direction',
    ListAgent: 'MemberOrder',
  })
  for (const name of ['GeoLocation', 'Appliances', 'Media', 'ChangedByMemberKey'])
    expect(inputType('PropertyOrder').getFields()).not.toHaveProperty(name)
  for (const type of ['Property', 'PropertyFilter', 'PropertyOrder'])
    expect(SCHEMA.getType(type)).not.toMatchObject({ _fields: { ChangedByMemberKey: {} } })
})

test('fields that clients write can be written, and are never required by their type', () => {
  const fields = inputType('PropertyInput').getFields()
  expect(Object.keys(fields)).toEqual(PROPERTY.scalars.filter(s => s.setBy === 'client').map(s => s.name))
  expect(Object.keys(fields)).toEqual(
    expect.arrayContaining(['ChangedByMemberKey', 'StandardStatus', 'GeoLocation', 'City']),
  )
  expect(Object.values(fields).filter(f => String(f.type).endsWith('!'))).toEqual([])
})

test('each transition is a mutation, with what it requires', () => {
  expect(Object.keys(objectType('Mutation').getFields())).toEqual([
    'createDraft',
    'updateProperty',
    ...TRANSITIONS.map(t => t.name),
    'deleteProperty',
  ])
  expect(argsOf('Mutation', 'sellProperty')).toEqual({
    ListingKey: 'String!',
    SoldPrice: 'Decimal!',
    ChangedByMemberKey: 'String',
    ifMatch: 'String',
  })
  expect(argsOf('Mutation', 'publishProperty')).toEqual({
    ListingKey: 'String!',
    ChangedByMemberKey: 'String',
    ifMatch: 'String',
  })
  expect(typesOf(objectType('DeletedProperty'))).toEqual({ id: 'ID!', ListingKey: 'String!' })
})

test('a deprecated field has a reason, in both schemas', () => {
  const reason = 'Use "PostalCity", it is exact.'
  const old = { ...getScalar(PROPERTY, 'City'), deprecated: reason }
  const of = { ...PROPERTY, fields: new Map([[old.name, old]]), scalars: [old], navigations: [] }
  const texts = toTypeDefinitions(of).map(renderTypeDefinition)
  const directive = '@deprecated(reason: "Use \\"PostalCity\\", it is exact.")'
  expect(texts.filter(text => text.includes(`City: String ${directive}`))).toHaveLength(2)
  expect(texts.filter(text => text.includes(`City: Direction ${directive}`))).toHaveLength(1)
  const [, revisions] = propertyAnnotations(PROPERTY, old).find(([term]) => term === 'Core.Revisions') ?? []
  expect(revisions).toEqual([
    {
      kind: 'record',
      values: { Kind: expect.objectContaining({ name: 'Deprecated' }), Description: reason },
    },
  ])
})

test.each(['plain', 'with "quotes"', 'with """three"""', 'a backslash \\'])(
  'a description is a block string: %s',
  text => {
    expect(
      buildSchema(`${renderDescription(text)}\ntype Query { a: Int }`)
        .getQueryType()
        ?.description?.trim(),
    ).toBe(text)
  },
)
