import { EXPECTED_VALUE, RESOURCES } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { matchesETag, readEntityTags } from '../../http/etag.js'
import type { ReadService, RecordJson } from '../../service/reading.js'
import {
  contextMember,
  extractOnlyValue,
  omitNulls,
  payloadMember,
  prependMembers,
  renderPayloadObject,
  stringMember,
  toRawValue,
  toRecordRepresentation,
  toValueRepresentation,
  typeMember,
} from '../protocol/json-body.js'
import { checkAcceptsText, negotiateJsonFormat } from '../protocol/negotiate.js'
import { readPreferences, toAppliedHeader } from '../protocol/prefer.js'
import {
  readKeyFromJson,
  toCanonicalUrl,
  toContextPath,
  toKeySelectItem,
  toSelectList,
} from '../protocol/record-url.js'
import { type ODataRequest, type ODataServices, requestedFormatOf } from '../protocol/request.js'
import {
  etagHeader,
  jsonResponse,
  noContent,
  type ODataResponse,
  textResponse,
} from '../protocol/response.js'
import { checkAllowedOptions, parseQuery, type ResourceKind } from '../url/query-options.js'
import { type RecordPath, readResourcePath, type ValuePath } from '../url/resource-path.js'

/** Returns one record (Part 1, 11.2.2): 404 if no record has that key, 204 if a navigation has no target. */
export async function getRecord(
  request: ODataRequest,
  path: RecordPath,
  { reading }: ODataServices,
  resourceKind: ResourceKind = 'record',
): Promise<ODataResponse> {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  const { options, limits, plans, scope } = request
  const query = scope.measure('parse', () => parseQuery(options, resourceKind, limits, plans))
  const found = await fetchRecord(request, path, reading, {
    query,
    representation: toRecordRepresentation(format, request),
  })
  if (!found) return path.key === undefined ? noContent() : failRecordNotFound(path, path.key)
  // The version covers only the record, not its expanded records.
  const unchanged = isNotModified(request, found) && !query.expand
  if (unchanged) return { status: 304, headers: etagHeader(found.version) }
  const url = `${request.root}$metadata#${path.entity.name}${toSelectList(query, path.entity, request.version)}/$entity`
  const { omitNulls: omission } = readPreferences(request.headers.prefer)
  return jsonResponse(
    format,
    prependMembers([contextMember(format, url)], omission ? omitNulls(found.json) : found.json),
    { ...etagHeader(found.version), ...toAppliedHeader(omission?.applied) },
  )
}

/** Returns the reference of one record. */
export async function getRecordReference(
  request: ODataRequest,
  path: RecordPath,
  { reading }: ODataServices,
): Promise<ODataResponse> {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'reference')
  const found = await fetchRecord(request, path, reading, {
    query: { select: [toKeySelectItem(path.entity)] },
    representation: toValueRepresentation({ ieee754Compatible: true }),
  })
  if (!found) return path.key === undefined ? noContent() : failRecordNotFound(path, path.key)
  const id = stringMember(
    '@odata.id',
    request.root + toCanonicalUrl(path.entity, readKeyFromJson(path.entity, found.json)),
  )
  return jsonResponse(
    format,
    renderPayloadObject([contextMember(format, `${request.root}$metadata#$ref`), id]),
  )
}

/** Returns one value of a record (Part 1, 11.2.4): as JSON, as plain text, or as a count. Null is 204. */
export async function getPropertyValue(
  request: ODataRequest,
  path: ValuePath,
  { reading }: ODataServices,
): Promise<ODataResponse> {
  const { scalar, form, navigationPath, entity, key } = path
  if (form !== 'value') checkAcceptsText(requestedFormatOf(request))
  const format = form === 'value' ? negotiateJsonFormat(requestedFormatOf(request)) : undefined
  checkAllowedOptions(request.options, 'value')
  const query = { select: [{ name: scalar.name, at: { source: 'the path' } }] }
  const found =
    (await fetchRecord(request, path, reading, {
      query,
      representation: toValueRepresentation({ ieee754Compatible: format?.ieee754Compatible ?? false }),
    })) ?? failRecordNotFound(path, key)
  const tag = etagHeader(found.version)
  if (isNotModified(request, found)) return { status: 304, headers: tag }
  const value = extractOnlyValue(scalar.name, found.json)
  if (value === 'null') return noContent(tag)
  if (!format)
    return textResponse(
      form === 'raw' ? toRawValue(value) : String((JSON.parse(value) as readonly unknown[]).length),
      tag,
    ) // only collections are counted
  const url = `${request.root}$metadata#${toContextPath(entity, key, navigationPath)}/${scalar.name}`
  return jsonResponse(
    format,
    renderPayloadObject([
      contextMember(format, url),
      typeMember(format, request, scalar),
      payloadMember('value', value),
    ]),
    tag,
  )
}

function fetchRecord(
  { actor, root }: ODataRequest,
  { navigationPath, entity, key }: RecordPath | ValuePath,
  reading: ReadService,
  readRequest: Parameters<ReadService['get']>[2],
): Promise<RecordJson | undefined> {
  const request = { ...readRequest, serviceRoot: () => root }
  const parentFilter = reading.resolvePath(navigationPath, actor)
  return parentFilter
    ? parentFilter.then(filter => reading.get(entity, key, request, actor, filter))
    : reading.get(entity, key, request, actor)
}

/**
 * Returns true if the client has this version already (RFC 9110, 13.2.2). Fails with `PreconditionFailed` if
 * it requires another one.
 */
function isNotModified({ headers }: ODataRequest, { version }: RecordJson): boolean {
  const ifMatch = readEntityTags('If-Match', headers['if-match'])
  if (ifMatch && !matchesETag(ifMatch, version)) fail({ kind: 'PreconditionFailed', header: 'If-Match' })
  const ifNoneMatch = readEntityTags('If-None-Match', headers['if-none-match'])
  return ifNoneMatch !== undefined && matchesETag(ifNoneMatch, version)
}

const failRecordNotFound = (
  { navigationPath, entity }: RecordPath | ValuePath,
  key: string | undefined,
): never => fail({ kind: 'NotFound', what: RESOURCES.record(toContextPath(entity, key, navigationPath)) })

/**
 * Returns the record with the id in `$entity?$id=...`, absolute or relative to the service root (Part 2,
 * 4.2).
 */
export async function getEntityById(
  request: ODataRequest,
  _path: unknown,
  service: ODataServices,
): Promise<ODataResponse> {
  const {
    options,
    service: { model },
    root,
    limits,
  } = request
  checkAllowedOptions(options, 'entityId')
  const id =
    options.values.get('$id') ??
    fail({ kind: 'BadOptionValue', option: '$id', expected: EXPECTED_VALUE.recordId, found: '' })
  const base = [root, new URL(root).pathname].find(start => id.startsWith(start)) ?? ''
  const path = readResourcePath(id.slice(base.length), { limits, aliases: options.aliases }, model)
  if (path.kind !== 'record' || path.form !== 'record')
    return fail({ kind: 'NotFound', what: RESOURCES.recordWithId(id) })
  return getRecord(request, path, service, 'entityId')
}
