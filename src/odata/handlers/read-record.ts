import { fail } from '../../errors/problem.js'
import { isNamed, readEntityTags } from '../../http/etag.js'
import type { Found, Reading } from '../../service/reading.js'
import {
  context,
  member,
  onlyValue,
  renderObject,
  renderPlain,
  renderRecord,
  text,
  toBareNotation,
  toNotation,
} from '../protocol/json-body.js'
import { checkTakesText, chooseDataFormat } from '../protocol/negotiate.js'
import { keyOf, toKey, toRecordFragment, toRecordUrl, toSelectList } from '../protocol/record-url.js'
import { type ODataRequest, type Service, wishOf } from '../protocol/request.js'
import { type Answer, jsonAnswer, noContent, tagHeader, textAnswer } from '../protocol/response.js'
import { checkOptions, type Place, readQuery } from '../url/options.js'
import { type RecordPath, readPath, type ValuePath } from '../url/path.js'

/** One record (Part 1, 11.2.2): 404 if there is none with that key, 204 if a navigation leads to none. */
export async function readRecord(
  request: ODataRequest,
  path: RecordPath,
  { reading }: Service,
  place: Place = 'record',
): Promise<Answer> {
  const format = chooseDataFormat(wishOf(request))
  const query = readQuery(request.options, place, request.limits)
  const found = await find(request, path, reading, { query, notation: toNotation(format) })
  if (!found) return path.key === undefined ? noContent() : missing(path, path.key)
  // The version is that of the record alone: it does not tell whether what is expanded has changed.
  const unchanged = isUnchanged(request, found) && !query.expand
  if (unchanged) return { status: 304, headers: tagHeader(found.version) }
  const url = `${request.root}$metadata#${path.entity.name}${toSelectList(query, path.entity, request.version)}/$entity`
  return jsonAnswer(format, renderRecord([context(format, url)], found.json), tagHeader(found.version))
}

/** The address of one record. */
export async function readReference(
  request: ODataRequest,
  path: RecordPath,
  { reading }: Service,
): Promise<Answer> {
  const format = chooseDataFormat(wishOf(request))
  checkOptions(request.options, 'reference')
  const found = await find(request, path, reading, {
    query: { select: [keyOf(path.entity)] },
    notation: toBareNotation({ numbersAsText: true }),
  })
  if (!found) return path.key === undefined ? noContent() : missing(path, path.key)
  const id = text('@odata.id', request.root + toRecordUrl(path.entity, toKey(path.entity, found.json)))
  return jsonAnswer(format, renderObject([context(format, `${request.root}$metadata#$ref`), id]))
}

/** One value of a record (Part 1, 11.2.4): as JSON, as plain text, or how many there are. Null is 204. */
export async function readValue(
  request: ODataRequest,
  path: ValuePath,
  { reading }: Service,
): Promise<Answer> {
  const { scalar, form, hops, entity, key } = path
  if (form !== 'value') checkTakesText(wishOf(request))
  const format = form === 'value' ? chooseDataFormat(wishOf(request)) : undefined
  checkOptions(request.options, 'value')
  const query = { select: [{ name: scalar.name, at: { source: 'the path' } }] }
  const found =
    (await find(request, path, reading, {
      query,
      notation: toBareNotation({ numbersAsText: format?.numbersAsText ?? false }),
    })) ?? missing(path, key)
  const tag = tagHeader(found.version)
  if (isUnchanged(request, found)) return { status: 304, headers: tag }
  const value = onlyValue(scalar.name, found.json)
  if (value === 'null') return noContent(tag)
  if (!format)
    return textAnswer(
      form === 'raw' ? renderPlain(value) : String((JSON.parse(value) as readonly unknown[]).length),
      tag,
    ) // only collections are counted
  const url = `${request.root}$metadata#${toRecordFragment(entity, key, hops)}/${scalar.name}`
  return jsonAnswer(format, renderObject([context(format, url), member('value', value)]), tag)
}

async function find(
  { actor }: ODataRequest,
  { hops, entity, key }: RecordPath | ValuePath,
  reading: Reading,
  view: Parameters<Reading['get']>[2],
): Promise<Found | undefined> {
  return reading.get(entity, key, view, actor, await reading.follow(hops, actor))
}

/**
 * Whether the client has this version already (RFC 9110, 13.2.2). Fails with `PreconditionFailed` if it wants
 * another one.
 */
function isUnchanged({ headers }: ODataRequest, { version }: Found): boolean {
  const wanted = readEntityTags('If-Match', headers['if-match'])
  if (wanted && !isNamed(wanted, version)) fail({ kind: 'PreconditionFailed', header: 'If-Match' })
  const known = readEntityTags('If-None-Match', headers['if-none-match'])
  return known !== undefined && isNamed(known, version)
}

const missing = ({ hops, entity }: RecordPath | ValuePath, key: string | undefined): never =>
  fail({ kind: 'NotFound', what: toRecordFragment(entity, key, hops) })

/**
 * `$entity?$id=...`: the record that an id of ours names, absolute or relative to the service root (Part 2,
 * 4.2).
 */
export async function readEntityId(request: ODataRequest, _path: unknown, service: Service): Promise<Answer> {
  const { options, root, limits } = request
  checkOptions(options, 'entityId')
  const id =
    options.values.get('$id') ??
    fail({ kind: 'BadOptionValue', option: '$id', expected: 'the id of a record', found: '' })
  const base = [root, new URL(root).pathname].find(start => id.startsWith(start)) ?? ''
  const path = readPath(id.slice(base.length), { limits, aliases: options.aliases })
  if (path.kind !== 'record' || path.form !== 'record')
    return fail({ kind: 'NotFound', what: `record '${id}'` })
  return readRecord(request, path, service, 'entityId')
}
