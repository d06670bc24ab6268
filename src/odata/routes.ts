import { fail } from '../errors/problem.js'
import { readCollection, readCount, readReferences } from './handlers/read-collection.js'
import { readEntityId, readRecord, readReference, readValue } from './handlers/read-record.js'
import { changeRecord, createRecord, removeRecord, replaceRecord } from './handlers/write-record.js'
import { readMetadata, readService } from './metadata/service-document.js'
import type { ODataRequest, Service } from './protocol/request.js'
import type { Answer } from './protocol/response.js'
import { readOptions } from './url/options.js'
import type { CollectionPath, RecordPath, ResourcePath, ValuePath } from './url/path.js'

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
type Handler<P> = (request: ODataRequest, path: P, service: Service) => Answer | Promise<Answer>
export type Routes<P> = { readonly [M in Method]?: Handler<P> }

/** Hands on what can be done with what a path names. HEAD goes with GET, OPTIONS with everything. */
export function withRoutes<R>(path: ResourcePath, use: <P>(routes: Routes<P>, path: P) => R): R {
  switch (path.kind) {
    case 'service':
      return use(SERVICE, path)
    case 'metadata':
      return use(METADATA, path)
    case 'batch':
      return use(BATCH, path)
    case 'entityId':
      return use(ENTITY_ID, path)
    case 'collection':
      return use(collectionRoutes(path), path)
    case 'record':
      return use(recordRoutes(path), path)
    case 'value':
      return use(VALUE, path)
  }
}

const byBody =
  <P>(read: (request: ODataRequest, path: P, service: Service) => Promise<Answer>): Handler<P> =>
  (request, path, service) =>
    readByBody(request, path, service, read)

const SERVICE: Routes<unknown> = { GET: readService }
const METADATA: Routes<unknown> = { GET: readMetadata }
/** A batch of its own is served before there are routes; this is one inside of another (Part 1, 11.7). */
const BATCH: Routes<unknown> = {
  POST: () => fail({ kind: 'BadRequest', reason: 'a batch can hold no other batch' }),
}
const ENTITY_ID: Routes<unknown> = { GET: readEntityId }
const VALUE: Routes<ValuePath> = { GET: readValue }

const COLLECTION: { readonly [F in CollectionPath['form']]: Routes<CollectionPath> } = {
  records: { GET: readCollection },
  count: { GET: readCount },
  references: { GET: readReferences },
  query: { POST: byBody(readCollection) },
}
const WRITABLE_COLLECTION: Routes<CollectionPath> = { ...COLLECTION.records, POST: createRecord }

const RECORD: { readonly [F in RecordPath['form']]: Routes<RecordPath> } = {
  record: { GET: readRecord },
  reference: { GET: readReference },
  query: { POST: byBody(readRecord) },
}
const WRITABLE_RECORD: Routes<RecordPath> = {
  ...RECORD.record,
  PATCH: changeRecord,
  PUT: replaceRecord,
  DELETE: removeRecord,
}

/** Only a record in its own entity set is written: what a navigation shows of it is for reading. */
const isWritable = ({ entity, hops }: CollectionPath | RecordPath): boolean =>
  entity.writable && hops.length === 0

const collectionRoutes = (path: CollectionPath): Routes<CollectionPath> =>
  path.form === 'records' && path.filters.length === 0 && isWritable(path)
    ? WRITABLE_COLLECTION
    : COLLECTION[path.form]

const recordRoutes = (path: RecordPath): Routes<RecordPath> =>
  path.form === 'record' && isWritable(path) ? WRITABLE_RECORD : RECORD[path.form]

/**
 * A read whose options stand in the body, as text/plain, percent-encoded like a query string (Part 2, 4.17).
 * They are joined with those of the URL, so an option in both is given twice; links of the answer carry all
 * of them and are followed by GET.
 */
export async function readByBody<P>(
  request: ODataRequest,
  path: P,
  service: Service,
  read: (request: ODataRequest, path: P, service: Service) => Promise<Answer>,
): Promise<Answer> {
  const rawQuery = [request.rawQuery, toQueryString(await request.readText())]
    .filter(part => part !== '')
    .join('&')
  const rawPath = request.rawPath.replace(/\/+[^/]+\/*$/, '')
  return read({ ...request, rawPath, rawQuery, options: readOptions(rawQuery) }, path, service)
}

/** A line end behind it is that of a file, and blanks are left as they are by some who write it. */
const toQueryString = (text: string): string => text.trim().replace(/^\?/, '').replaceAll(' ', '%20')
