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

/** JSON forms of the types (OData JSON 4.01, 7.1). `type` is separate, because null can be added to it. */
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

/** Returns the schema of values of a primitive type, such as `String`. */
export function toPrimitiveSchema(type: string): OpenApiObject {
  const schema = Object.entries(SCHEMAS_BY_EDM_TYPE).find(([name]) => name === type)?.[1]
  if (!schema) throw new Error(`No primitive type ${type}`)
  return schema
}

/** A record of an entity. Fields that only the service sets are `readOnly`, fields that are never shown `writeOnly`. */
export function toRecordSchema(of: Entity): OpenApiObject {
  return {
    type: 'object',
    description: of.description,
    properties: {
      ...(of.hidden.has('RecordVersion') && { '@odata.etag': ETAG_SCHEMA }),
      ...(of.fields.has('LastEventSequence') && { '@removed': REMOVED_SCHEMA, '@odata.id': ID_SCHEMA }),
      ...Object.fromEntries([...of.fields.values()].map(f => [f.name, toPropertySchema(of, f)])),
    },
  }
}

const ETAG_SCHEMA: OpenApiObject = {
  type: 'string',
  description: 'The version of the record, for If-Match and If-None-Match.',
  readOnly: true,
}

const REMOVED_SCHEMA: OpenApiObject = {
  type: 'object',
  description: 'Only in the changes since a $deltatoken: the record is deleted, or no longer in the result.',
  properties: { reason: { enum: ['deleted', 'changed'], description: 'The reason for the removal.' } },
  readOnly: true,
}

const ID_SCHEMA: OpenApiObject = {
  type: 'string',
  format: 'uri',
  description: 'The URL of the record, if its key is not in the result or the record was removed.',
  readOnly: true,
}

const WRITE_DESCRIPTIONS = {
  create: 'A new record. Fields that the service sets are ignored.',
  replace:
    'All fields that clients can write. ChangedByMemberKey is required unless the token names a member.',
  update: 'The fields to change. ChangedByMemberKey is required unless the token names a member.',
} as const

/**
 * Returns the body of a write. A new record and a replacement need the required fields; no write may clear one,
 * and a blank text counts as none.
 */
export function toWriteSchema(of: Entity, mode: keyof typeof WRITE_DESCRIPTIONS): OpenApiObject {
  const required = of.scalars.filter(s => s.required)
  const signature = mode === 'create' ? [] : of.scalars.filter(s => s.readableBy === 'nobody')
  const properties = Object.fromEntries([...required, ...signature].map(s => [s.name, NOT_BLANK]))
  return {
    description: WRITE_DESCRIPTIONS[mode],
    allOf: [
      toComponentRef('schemas', of.typeName),
      {
        type: 'object',
        properties,
        ...(mode !== 'update' && { required: required.map(s => s.name) }),
      },
    ],
  }
}

const NOT_BLANK: OpenApiObject = { type: 'string', minLength: 1, pattern: String.raw`\S` }

/** A page of records (interface 2.5). */
export function toPageSchema(of: Entity): OpenApiObject {
  const properties: OpenApiObject = {
    '@odata.context': {
      type: 'string',
      description: 'The URL of the description of the records in $metadata.',
    },
    '@odata.count': { type: 'integer', description: 'The number of all records, with $count=true.' },
    value: {
      type: 'array',
      description: 'The records of the page.',
      items: toComponentRef('schemas', of.typeName),
    },
    '@odata.nextLink': {
      type: 'string',
      format: 'uri',
      description: 'The URL of the next page. The last page has none.',
    },
    '@odata.deltaLink': {
      type: 'string',
      format: 'uri',
      description:
        'The URL of the changes since the first page, on the last page of a query with track-changes.',
    },
  }
  return {
    type: 'object',
    description: `A page of ${of.name}.`,
    properties,
    required: ['@odata.context', 'value'],
  }
}

const text = (description: string): OpenApiObject => ({ type: 'string', description })
const HEADERS_SCHEMA: OpenApiObject = {
  type: 'object',
  description: 'Headers by their names.',
  additionalProperties: { type: 'string' },
}
const BATCH_ITEM: OpenApiObject = {
  id: { type: 'string', minLength: 1, description: 'Name of the request, unique in the batch.' },
  atomicityGroup: text('Name of the group of writes that all succeed or all fail.'),
  headers: HEADERS_SCHEMA,
}

/** The bodies of $batch in JSON (OData JSON 4.01, 19). */
export const BATCH_SCHEMAS: OpenApiObject = {
  BatchRequest: toListSchema('requests', 'The requests of a batch.', ['id', 'method', 'url'], {
    ...BATCH_ITEM,
    method: {
      enum: ['GET', 'HEAD', 'OPTIONS', 'POST', 'PATCH', 'PUT', 'DELETE'],
      description: 'Method of the request.',
    },
    url: text(
      'URL of the request, relative to the service root. `$1` at its beginning is the record that request `1` created.',
    ),
    dependsOn: {
      type: 'array',
      description: 'Earlier requests and groups that must have succeeded.',
      items: { type: 'string' },
    },
    body: { description: 'Body of the request: JSON, or a string for other types.' },
  }),
  BatchResponse: toListSchema('responses', 'The responses to a batch.', ['id', 'status'], {
    ...BATCH_ITEM,
    status: { type: 'integer', description: 'The HTTP status.' },
    body: { description: 'Body of the response: JSON, or a string for other types.' },
  }),
}

function toListSchema(
  name: string,
  description: string,
  required: readonly string[],
  properties: OpenApiObject,
): OpenApiObject {
  const items = { type: 'object', properties, required }
  return {
    type: 'object',
    description,
    properties: { [name]: { type: 'array', description, items } },
    required: [name],
  }
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
