import { fail } from '../errors/problem.js'
import type { Answer } from './answer.js'
import { readMetadata, readService } from './documents.js'
import { readEntityId } from './entity-id.js'
import type { CollectionPath, RecordPath, ResourcePath } from './path.js'
import { readByBody } from './query-body.js'
import { readCollection, readCount, readReferences } from './read-collection.js'
import { readRecord, readReference, readValue } from './read-record.js'
import type { ODataRequest, Service } from './request.js'
import { changeRecord, createRecord, removeRecord, replaceRecord } from './writes.js'

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
type Handler = (request: ODataRequest, service: Service) => Answer | Promise<Answer>
export type Routes = { readonly [M in Method]?: Handler }

/** What can be done with what a path names. HEAD goes with GET, OPTIONS with everything. */
export function routesOf(path: ResourcePath): Routes {
  switch (path.kind) {
    case 'service':
      return { GET: readService }
    case 'metadata':
      return { GET: readMetadata }
    case 'batch':
      return { POST: refuseBatch }
    case 'entityId':
      return { GET: readEntityId }
    case 'collection':
      return COLLECTION[path.form](path)
    case 'record':
      return RECORD[path.form](path)
    case 'value':
      return { GET: on(path, readValue) }
  }
}

/** Binds a handler to the path that it is for. */
const on =
  <P extends ResourcePath>(path: P, handle: (request: ODataRequest, path: P, service: Service) => Promise<Answer>): Handler =>
  (request, service) =>
    handle(request, path, service)

/** A batch of its own is served before there are routes; this is one inside of another (Part 1, 11.7). */
const refuseBatch: Handler = () => fail({ kind: 'BadRequest', reason: 'a batch can hold no other batch' })

const byBody =
  <P extends ResourcePath>(path: P, read: (request: ODataRequest, path: P, service: Service) => Promise<Answer>): Handler =>
  (request, service) =>
    readByBody(request, path, service, read)

/** Only a record in its own entity set is written: what a navigation shows of it is for reading. */
const isWritable = ({ entity, hops }: CollectionPath | RecordPath): boolean => entity.writable && hops.length === 0

const COLLECTION: { readonly [F in CollectionPath['form']]: (path: CollectionPath) => Routes } = {
  records: path => ({ GET: on(path, readCollection), ...(isWritable(path) && path.filters.length === 0 && { POST: on(path, createRecord) }) }),
  count: path => ({ GET: on(path, readCount) }),
  references: path => ({ GET: on(path, readReferences) }),
  query: path => ({ POST: byBody(path, readCollection) }),
}

const RECORD: { readonly [F in RecordPath['form']]: (path: RecordPath) => Routes } = {
  record: path => ({
    GET: on(path, readRecord),
    ...(isWritable(path) && { PATCH: on(path, changeRecord), PUT: on(path, replaceRecord), DELETE: on(path, removeRecord) }),
  }),
  reference: path => ({ GET: on(path, readReference) }),
  query: path => ({ POST: byBody(path, readRecord) }),
}
