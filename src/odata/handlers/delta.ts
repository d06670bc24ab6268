import { FEATURES } from '../../errors/features.js'
import { OPTION_CONTEXTS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { Change } from '../../service/delta-reader.js'
import type { DeltaPage, DeltaService } from '../../service/deltas.js'
import type { TrackingRequest } from '../../service/tracking.js'
import {
  contextMember,
  type PayloadMember,
  payloadMember,
  prependMembers,
  renderPayloadObject,
  stringMember,
  toRecordRepresentation,
} from '../protocol/json-body.js'
import { type JsonFormat, negotiateJsonFormat } from '../protocol/negotiate.js'
import { readPreferences, toAppliedHeader } from '../protocol/prefer.js'
import { toCanonicalUrl, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, requestedFormatOf } from '../protocol/request.js'
import { jsonResponse, type ODataResponse } from '../protocol/response.js'
import { encodeRawBytes } from '../url/encoding.js'
import { toTrackedQuery } from '../url/query-options.js'
import type { CollectionPath } from '../url/resource-path.js'
import { readCollectionQuery } from './collection-query.js'

/** The value of `$deltatoken` that requests a position at the end of the log. */
const LATEST = 'latest'

/** Returns the changes after a delta link (Part 1, 11.3), or a delta link without records. */
export async function readDelta(
  request: ODataRequest,
  path: CollectionPath,
  deltas: DeltaService,
): Promise<ODataResponse> {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  const token = request.options.values.get('$deltatoken') ?? LATEST
  if (path.navigationPath.length > 0)
    fail({ kind: 'NotImplemented', feature: FEATURES.changesOfRelated, at: { source: '$deltatoken' } })
  const { query, pageToken } = readCollectionQuery(request, path, token === LATEST ? 'collection' : 'delta')
  if (pageToken !== undefined)
    fail({ kind: 'OptionNotAllowed', option: '$skiptoken', context: OPTION_CONTEXTS.delta })
  const tracked = { ...request, query: token === LATEST ? withoutPaging(query) : query, path, format }
  checkVersion(tracked)
  const { trackChanges, maxPageSize } = readPreferences(request.headers.prefer)
  if (token === LATEST) {
    const maxTokenLength = toTrackingRequest(request, path, tracked.query)?.maxTokenLength ?? 0
    const deltaToken = await deltas.latest(path.entity, tracked.query, request.actor, maxTokenLength)
    return jsonResponse(
      format,
      renderDelta(tracked, { changes: [], deltaToken, size: 0 }),
      toAppliedHeader(trackChanges?.applied),
    )
  }
  const deltaRequest = {
    query: tracked.query,
    representation: toRecordRepresentation(format, request),
    token,
    option: '$deltatoken',
    location: toDefiningUrl(request),
    ...(maxPageSize && { pageSize: maxPageSize.size }),
  }
  const page = await deltas.findChanges(path.entity, deltaRequest, request.actor)
  return jsonResponse(
    format,
    renderDelta(tracked, page),
    toAppliedHeader(maxPageSize && `${maxPageSize.name}=${page.size}`, trackChanges?.applied),
  )
}

/** A request for changes. */
interface TrackedRequest extends ODataRequest {
  readonly query: Query
  readonly path: CollectionPath
  readonly format: JsonFormat
}

/** Changes have no order and no window. Only `$deltatoken=latest` may come with such options. */
function withoutPaging(query: Query): Query {
  const { top: _, skip: __, count: ___, orderBy: ____, ...rest } = query
  return rest
}

/** Expanded records inside a delta are a part of 4.01 (OData JSON 4.0, 12). */
function checkVersion({ query, version }: TrackedRequest): void {
  if (version === '4.0' && query.expand?.length)
    fail({ kind: 'OptionNotAllowed', option: '$expand', context: OPTION_CONTEXTS.deltaOf40 })
}

/**
 * Returns the tracking that a client requests, or undefined if there is no delta: for related records, for a
 * result that begins later, and if the client's version cannot represent the delta.
 */
export const toTrackingRequest = (
  { version, rawQuery, maxQueryLength }: ODataRequest,
  { navigationPath }: CollectionPath,
  { expand, skip }: Query,
): TrackingRequest | undefined =>
  navigationPath.length > 0 || skip || (version === '4.0' && expand?.length)
    ? undefined
    : { maxTokenLength: maxQueryLength - toTrackedQuery(rawQuery, '').length }

/** Returns the address of the query. */
export const toDefiningUrl = (request: ODataRequest): string => {
  const options = toTrackedQuery(request.rawQuery)
  return toUrl(request) + (options === '' ? '' : `?${options}`)
}

const toUrl = ({ root, rawPath }: ODataRequest): string => root + encodeRawBytes(rawPath)

/** Returns the link to the changes after a token. */
export const deltaLinkMember = (request: ODataRequest, deltaToken: string | undefined): PayloadMember =>
  deltaToken === undefined ? undefined : stringMember('@odata.deltaLink', toDeltaUrl(request, deltaToken))

const toDeltaUrl = (request: ODataRequest, token: string): string =>
  `${toUrl(request)}?${toTrackedQuery(request.rawQuery, token)}`

function renderDelta(request: TrackedRequest, { changes, nextToken, deltaToken }: DeltaPage): string {
  const { root, query, path, version, format } = request
  const url = `${root}$metadata#${path.entity.name}${toSelectList(query, path.entity, version)}/$delta`
  return renderPayloadObject([
    contextMember(format, url),
    payloadMember('value', `[${changes.map(change => renderChange(request, change)).join(',\n')}]`),
    nextToken === undefined ? undefined : stringMember('@odata.nextLink', toDeltaUrl(request, nextToken)),
    deltaLinkMember(request, deltaToken),
  ])
}

/** A changed record is identified by its key, or by its id if the key is not selected. */
function renderChange(request: TrackedRequest, change: Change): string {
  if (change.kind === 'removed') return renderRemoval(request, change)
  const { root, query, path, format } = request
  const hasId = format.metadata === 'full' || selectsKey(query, path.entity)
  return hasId
    ? change.json
    : prependMembers([stringMember('@odata.id', root + toCanonicalUrl(path.entity, change.key))], change.json)
}

const selectsKey = ({ select }: Query, { key }: Entity): boolean =>
  select === undefined || select.some(({ name }) => name === key.name || name === '*')

/** A deleted entity has another form in 4.0 (OData JSON 4.01, 15.3). */
function renderRemoval(
  { root, path: { entity }, version, format }: TrackedRequest,
  { key, reason }: Change & { readonly kind: 'removed' },
): string {
  const id = root + toCanonicalUrl(entity, key)
  const context = stringMember('@odata.context', `${root}$metadata#${entity.name}/$deletedEntity`)
  if (version === '4.0')
    return renderPayloadObject([context, stringMember('id', id), stringMember('reason', reason)])
  return renderPayloadObject([
    format.metadata === 'full' ? context : undefined,
    payloadMember('@removed', JSON.stringify({ reason })),
    stringMember('@odata.id', id),
    stringMember(entity.key.name, key),
  ])
}
