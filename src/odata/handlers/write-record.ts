import type { Precondition } from '../../domain/precondition.js'
import { readEntityTags } from '../../http/etag.js'
import type { Query } from '../../query/ast.js'
import type { Written, WrittenView } from '../../service/writing.js'
import { context, renderRecord, text, toNotation } from '../protocol/json-body.js'
import { chooseDataFormat, type DataFormat } from '../protocol/negotiate.js'
import { type Preferences, readPreferences } from '../protocol/prefer.js'
import { toRecordUrl, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, type Service, wishOf } from '../protocol/request.js'
import { type Answer, jsonAnswer, noContent, tagHeader } from '../protocol/response.js'
import { checkOptions, readQuery } from '../url/options.js'
import type { CollectionPath, RecordPath } from '../url/path.js'

/** How a write is to be answered. All of it is read before anything is written. */
interface Reply {
  readonly format: DataFormat
  readonly query: Query
  readonly form: Preferences['return']
  readonly view: WrittenView
}

/** Creates a record in its entity set (Part 1, 11.4.2). */
export async function createRecord(
  request: ODataRequest,
  path: CollectionPath,
  { writing }: Service,
): Promise<Answer> {
  const reply = readReply(request)
  const written = await writing.create(await request.readBody(), request.actor, reply.view)
  return toAnswer(request, path, reply, written, 201)
}

/** Changes the fields that the body names (Part 1, 11.4.3). */
export const changeRecord = (request: ODataRequest, path: RecordPath, service: Service): Promise<Answer> =>
  updateRecord(request, path, service, 'change')

/** Replaces all fields that clients can write. */
export const replaceRecord = (request: ODataRequest, path: RecordPath, service: Service): Promise<Answer> =>
  updateRecord(request, path, service, 'replace')

async function updateRecord(
  request: ODataRequest,
  path: RecordPath,
  { writing }: Service,
  mode: 'change' | 'replace',
): Promise<Answer> {
  const reply = readReply(request)
  const condition = readPrecondition(request)
  const written = await writing[mode](
    keyIn(path),
    await request.readBody(),
    request.actor,
    condition,
    reply.view,
  )
  return toAnswer(request, path, reply, written, 200)
}

/** Removes a record (Part 1, 11.4.5). What some client programs send as a body is not looked at. */
export async function removeRecord(
  request: ODataRequest,
  path: RecordPath,
  { writing }: Service,
): Promise<Answer> {
  checkOptions(request.options, 'reference')
  await writing.remove(keyIn(path), request.actor, readPrecondition(request))
  return noContent()
}

/** A record in its own entity set was named by its key. */
const keyIn = ({ key = '' }: RecordPath): string => key

function readReply(request: ODataRequest): Reply {
  const format = chooseDataFormat(wishOf(request))
  const query = readQuery(request.options, 'record', request.limits)
  const form = readPreferences(request.headers.prefer).return
  return { format, query, form, view: { query, notation: toNotation(format), brief: form === 'minimal' } }
}

function readPrecondition({ headers }: ODataRequest): Precondition {
  const ifMatch = readEntityTags('If-Match', headers['if-match'])
  const ifNoneMatch = readEntityTags('If-None-Match', headers['if-none-match'])
  return { ...(ifMatch && { ifMatch }), ...(ifNoneMatch && { ifNoneMatch }) }
}

function toAnswer(
  request: ODataRequest,
  { entity }: CollectionPath | RecordPath,
  { format, query, form }: Reply,
  written: Written,
  status: 200 | 201,
): Answer {
  const { root, version } = request
  const url = root + toRecordUrl(entity, written.key)
  const applied: Answer['headers'] = form ? { 'Preference-Applied': `return=${form}` } : {}
  const headers = { Location: url, 'OData-EntityId': url, ...tagHeader(written.version), ...applied }
  // RESO's certification looks for the id under a name without prefix.
  if (form === 'minimal') return noContent({ ...headers, EntityId: url })
  const fragment = `$metadata#${entity.name}${toSelectList(query, entity, version)}/$entity`
  // The owner's interface shows a relative context on create; who asks for the representation gets absolute
  // links.
  const isRelative = status === 201 && form === undefined
  const links =
    form === 'representation' && format.metadata !== 'none'
      ? [text('@odata.id', url), text('@odata.editLink', url)]
      : []
  return jsonAnswer(
    format,
    renderRecord([context(format, isRelative ? fragment : root + fragment), ...links], written.json),
    headers,
    status,
  )
}
