import { type Entity, entity, type Field, type Scalar } from '../../model/model.js'

/** A value of JSON, as much as an OpenAPI document needs. */
export type Json = string | number | boolean | readonly Json[] | { readonly [member: string]: Json }
export type JsonObject = { readonly [member: string]: Json }

export const refTo = (section: string, name: string): JsonObject => ({
  $ref: `#/components/${section}/${name}`,
})

const POINT: JsonObject = {
  type: 'object',
  description: 'A GeoJSON point: longitude, latitude (WGS 84).',
  properties: {
    type: { const: 'Point' },
    coordinates: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
  },
  required: ['type', 'coordinates'],
}

/** JSON forms of the types (OData JSON 4.01, 7.1); `type` is apart, since null is one more of it. */
const FORMS: { readonly [K in Scalar['type']]: JsonObject & { readonly type: string } } = {
  Boolean: { type: 'boolean' },
  Int32: { type: 'integer', format: 'int32' },
  Int64: { type: 'integer', format: 'int64' },
  Decimal: { type: 'number', format: 'decimal' },
  String: { type: 'string' },
  DateTimeOffset: { type: 'string', format: 'date-time' },
  Date: { type: 'string', format: 'date' },
  GeographyPoint: { ...POINT, type: 'object' },
}

/** A record of an entity. What only the service sets is `readOnly`, what is never shown `writeOnly`. */
export function toRecordSchema(of: Entity): JsonObject {
  return {
    type: 'object',
    description: of.description,
    properties: Object.fromEntries([...of.fields.values()].map(f => [f.name, toFieldSchema(of, f)])),
  }
}

/** The body that creates a record: a record with the fields that a draft cannot do without. */
export function toCreateSchema(of: Entity): JsonObject {
  return {
    allOf: [
      refTo('schemas', of.typeName),
      { type: 'object', required: of.scalars.filter(s => s.required).map(s => s.name) },
    ],
  }
}

/** A page of records (interface 2.5). */
export function toPageSchema(of: Entity): JsonObject {
  const properties: JsonObject = {
    '@odata.context': { type: 'string' },
    '@odata.count': { type: 'integer', description: 'Only with $count=true.' },
    value: { type: 'array', items: refTo('schemas', of.typeName) },
    '@odata.nextLink': {
      type: 'string',
      format: 'uri',
      description: 'Address of the next page; absent on the last one.',
    },
  }
  return { type: 'object', properties, required: ['@odata.context', 'value'] }
}

function toFieldSchema(of: Entity, field: Field): JsonObject {
  if (field.kind === 'scalar') return toScalarSchema(of, field)
  const record = refTo('schemas', entity(field.target).typeName)
  const shape: JsonObject = field.collection
    ? { type: 'array', items: record }
    : { anyOf: [record, { type: 'null' }] }
  return { ...shape, description: `${field.description} Only with $expand.`, readOnly: true }
}

function toScalarSchema(
  { writable }: Entity,
  { type, collection, nullable, maxLength, lookup, ...field }: Scalar,
): JsonObject {
  const { type: name, ...form } = { ...FORMS[type], ...(maxLength !== undefined && { maxLength }) }
  const shape: JsonObject = collection
    ? { type: 'array', items: { type: name, ...form } }
    : { type: nullable ? [name, 'null'] : name, ...form }
  return {
    ...shape,
    description: lookup ? `${field.description} Values: Lookup ${lookup.name}.` : field.description,
    ...(writable && field.setBy === 'service' && { readOnly: true }),
    ...(field.readableBy === 'nobody' && { writeOnly: true }),
  }
}
