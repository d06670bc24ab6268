import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Ajv } from 'ajv'
import { xml2json } from 'odata-csdl'
import { expect, test } from 'vitest'
import { validateXML } from 'xmllint-wasm'
import { ENTITIES, type Scalar } from '../../../src/model/model.js'
import { renderMetadataJson, renderMetadataXml } from '../../../src/odata/metadata/service-document.js'
import { startTestApp } from '../../support/app.js'

const SCHEMAS = new URL(
  'schemas/',
  `file://${createRequire(import.meta.url).resolve('odata-csdl/package.json')}`,
)
const schema = (name: string) => ({ fileName: name, contents: readFileSync(new URL(name, SCHEMAS), 'utf8') })

type Csdl = Readonly<Record<string, unknown>>
type Node = Readonly<Record<string, Readonly<Record<string, unknown>>>>
const json: Csdl = JSON.parse(renderMetadataJson())
const xml = renderMetadataXml()
const model = json['org.reso.metadata'] as Readonly<Record<string, Node>>
const entities = [...ENTITIES.values()]
const typeOf = (name: string): Node => model[name] ?? {}

test('the XML is valid against the schemas of OASIS', async () => {
  const { valid, errors } = await validateXML({
    xml: [{ fileName: 'metadata.xml', contents: xml }],
    schema: [schema('edmx.xsd')],
    preload: [schema('edm.xsd')],
  })
  expect(errors).toEqual([])
  expect(valid).toBe(true)
})

// The schemas above are those of 4.01. RESO's tools validate by those of 4.0, which the document declares.
test('ReturnType is the last element of a function, as in the schema of OData 4.0', () => {
  const functions = xml.match(/<Function .*?<\/Function>/gs) ?? []
  expect(functions.length).toBeGreaterThan(0)
  for (const text of functions) expect(text).toMatch(/<ReturnType [^>]*\/>\s*<\/Function>$/)
})

test('the JSON is valid against the schema of OASIS', () => {
  const validate = new Ajv({ strict: false, allErrors: true }).compile(
    JSON.parse(schema('csdl.schema.json').contents),
  )
  validate(json)
  expect(validate.errors).toBeNull()
})

test('XML and JSON are equal by the converter of OASIS', () => {
  const converted = JSON.stringify(xml2json(xml, { strict: true, lineNumbers: false }))
    // The converter writes the SRID as a number; csdl.schema.json requires a string.
    .replaceAll('"$SRID":4326', '"$SRID":"4326"')
  // The XML has version 4.0 because of its readers. CSDL JSON was new in 4.01. Each refers to vocabularies in
  // its own form.
  expect({ ...JSON.parse(converted), $Version: '4.01' }).toEqual(json)
})

test('there is one schema: client programs of the RESO family read no second one', () => {
  expect(xml.match(/<Schema /g)).toHaveLength(1)
  expect(xml).toMatch(/<edmx:Edmx Version="4\.0"/)
})

test.each(entities)('$name: every field is declared, except hidden ones', ({ typeName, fields, hidden }) => {
  const declared = Object.keys(typeOf(typeName)).filter(name => /^[A-Za-z]/.test(name))
  expect(declared).toEqual([...fields.keys()])
  for (const name of hidden.keys()) expect(declared).not.toContain(name)
})

test.each(entities)(
  '$name: the key is never null, every navigation leads to a set',
  ({ name, typeName, key, navigations }) => {
    expect(typeOf(typeName)['$Key']).toEqual([key.name])
    expect(xml).toMatch(new RegExp(`<Property Name="${key.name}" Type="Edm.${key.type}" Nullable="false"`))
    const set = typeOf('Default')[name] ?? {}
    expect(set['$NavigationPropertyBinding'] ?? {}).toEqual(
      Object.fromEntries(navigations.map(n => [n.name, n.target])),
    )
  },
)

const scalars = (test: (s: Scalar) => boolean) =>
  entities.flatMap(e =>
    e.scalars.filter(test).map(s => ({ ...typeOf(e.typeName)[s.name], at: `${e.name}.${s.name}` })),
  )

test('the facets that strict readers require are present', () => {
  for (const decimal of scalars(s => s.type === 'Decimal'))
    expect(decimal, decimal.at).toMatchObject({ $Precision: expect.any(Number), $Scale: expect.any(Number) })
  for (const timestamp of scalars(s => s.type === 'DateTimeOffset'))
    expect(timestamp).toMatchObject({ $Precision: 3 })
  for (const point of scalars(s => s.type === 'GeographyPoint'))
    expect(point).toMatchObject({ $SRID: '4326' })
  for (const list of scalars(s => s.collection)) expect(list).not.toHaveProperty('$Nullable')
})

test('a field that is never shown is declared, and annotated accordingly', () => {
  expect(typeOf('Property')['ChangedByMemberKey']).toMatchObject({ '@Core.Permissions': 'Write' })
  expect(typeOf('Property')['ModificationTimestamp']).toMatchObject({ '@Core.Computed': true })
  expect(typeOf('Property')['StandardStatus']).toMatchObject({
    '@RESO.OData.Metadata.LookupName': 'StandardStatus',
  })
})

test('a partner is the inverse navigation, and only a foreign key is a constraint', () => {
  expect(typeOf('Property')['Rooms']).toMatchObject({
    $Type: 'org.reso.metadata.PropertyRooms',
    $Collection: true,
    $Partner: 'Listing',
  })
  expect(typeOf('PropertyRooms')['Listing']).toMatchObject({
    $Partner: 'Rooms',
    $ReferentialConstraint: { ListingKey: 'ListingKey' },
  })
  expect(typeOf('Property')['ListAgent']).toMatchObject({ $Nullable: true })
  expect(typeOf('Property')['ListAgent']).not.toHaveProperty('$ReferentialConstraint')
})

test('the capabilities of a set', () => {
  const set = (name: string) => typeOf('Default')[name] ?? {}
  expect(set('Property')).toMatchObject({
    '@Capabilities.InsertRestrictions': {
      Insertable: true,
      RequiredProperties: expect.arrayContaining(['ListAgentKey', 'City']),
    },
    '@Capabilities.FilterRestrictions': { NonFilterableProperties: ['ChangedByMemberKey'] },
  })
  expect(set('EntityEvent')).toMatchObject({
    '@Capabilities.UpdateRestrictions': { Updatable: false },
    '@Capabilities.DeleteRestrictions': { Deletable: false },
  })
})

test('every member of every record that is sent is declared: types are closed', async () => {
  const app = await startTestApp({ fixture: 'fixture.json' })
  for (const { name, typeName } of entities) {
    const { json: page } = await app.send(`/odata/${name}?$top=100&$expand=*`)
    const records = (page as { readonly value: readonly object[] }).value
    const sent = new Set(
      records.flatMap(record => Object.keys(record)).filter(member => !member.includes('@')),
    )
    expect(Object.keys(typeOf(typeName)), name).toEqual(expect.arrayContaining([...sent]))
  }
  await app.close()
})
