import { type Entity, type Field, getEntity, type Scalar } from '../../model/model.js'

/** A value of JSON, as much as an OpenAPI document needs. */
export type OpenApiValue =
  | string
  | number
  | boolean
  | readonly OpenApiValue[]
  | { readonly [member: string]: OpenApiValue }
export type OpenApiObject = { readonly [member: string]: OpenApiValue }

export const toComponentRef = (section: string, name: string): OpenApiObject => ({
  $ref: `#/components/${section}/${name}`,
})

const POINT: OpenApiObject = {
  type: 'object',
  description: 'A GeoJSON point: longitude, latitude (WGS 84).',
  properties: {
    type: { const: 'Point' },
    coordinates: { type: 'array', items: { type: 'number' }, minItems: 2, maxItems: 2 },
  },
  required: ['type', 'coordinates'],
}

/** JSON forms of the types (OData JSON 4.01, 7.1); `type` is apart, since null is one more of it. */
const SCHEMAS_BY_EDM_TYPE: { readonly [K in Scalar['type']]: OpenApiObject & { readonly type: string } } = {
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
export function toRecordSchema(of: Entity): OpenApiObject {
  return {
    type: 'object',
    description: of.description,
    properties: Object.fromEntries([...of.fields.values()].map(f => [f.name, toPropertySchema(of, f)])),
  }
}

/** The body that creates a record: a record with the fields that a draft cannot do without. */
export function toCreateSchema(of: Entity): OpenApiObject {
  return {
    allOf: [
      toComponentRef('schemas', of.typeName),
      { type: 'object', required: of.scalars.filter(s => s.required).map(s => s.name) },
    ],
  }
}

/** A page of records (interface 2.5). */
export function toPageSchema(of: Entity): OpenApiObject {
  const properties: OpenApiObject = {
    '@odata.context': { type: 'string' },
    '@odata.count': { type: 'integer', description: 'Only with $count=true.' },
    value: { type: 'array', items: toComponentRef('schemas', of.typeName) },
    '@odata.nextLink': {
      type: 'string',
      format: 'uri',
      description: 'Address of the next page; absent on the last one.',
    },
  }
  return { type: 'object', properties, required: ['@odata.context', 'value'] }
}

function toPropertySchema(of: Entity, field: Field): OpenApiObject {
  if (field.kind === 'scalar') return toScalarSchema(of, field)
  const record = toComponentRef('schemas', getEntity(field.target).typeName)
  const shape: OpenApiObject = field.collection
    ? { type: 'array', items: record }
    : { anyOf: [record, { type: 'null' }] }
  return { ...shape, description: `${field.description} Only with $expand.`, readOnly: true }
}

function toScalarSchema(
  { writable }: Entity,
  { type, collection, nullable, maxLength, lookup, ...field }: Scalar,
): OpenApiObject {
  const { type: name, ...form } = {
    ...SCHEMAS_BY_EDM_TYPE[type],
    ...(maxLength !== undefined && { maxLength }),
  }
  const shape: OpenApiObject = collection
    ? { type: 'array', items: { type: name, ...form } }
    : { type: nullable ? [name, 'null'] : name, ...form }
  return {
    ...shape,
    description: lookup ? `${field.description} Values: Lookup ${lookup.name}.` : field.description,
    ...(writable && field.setBy === 'service' && { readOnly: true }),
    ...(field.readableBy === 'nobody' && { writeOnly: true }),
  }
}
