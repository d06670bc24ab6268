import { requireWriteScope } from '../../domain/actor.js'
import type { Precondition } from '../../domain/write-shape.js'
import { readEntityTags } from '../../http/etag.js'
import type { WrittenRecord } from '../../service/admin/record-writer.js'
import type { ReturnRequest } from '../../service/write-response.js'
import { contextMember, prependMembers, stringMember, toRecordRepresentation } from '../protocol/json-body.js'
import { type JsonFormat, negotiateJsonFormat } from '../protocol/negotiate.js'
import { type Preferences, readPreferences } from '../protocol/prefer.js'
import { toCanonicalUrl, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, type ODataServices, requestedFormatOf } from '../protocol/request.js'
import { etagHeader, jsonResponse, noContent, type ODataResponse } from '../protocol/response.js'
import { checkAllowedOptions, parseQuery } from '../url/query-options.js'
import type { CollectionPath, RecordPath } from '../url/resource-path.js'

/** Options of the response to a write. They are read before anything is written. */
interface WriteResponseOptions {
  readonly format: JsonFormat
  readonly returnPreference: Preferences['return']
  readonly returnRequest: ReturnRequest
}

/** Creates a record in its entity set (Part 1, 11.4.2). */
export async function createRecord(
  request: ODataRequest,
  path: CollectionPath,
  service: ODataServices,
): Promise<ODataResponse> {
  requireWriteScope(request.actor, path.entity)
  const responseOptions = readWriteResponseOptions(request)
  const writer = service.writerOf(path.entity)
  const written = await writer.create(request.readBody, request.actor, responseOptions.returnRequest)
  return toWriteResponse(request, path, responseOptions, written, 201)
}

/** Changes the fields that the body names (Part 1, 11.4.3). */
export const patchRecord = (
  request: ODataRequest,
  path: RecordPath,
  service: ODataServices,
): Promise<ODataResponse> => updateRecord(request, path, service, 'update')

/** Replaces all fields that clients can write. */
export const replaceRecord = (
  request: ODataRequest,
  path: RecordPath,
  service: ODataServices,
): Promise<ODataResponse> => updateRecord(request, path, service, 'replace')

async function updateRecord(
  request: ODataRequest,
  path: RecordPath,
  service: ODataServices,
  mode: 'update' | 'replace',
): Promise<ODataResponse> {
  requireWriteScope(request.actor, path.entity)
  const responseOptions = readWriteResponseOptions(request)
  const condition = readPrecondition(request)
  const written = await service
    .writerOf(path.entity)
    [mode](keyOfPath(path), request.readBody, request.actor, condition, responseOptions.returnRequest)
  return toWriteResponse(request, path, responseOptions, written, 200)
}

/** Deletes a record (Part 1, 11.4.5). A body, which some clients send, is ignored. */
export async function deleteRecord(
  request: ODataRequest,
  path: RecordPath,
  service: ODataServices,
): Promise<ODataResponse> {
  requireWriteScope(request.actor, path.entity)
  checkAllowedOptions(request.options, 'reference')
  const writer = service.writerOf(path.entity)
  await writer.remove(keyOfPath(path), request.actor, readPrecondition(request))
  return noContent()
}

/** A record in its own entity set always has a key. */
const keyOfPath = ({ key = '' }: RecordPath): string => key

function readWriteResponseOptions(request: ODataRequest): WriteResponseOptions {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  const query = parseQuery(request.options, 'record', request.limits, request.plans)
  const returnPreference = readPreferences(request.headers.prefer).return
  return {
    format,
    returnPreference,
    returnRequest: {
      query,
      representation: toRecordRepresentation(format, request),
      isMinimal: returnPreference === 'minimal',
      isWhole: returnPreference === 'representation',
      selectOption: '$select',
    },
  }
}

function readPrecondition({ headers }: ODataRequest): Precondition {
  const ifMatch = readEntityTags('If-Match', headers['if-match'])
  const ifNoneMatch = readEntityTags('If-None-Match', headers['if-none-match'])
  return { ...(ifMatch && { ifMatch }), ...(ifNoneMatch && { ifNoneMatch }) }
}

/** A cache must not store a secret. */
const cachingOf = ({ hasSecret }: WrittenRecord): ODataResponse['headers'] =>
  hasSecret ? { 'Cache-Control': 'no-store' } : {}

function toWriteResponse(
  request: ODataRequest,
  { entity }: CollectionPath | RecordPath,
  { format, returnPreference: preference }: WriteResponseOptions,
  written: WrittenRecord,
  status: 200 | 201,
): ODataResponse {
  const { root, version } = request
  // A secret is sent whatever the client prefers.
  const returnPreference = written.hasSecret && preference === 'minimal' ? undefined : preference
  const url = root + toCanonicalUrl(entity, written.key)
  const applied: ODataResponse['headers'] = returnPreference
    ? { 'Preference-Applied': `return=${returnPreference}` }
    : {}
  const headers = {
    Location: url,
    'OData-EntityId': url,
    ...etagHeader(written.version),
    ...applied,
    ...cachingOf(written),
  }
  // RESO's certification reads the id from a header without prefix.
  if (returnPreference === 'minimal') return noContent({ ...headers, EntityId: url })
  const fragment = `$metadata#${entity.name}${toSelectList(written.query, entity, version)}/$entity`
  // The owner's interface shows a relative context on create. A client that requests the representation gets
  // absolute links.
  const isRelative = status === 201 && returnPreference === undefined
  const links =
    returnPreference === 'representation' && format.metadata === 'minimal'
      ? [stringMember('@odata.id', url), stringMember('@odata.editLink', url)]
      : []
  return jsonResponse(
    format,
    prependMembers([contextMember(format, isRelative ? fragment : root + fragment), ...links], written.json),
    headers,
    status,
  )
}
