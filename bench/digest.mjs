// The part of a response that is compared between servers: the number of records, the key of the first one,
// and the number of nested records.

const isCount = value => typeof value === 'number' || (typeof value === 'string' && /^\d+$/.test(value))

function findRecords(answer) {
  if (answer.data === undefined) return answer.value ?? answer
  const [root] = Object.values(answer.data)
  return root?.nodes ?? root
}

function findCount(answer) {
  const root = answer.data && Object.values(answer.data)[0]
  if (root) return root.nodes === undefined ? root.totalCount : undefined
  return answer.value?.length === 0 ? (answer['@odata.count'] ?? answer['@count']) : undefined
}

/** Returns a member by its name in any capitalization, because servers differ. */
function member(record, name) {
  const [, value] = Object.entries(record).find(([known]) => known.toLowerCase() === name) ?? []
  return value?.nodes ?? value
}

const nested = (records, name) =>
  records.reduce((sum, record) => sum + (member(record, name)?.length ?? 0), 0)

/** Returns the digest of a response. Throws if the response is an error. */
export function toDigest(answer, compares) {
  const error = answer.errors ?? answer.error
  if (error) throw new Error(JSON.stringify(error).slice(0, 300))
  const count = findCount(answer)
  if (isCount(count)) return { count: Number(count) }
  const found = findRecords(answer)
  const records = Array.isArray(found) ? found : found ? [found] : []
  const [first] = records
  const own = { records: records.length, first: first && member(first, 'listingkey') }
  return compares === 'nested'
    ? { ...own, media: nested(records, 'media'), rooms: nested(records, 'rooms') }
    : own
}

/**
 * Returns the next link and the number of records of a page in a replication walk. Its megabytes are not
 * parsed.
 */
export function readPage(body) {
  const textAfter = name => {
    const at = body.lastIndexOf(name)
    return at < 0
      ? undefined
      : JSON.parse(`"${body.toString('utf8', at + name.length, body.indexOf('"', at + name.length))}"`)
  }
  const key = body.includes('"ListingKey":') ? '"ListingKey":' : '"listingKey":'
  let records = 0
  for (let at = body.indexOf(key); at >= 0; at = body.indexOf(key, at + key.length)) records++
  return { records, link: textAfter('nextLink":"'), cursor: textAfter('"endCursor":"') }
}
