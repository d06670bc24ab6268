import { fail } from '../errors/problem.js'
import { REASONS } from '../errors/reasons.js'
import { getCollection, getCollectionCount, getCollectionReferences } from './handlers/read-collection.js'
import { getDigest } from './handlers/read-digest.js'
import { getEntityById, getPropertyValue, getRecord, getRecordReference } from './handlers/read-record.js'
import { createRecord, deleteRecord, patchRecord, replaceRecord } from './handlers/write-record.js'
import { getMetadataDocument, getOpenApiDocument, getServiceDocument } from './metadata/service-document.js'
import type { ODataRequest, ODataServices } from './protocol/request.js'
import type { ODataResponse, StreamedODataResponse } from './protocol/response.js'
import { readQueryOptions } from './url/query-options.js'
import type {
  CollectionPath,
  FunctionPath,
  RecordPath,
  ResourcePath,
  ValuePath,
} from './url/resource-path.js'

type RouteMethod = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
type RouteHandler<P> = (
  request: ODataRequest,
  path: P,
  service: ODataServices,
) => RouteResponse | Promise<RouteResponse>
type RouteResponse = ODataResponse | StreamedODataResponse
export type ResourceRoutes<P> = { readonly [M in RouteMethod]?: RouteHandler<P> }

/**
 * Dispatches a request by the kind of its path and its method. GET also handles HEAD, and every path handles
 * OPTIONS.
 */
export function withRoutes<R>(path: ResourcePath, callback: <P>(routes: ResourceRoutes<P>, path: P) => R): R {
  switch (path.kind) {
    case 'service':
      return callback(SERVICE_DOCUMENT_ROUTES, path)
    case 'metadata':
      return callback(METADATA_ROUTES, path)
    case 'openapi':
      return callback(OPENAPI_ROUTES, path)
    case 'batch':
      return callback(NESTED_BATCH_ROUTES, path)
    case 'entityId':
      return callback(ENTITY_BY_ID_ROUTES, path)
    case 'collection':
      return callback(collectionRoutes(path), path)
    case 'record':
      return callback(recordRoutes(path), path)
    case 'value':
      return callback(VALUE_ROUTES, path)
    case 'function':
      return callback(FUNCTION_ROUTES[path.form], path)
  }
}

const withOptionsInBody =
  <P>(
    read: (request: ODataRequest, path: P, service: ODataServices) => Promise<RouteResponse>,
  ): RouteHandler<P> =>
  (request, path, service) =>
    readWithOptionsInBody(request, path, service, read)

const SERVICE_DOCUMENT_ROUTES: ResourceRoutes<unknown> = { GET: getServiceDocument }
const METADATA_ROUTES: ResourceRoutes<unknown> = { GET: getMetadataDocument }
const OPENAPI_ROUTES: ResourceRoutes<unknown> = { GET: getOpenApiDocument }
/** Refuses a batch inside another batch (Part 1, 11.7). Other batches do not reach the routes. */
const NESTED_BATCH_ROUTES: ResourceRoutes<unknown> = {
  POST: () => fail({ kind: 'BadRequest', reason: REASONS.batchInBatch }),
}
const ENTITY_BY_ID_ROUTES: ResourceRoutes<unknown> = { GET: getEntityById }
const VALUE_ROUTES: ResourceRoutes<ValuePath> = { GET: getPropertyValue }
const FUNCTION_ROUTES: { readonly [F in FunctionPath['form']]: ResourceRoutes<FunctionPath> } = {
  call: { GET: getDigest },
  query: { POST: withOptionsInBody(getDigest) },
}

const COLLECTION_ROUTES: { readonly [F in CollectionPath['form']]: ResourceRoutes<CollectionPath> } = {
  records: { GET: getCollection },
  count: { GET: getCollectionCount },
  references: { GET: getCollectionReferences },
  query: { POST: withOptionsInBody(getCollection) },
}
const WRITABLE_COLLECTION_ROUTES: ResourceRoutes<CollectionPath> = {
  ...COLLECTION_ROUTES.records,
  POST: createRecord,
}

const RECORD_ROUTES: { readonly [F in RecordPath['form']]: ResourceRoutes<RecordPath> } = {
  record: { GET: getRecord },
  reference: { GET: getRecordReference },
  query: { POST: withOptionsInBody(getRecord) },
}
const DELETABLE_RECORD_ROUTES: ResourceRoutes<RecordPath> = {
  ...RECORD_ROUTES.record,
  DELETE: deleteRecord,
}
const WRITABLE_RECORD_ROUTES: ResourceRoutes<RecordPath> = {
  ...RECORD_ROUTES.record,
  PATCH: patchRecord,
  PUT: replaceRecord,
  DELETE: deleteRecord,
}

/** Only a record in its own entity set can be written, not the target of a navigation. */
const isWritable = ({ entity, navigationPath }: CollectionPath | RecordPath): boolean =>
  entity.writable && navigationPath.length === 0

const collectionRoutes = (path: CollectionPath): ResourceRoutes<CollectionPath> =>
  path.form === 'records' && path.filters.length === 0 && isWritable(path)
    ? WRITABLE_COLLECTION_ROUTES
    : COLLECTION_ROUTES[path.form]

const recordRoutes = (path: RecordPath): ResourceRoutes<RecordPath> => {
  if (path.form !== 'record' || !isWritable(path)) return RECORD_ROUTES[path.form]
  return path.entity.immutable ? DELETABLE_RECORD_ROUTES : WRITABLE_RECORD_ROUTES
}

/**
 * Reads with options in a text/plain body, percent-encoded like a query string (Part 2, 4.17). They are
 * combined with the options of the URL, so an option in both is a duplicate. Links of the response contain
 * all options and are followed by GET.
 */
export async function readWithOptionsInBody<P>(
  request: ODataRequest,
  path: P,
  service: ODataServices,
  read: (request: ODataRequest, path: P, service: ODataServices) => Promise<RouteResponse>,
): Promise<RouteResponse> {
  const rawQuery = [request.rawQuery, toQueryString(await request.readText())]
    .filter(part => part !== '')
    .join('&')
  const rawPath = request.rawPath.replace(/\/+[^/]+\/*$/, '')
  return read(
    { ...request, rawPath, rawQuery, options: readQueryOptions(rawQuery, request.plans) },
    path,
    service,
  )
}

/**
 * Removes a line break at the end, which files have, and encodes spaces, which some clients do not encode.
 */
const toQueryString = (text: string): string => text.trim().replace(/^\?/, '').replaceAll(' ', '%20')
