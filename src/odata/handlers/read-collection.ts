import { fail } from '../../errors/problem.js'
import type { Collection, PageView, Reading } from '../../service/reading.js'
import {
  context,
  count,
  type Member,
  member,
  renderObject,
  text,
  toBareNotation,
  toNotation,
} from '../protocol/json-body.js'
import { checkTakesText, chooseDataFormat } from '../protocol/negotiate.js'
import { readPreferences } from '../protocol/prefer.js'
import { keyOf, toKey, toRecordUrl, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, type Service, wishOf } from '../protocol/request.js'
import { type Answer, jsonAnswer, textAnswer } from '../protocol/response.js'
import { encodeRawBytes } from '../url/encoding.js'
import { type Place, readPageQuery, rewriteLink } from '../url/options.js'
import type { CollectionPath } from '../url/path.js'

/** A page of an entity set, or of the records that belong to another one (Part 1, 11.2.6). */
export async function readCollection(
  request: ODataRequest,
  path: CollectionPath,
  { reading }: Service,
): Promise<Answer> {
  const format = chooseDataFormat(wishOf(request))
  const asked = readFiltered(request, path, 'collection')
  const { page, headers } = await readPage(request, path, reading, { ...asked, notation: toNotation(format) })
  const url = `${request.root}$metadata#${path.entity.name}${toSelectList(asked.query, path.entity, request.version)}`
  return jsonAnswer(
    format,
    renderObject([
      context(format, url),
      count(format, page.count),
      member('value', `[${page.records.json}]`),
      nextLink(request, page),
    ]),
    headers,
  )
}

/** The addresses of the records of a page (Part 2, 4.6). */
export async function readReferences(
  request: ODataRequest,
  path: CollectionPath,
  { reading }: Service,
): Promise<Answer> {
  const format = chooseDataFormat(wishOf(request))
  const asked = readFiltered(request, path, 'references')
  const view = {
    ...asked,
    query: { ...asked.query, select: [keyOf(path.entity)] },
    notation: toBareNotation({ numbersAsText: true }),
  }
  const { page, headers } = await readPage(request, path, reading, view)
  const value = page.records.list
    .map(({ json }) =>
      renderObject([text('@odata.id', request.root + toRecordUrl(path.entity, toKey(path.entity, json)))]),
    )
    .join(',')
  const url = `${request.root}$metadata#Collection($ref)`
  return jsonAnswer(
    format,
    renderObject([
      context(format, url),
      count(format, page.count),
      member('value', `[${value}]`),
      nextLink(request, page),
    ]),
    headers,
  )
}

/** How many records there are: a plain number, whatever the page (Part 2, 4.8). */
export async function readCount(
  request: ODataRequest,
  path: CollectionPath,
  { reading }: Service,
): Promise<Answer> {
  checkTakesText(wishOf(request))
  const { query } = readFiltered(request, path, 'count')
  const within = await reading.follow(path.hops, request.actor)
  return textAnswer(String(await reading.count(path.entity, query, request.actor, within)))
}

/**
 * The preferred size of a page has a meaning only where `$top` names none (decision of the service: `$top` is
 * the size).
 */
async function readPage(request: ODataRequest, path: CollectionPath, reading: Reading, view: PageView) {
  const preferred =
    view.query.top === undefined ? readPreferences(request.headers.prefer).pageSize : undefined
  const within = await reading.follow(path.hops, request.actor)
  const page = await reading.find(path.entity, view, request.actor, within, preferred?.size)
  return { page, headers: preferred ? { 'Preference-Applied': preferred.applied } : {} }
}

/** Filters in the path hold for what the options begin with. */
function readFiltered(
  { options, limits }: ODataRequest,
  { filters }: CollectionPath,
  place: Place,
): Omit<PageView, 'notation'> {
  const asked = readPageQuery(options, place, limits)
  if (filters.length === 0) return asked
  return {
    ...asked,
    query: {
      ...asked.query,
      apply: [...filters.map(filter => ({ kind: 'filter', filter }) as const), ...(asked.query.apply ?? [])],
    },
  }
}

/**
 * A link that nobody could follow would end the walk without a word, so it is refused (`LinkTooLong`): the
 * options came in a body, or filled the URL.
 */
function nextLink(
  { root, rawPath, rawQuery, maxQueryLength }: ODataRequest,
  { nextToken }: Collection,
): Member {
  if (nextToken === undefined) return undefined
  const query = rewriteLink(rawQuery, { $skiptoken: nextToken })
  if (query.length > maxQueryLength) fail({ kind: 'LinkTooLong', limit: maxQueryLength })
  return text('@odata.nextLink', `${root}${encodeRawBytes(rawPath)}?${query}`)
}
