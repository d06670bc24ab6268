import { FEATURES } from '../../errors/features.js'
import { fail } from '../../errors/problem.js'
import type { CollectionPage, PageRequest, ReadService } from '../../service/reading.js'
import {
  contextMember,
  countMember,
  omitNulls,
  type PayloadMember,
  payloadMember,
  renderPayloadObject,
  stringMember,
  toRecordRepresentation,
  toValueRepresentation,
} from '../protocol/json-body.js'
import { checkAcceptsText, negotiateExportFormat, negotiateJsonFormat } from '../protocol/negotiate.js'
import { readPreferences, toAppliedHeader } from '../protocol/prefer.js'
import { readKeyFromJson, toCanonicalUrl, toKeySelectItem, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, type ODataServices, requestedFormatOf } from '../protocol/request.js'
import {
  jsonResponse,
  type ODataResponse,
  type StreamedODataResponse,
  textResponse,
} from '../protocol/response.js'
import { encodeRawBytes } from '../url/encoding.js'
import { toNextLinkQuery } from '../url/query-options.js'
import type { CollectionPath } from '../url/resource-path.js'
import { readCollectionQuery } from './collection-query.js'
import { deltaLinkMember, readDelta, toDefiningUrl, toTrackingRequest } from './delta.js'
import { exportCollection } from './export-collection.js'

/** Returns a page of an entity set or of related records (Part 1, 11.2.6), or all of them as an export. */
export async function getCollection(
  request: ODataRequest,
  path: CollectionPath,
  { reading, exports, deltas }: ODataServices,
): Promise<ODataResponse | StreamedODataResponse> {
  if (request.options.values.has('$deltatoken')) return readDelta(request, path, deltas)
  const requested = requestedFormatOf(request)
  const pageQuery = readCollectionQuery(request, path, 'collection')
  const exportFormat = exports && negotiateExportFormat(requested)
  if (exportFormat) return exportCollection(request, path, { reading, exports }, pageQuery, exportFormat)
  const { omitNulls: omission, trackChanges } = readPreferences(request.headers.prefer)
  const format = negotiateJsonFormat(requested)
  const { page, appliedPageSize } = await fetchPage(request, path, reading, {
    ...pageQuery,
    representation: toRecordRepresentation(format, request),
    track: trackChanges && toTrackingRequest(request, path, pageQuery.query),
  })
  const url = `${request.root}$metadata#${path.entity.name}${toSelectList(pageQuery.query, path.entity, request.version)}`
  return jsonResponse(
    format,
    renderPayloadObject([
      contextMember(format, url),
      countMember(format, page.count),
      payloadMember('value', `[${omission ? omitNulls(page.records.json) : page.records.json}]`),
      nextLinkMember(request, page),
      deltaLinkMember(request, page.tracking?.deltaToken),
    ]),
    toAppliedHeader(appliedPageSize, omission?.applied, page.tracking && trackChanges?.applied),
  )
}

/** Returns the references of a page (Part 2, 4.6). */
export async function getCollectionReferences(
  request: ODataRequest,
  path: CollectionPath,
  { reading }: ODataServices,
): Promise<ODataResponse> {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  const pageQuery = readCollectionQuery(request, path, 'references')
  const pageOptions = {
    ...pageQuery,
    query: { ...pageQuery.query, select: [toKeySelectItem(path.entity)] },
    representation: toValueRepresentation({ ieee754Compatible: true }),
  }
  const { page, appliedPageSize } = await fetchPage(request, path, reading, pageOptions)
  const value = page.records.list
    .map(({ json }) =>
      renderPayloadObject([
        stringMember(
          '@odata.id',
          request.root + toCanonicalUrl(path.entity, readKeyFromJson(path.entity, json)),
        ),
      ]),
    )
    .join(',')
  const url = `${request.root}$metadata#Collection($ref)`
  return jsonResponse(
    format,
    renderPayloadObject([
      contextMember(format, url),
      countMember(format, page.count),
      payloadMember('value', `[${value}]`),
      nextLinkMember(request, page),
    ]),
    toAppliedHeader(appliedPageSize),
  )
}

/** Returns the number of records as plain text, regardless of the page (Part 2, 4.8). */
export async function getCollectionCount(
  request: ODataRequest,
  path: CollectionPath,
  { reading }: ODataServices,
): Promise<ODataResponse> {
  if (request.options.values.has('$deltatoken'))
    fail({ kind: 'NotImplemented', feature: FEATURES.changeCount, at: { source: '$deltatoken' } })
  checkAcceptsText(requestedFormatOf(request))
  const { query } = readCollectionQuery(request, path, 'count')
  const within = await reading.resolvePath(path.navigationPath, request.actor)
  const countRequest = { query, serviceRoot: () => request.root }
  return textResponse(String(await reading.count(path.entity, countRequest, request.actor, within)))
}

/**
 * Reads a page. The preferred page size applies only without `$top`, which is the page size of this service.
 */
async function fetchPage(
  request: ODataRequest,
  path: CollectionPath,
  reading: ReadService,
  pageOptions: PageRequest,
) {
  const preferred =
    pageOptions.query.top === undefined ? readPreferences(request.headers.prefer).maxPageSize : undefined
  const resolving = reading.resolvePath(path.navigationPath, request.actor)
  const within = resolving && (await resolving)
  const pageRequest = {
    ...pageOptions,
    serviceRoot: () => request.root,
    location: () => toDefiningUrl(request),
  }
  const page = await reading.findPage(path.entity, pageRequest, request.actor, within, preferred?.size)
  return { page, appliedPageSize: preferred && `${preferred.name}=${page.size}` }
}

/**
 * Returns the next link. A link beyond the limit could not be followed and would end the pages silently, so
 * it is refused (`LinkTooLong`). That happens if the options came in a body or filled the URL.
 */
function nextLinkMember(
  { root, rawPath, rawQuery, maxQueryLength }: ODataRequest,
  { nextToken }: CollectionPage,
): PayloadMember {
  if (nextToken === undefined) return undefined
  const query = toNextLinkQuery(rawQuery, { $skiptoken: nextToken })
  if (query.length > maxQueryLength) fail({ kind: 'LinkTooLong', limit: maxQueryLength })
  return stringMember('@odata.nextLink', `${root}${encodeRawBytes(rawPath)}?${query}`)
}
