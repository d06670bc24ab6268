import { type Entity, getEntity, isAdminEntity, type Navigation } from '../../model/model.js'
import { SEARCHABLE_ENTITIES } from '../../query/limits.js'
import type { OpenApiParameterName } from './openapi-parameters.js'
import {
  collectionContent,
  jsonContent,
  noContentResponse,
  type OperationKind,
  toErrorRefs,
} from './openapi-responses.js'
import { type OpenApiObject, type OpenApiValue, toComponentRef } from './openapi-schemas.js'

const RECORD_PARAMETERS: readonly OpenApiParameterName[] = ['select', 'expand', 'compute', 'format']
const PAGE_PARAMETERS: readonly OpenApiParameterName[] = [
  'filter',
  'orderby',
  'top',
  'skip',
  'count',
  'skiptoken',
  'deltatoken',
  'preferPage',
  'apply',
  ...RECORD_PARAMETERS,
]

interface OperationTexts {
  readonly id: string
  readonly summary: string
  readonly description: string
}

/** Returns an operation with the errors of its kind. */
export function toOperation(
  kind: OperationKind,
  { id, summary, description }: OperationTexts,
  responses: OpenApiObject,
  of?: Entity,
): OpenApiObject {
  return {
    operationId: id,
    summary,
    description,
    ...(of && { tags: [of.name] }),
    responses: {
      ...responses,
      ...toErrorRefs(kind),
      default: jsonContent('Any other error.', toComponentRef('schemas', 'Error')),
    },
  }
}

const withSearch = (of: Entity, names: readonly OpenApiParameterName[]): readonly OpenApiParameterName[] =>
  SEARCHABLE_ENTITIES.has(of.name) ? ['search', ...names] : names
export const toParameterRefs = (names: readonly OpenApiParameterName[]): readonly OpenApiValue[] =>
  names.map(name => toComponentRef('parameters', name))

export function listOperation(of: Entity, id = `list${of.name}`): OpenApiObject {
  const texts = {
    id,
    summary: `A page of ${of.name}`,
    description: `${of.description} Follow @odata.nextLink for the next page.`,
  }
  const page = collectionContent(toComponentRef('schemas', `${of.typeName}Page`))
  return {
    ...toOperation('list', texts, { 200: page }, of),
    parameters: toParameterRefs(withSearch(of, PAGE_PARAMETERS)),
  }
}

export function countOperation(of: Entity): OpenApiObject {
  const texts = {
    id: `count${of.name}`,
    summary: `The number of ${of.name}`,
    description: 'The number of records that the filter selects, as plain text.',
  }
  const number = {
    description: 'A whole number.',
    content: { 'text/plain': { schema: { type: 'integer', minimum: 0 } } },
  }
  return {
    ...toOperation('list', texts, { 200: number }, of),
    parameters: toParameterRefs(withSearch(of, ['filter'])),
  }
}

export function readOperation(of: Entity): OpenApiObject {
  const texts = { id: `get${of.name}`, summary: `One record of ${of.name}`, description: of.description }
  return toReadOperation(of, texts, {})
}

function toReadOperation(of: Entity, texts: OperationTexts, otherResponses: OpenApiObject): OpenApiObject {
  const responses = {
    200: jsonContent('The record.', toComponentRef('schemas', of.typeName), ['ETag']),
    ...otherResponses,
    304: noContentResponse('The record still has the ETag of If-None-Match.', ['ETag']),
  }
  return {
    ...toOperation('read', texts, responses, of),
    parameters: toParameterRefs([...RECORD_PARAMETERS, 'ifMatch', 'ifNoneMatch']),
  }
}

export function navigationOperation(
  of: Entity,
  { name, collection, target, description }: Navigation,
): OpenApiObject {
  const id = `get${of.name}${name}`
  const texts = { id, summary: `${name} of one record of ${of.name}`, description }
  const operation = collection
    ? listOperation(getEntity(target), id)
    : toReadOperation(getEntity(target), texts, { 204: noContentResponse('There is no such record.') })
  return { ...operation, ...(collection && { summary: texts.summary }), tags: [of.name] }
}

/** Descriptions of the writes of an entity. */
const textsOf = (of: Entity) => (isAdminEntity(of) ? ADMIN_TEXTS : LISTING_TEXTS)

const LISTING_TEXTS = {
  noun: 'draft',
  create: 'The service creates the key and sets the status. All faults of the body are reported together.',
  change:
    'Changes the fields of the body. Other fields are unchanged. StandardStatus changes only along the published transitions.',
  replace: 'Replaces all fields that clients can write. StandardStatus is unchanged if the body omits it.',
  delete: 'Deletes the record and the records that belong to it.',
} as const
const ADMIN_TEXTS = {
  noun: 'record',
  create:
    'Only this response has the secret of the record, if it has one. All faults of the body are reported together.',
  change: 'Changes the fields of the body. Other fields are unchanged.',
  replace: 'Replaces all fields that clients can write.',
  delete: 'Deletes the record.',
} as const

export function createOperation(of: Entity): OpenApiObject {
  const { noun, create: description } = textsOf(of)
  const texts = { id: `create${of.name}`, summary: `Create a ${noun} of ${of.name}`, description }
  const responses = {
    201: jsonContent(`The new ${noun}.`, toComponentRef('schemas', of.typeName), [
      'Location',
      'OData-EntityId',
      'ETag',
      'Preference-Applied',
    ]),
    204: noContentResponse('Created. The request preferred a response without content.', [
      'Location',
      'OData-EntityId',
      'ETag',
      'Preference-Applied',
    ]),
  }
  return {
    ...toOperation('create', texts, responses, of),
    parameters: toParameterRefs(['preferReturn']),
    requestBody: toRequestBody(`The fields of the ${noun}.`, `${of.typeName}Create`),
  }
}

export const toWriteOperations = (of: Entity): OpenApiObject => ({
  ...(!of.immutable && {
    patch: updateOperation(of, `${of.typeName}Update`, {
      id: `change${of.name}`,
      summary: `Change fields of ${of.name}`,
      description: textsOf(of).change,
    }),
    put: updateOperation(of, `${of.typeName}Replace`, {
      id: `replace${of.name}`,
      summary: `Replace ${of.name}`,
      description: textsOf(of).replace,
    }),
  }),
  delete: deleteOperation(of),
})

const deleteOperation = (of: Entity): OpenApiObject => ({
  ...toOperation(
    'remove',
    { id: `delete${of.name}`, summary: `Delete ${of.name}`, description: textsOf(of).delete },
    { 204: noContentResponse('Deleted.') },
    of,
  ),
  parameters: toParameterRefs(['ifMatch', 'ifNoneMatch']),
})

function updateOperation(of: Entity, schema: string, texts: OperationTexts): OpenApiObject {
  const headers = ['ETag', 'Location', 'OData-EntityId', 'Preference-Applied'] as const
  const responses = {
    200: jsonContent('The record after the change.', toComponentRef('schemas', of.typeName), headers),
    204: noContentResponse('Changed. The request preferred a response without content.', headers),
  }
  return {
    ...toOperation('update', texts, responses, of),
    parameters: toParameterRefs(['ifMatch', 'ifNoneMatch', 'preferReturn']),
    requestBody: toRequestBody('The fields to write.', schema),
  }
}

const toRequestBody = (description: string, schema: string): OpenApiObject => ({
  required: true,
  ...jsonContent(description, toComponentRef('schemas', schema)),
})
