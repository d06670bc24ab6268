import type { Phrase } from '../../errors/phrase.js'
import { EXPECTED_SYNTAX, EXPECTED_VALUE } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { suggestName } from '../../errors/suggest.js'
import { parseExpression } from '../../language/parser.js'
import { NAMESPACE } from '../../model/model.js'
import type { Ast } from '../../query/ast.js'
import { type Digest, type DigestRange, type KeyRange, MAX_DIGEST_BUCKETS } from '../../service/digest.js'
import { contextMember, payloadMember, renderPayloadObject, stringMember } from '../protocol/json-body.js'
import { type JsonFormat, negotiateJsonFormat } from '../protocol/negotiate.js'
import { type ODataRequest, type ODataServices, requestedFormatOf } from '../protocol/request.js'
import { jsonResponse, type ODataResponse } from '../protocol/response.js'
import { checkAllowedOptions } from '../url/query-options.js'
import { DIGEST_FUNCTION_NAME, type FunctionPath } from '../url/resource-path.js'

const NAMES = { resourceName: 'ResourceName', ranges: 'Ranges', buckets: 'Buckets' } as const
const FILTER = 'Filter'
const PARAMETER_NAMES: readonly string[] = [...Object.values(NAMES), FILTER]

/** Returns the digest of ranges of keys (service/digest.ts). */
export async function getDigest(
  request: ODataRequest,
  { parameters: text }: FunctionPath,
  { digests }: ODataServices,
): Promise<ODataResponse> {
  const format = negotiateJsonFormat(requestedFormatOf(request))
  checkAllowedOptions(request.options, 'function')
  const parameters = readParameters(text, request)
  const digest = await digests.read(
    {
      names: NAMES,
      resourceName: readString(parameters, NAMES.resourceName) ?? '',
      ranges: readRanges(parameters.get(NAMES.ranges)),
      buckets: readBuckets(parameters.get(NAMES.buckets)),
      filter: readFilter(readString(parameters, FILTER), request),
    },
    request.actor,
  )
  return jsonResponse(format, renderDigest(digest, format, request))
}

/**
 * A parameter in the brackets: a name and a string, an alias, a JSON array or a word. A JSON array ends where the
 * next parameter begins.
 *   `ResourceName='Property',Ranges=@r`
 */
const PARAMETER =
  /\s*([A-Za-z]+)\s*=\s*('(?:[^']|'')*'|@[A-Za-z_]\w*|\[.*?\](?=\s*(?:,\s*[A-Za-z]+\s*=|$))|[^,'@[\s]+)\s*(?:,(?=.)|$)/sy

/** Reads the parameters of a call to their texts. Aliases are replaced. */
function readParameters(text: string, { options }: ODataRequest): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>()
  PARAMETER.lastIndex = 0
  for (let end = 0; end < text.length; end = PARAMETER.lastIndex) {
    const [, name = '', value = ''] = PARAMETER.exec(text) ?? failSyntax(text, end)
    if (!PARAMETER_NAMES.includes(name)) failUnknownParameter(name)
    if (parameters.has(name)) fail({ kind: 'DuplicateOption', option: name })
    parameters.set(name, value.startsWith('@') ? resolveAlias(value, options.aliases) : value)
  }
  return parameters
}

const failSyntax = (text: string, offset: number): never =>
  fail({
    kind: 'Syntax',
    expected: EXPECTED_SYNTAX.parameter,
    found: text.slice(offset),
    at: { source: DIGEST_FUNCTION_NAME, offset },
  })

function failUnknownParameter(name: string): never {
  const suggestion = suggestName(name, PARAMETER_NAMES)
  return fail({ kind: 'UnknownOption', option: name, ...(suggestion !== undefined && { suggestion }) })
}

/** An alias without a value is null (OData URL Conventions 4.01, 5.3.3). */
const resolveAlias = (alias: string, aliases: ReadonlyMap<string, string>): string =>
  aliases.get(alias.slice(1)) ?? 'null'

const failBadValue = (option: string, expected: Phrase, found: string): never =>
  fail({ kind: 'BadOptionValue', option, expected, found })

function readString(parameters: ReadonlyMap<string, string>, name: string): string | undefined {
  const text = parameters.get(name)
  if (text === undefined || text === 'null') return undefined
  return /^'(?:[^']|'')*'$/s.test(text)
    ? text.slice(1, -1).replaceAll("''", "'")
    : failBadValue(name, EXPECTED_VALUE.quotedString, text)
}

function readBuckets(text: string | undefined): number | undefined {
  if (text === undefined || text === 'null') return undefined
  return /^\d{1,9}$/.test(text)
    ? Number(text)
    : failBadValue(NAMES.buckets, EXPECTED_VALUE.bucketCount(MAX_DIGEST_BUCKETS, MAX_DIGEST_BUCKETS), text)
}

/** Reads a JSON array of objects with `From` and `To`. Either can be absent or null. */
function readRanges(text: string | undefined): readonly KeyRange[] | undefined {
  if (text === undefined || text === 'null') return undefined
  const value = parseJson(text)
  const ranges = Array.isArray(value) ? value.map(toKeyRange) : [undefined]
  return ranges.every(range => range !== undefined)
    ? ranges
    : failBadValue(NAMES.ranges, EXPECTED_VALUE.keyRanges, text)
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function toKeyRange(value: unknown): KeyRange | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  const { From: from = null, To: to = null, ...others } = value as Readonly<Record<string, unknown>> // any JSON object
  if (Object.keys(others).length > 0) return undefined
  if (!isTextOrNull(from) || !isTextOrNull(to)) return undefined
  return { from: from ?? '', to: to ?? undefined }
}

const isTextOrNull = (value: unknown): value is string | null => value === null || typeof value === 'string'

const readFilter = (text: string | undefined, { limits, options }: ODataRequest): Ast | undefined =>
  text === undefined ? undefined : parseExpression(text, { limits, aliases: options.aliases }, FILTER)

function renderDigest(digest: Digest, format: JsonFormat, { root }: ODataRequest): string {
  const type = `${NAMESPACE}.DigestResult`
  const { position } = digest
  return renderPayloadObject([
    contextMember(format, `${root}$metadata#${type}`),
    format.metadata === 'full' ? stringMember('@odata.type', `#${type}`) : undefined,
    payloadMember('LastEventSequence', format.ieee754Compatible ? `"${position}"` : position),
    payloadMember('Ranges', `[${digest.ranges.map(renderRange).join(',')}]`),
  ])
}

const renderRange = ({ from, to, buckets }: DigestRange): string =>
  JSON.stringify({
    From: from,
    To: to ?? null,
    Buckets: buckets.map(({ first, count, hash }) => ({ First: first, Count: count, Hash: hash })),
  })
