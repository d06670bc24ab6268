import { fail } from '../errors/problem.js'
import type { Answer } from './answer.js'
import { readMetadata, readService } from './documents.js'
import { readEntityId } from './entity-id.js'
import type { CollectionPath, RecordPath, ResourcePath } from './path.js'
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
      return { POST: notBuilt('$batch') }
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

const notBuilt =
  (feature: string): Handler =>
  () =>
    fail({ kind: 'NotImplemented', feature })

/** Only a record in its own entity set is written: what a navigation shows of it is for reading. */
const isWritable = ({ entity, hops }: CollectionPath | RecordPath): boolean => entity.writable && hops.length === 0

const COLLECTION: { readonly [F in CollectionPath['form']]: (path: CollectionPath) => Routes } = {
  records: path => ({ GET: on(path, readCollection), ...(isWritable(path) && path.filters.length === 0 && { POST: on(path, createRecord) }) }),
  count: path => ({ GET: on(path, readCount) }),
  references: path => ({ GET: on(path, readReferences) }),
  query: () => ({ POST: notBuilt('$query') }),
}

const RECORD: { readonly [F in RecordPath['form']]: (path: RecordPath) => Routes } = {
  record: path => ({
    GET: on(path, readRecord),
    ...(isWritable(path) && { PATCH: on(path, changeRecord), PUT: on(path, replaceRecord), DELETE: on(path, removeRecord) }),
  }),
  reference: path => ({ GET: on(path, readReference) }),
  query: () => ({ POST: notBuilt('$query') }),
}
