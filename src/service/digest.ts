import { type Digest, type KeyRange, readDigest } from '../data/read/digest.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import { type Actor, requireScope } from '../domain/actor.js'
import { authorize } from '../domain/authorize.js'
import type { RequestScope } from '../domain/request-scope.js'
import type { Phrase } from '../errors/phrase.js'
import { EXPECTED_VALUE } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'
import { ENTITIES, type Entity } from '../model/model.js'
import type { Ast, Query } from '../query/ast.js'
import { bind } from '../query/bind/bind.js'
import type { ServiceDependencies } from './dependencies.js'

/** Maximum number of records of one digest. PostgreSQL reads and hashes them in about half a second. */
export const MAX_DIGEST_RECORDS = 100_000
/** Maximum number of ranges of one digest. */
export const MAX_DIGEST_RANGES = 1000
/** Maximum number of buckets of one digest, about 1.2 MB of JSON. */
export const MAX_DIGEST_BUCKETS = 10_000
/** Default number of buckets of a range. */
export const DEFAULT_BUCKETS = 100

const WHOLE: KeyRange = { from: '', to: undefined }

/** Entities whose records have a position in the change log. */
export const DIGEST_ENTITIES: ReadonlyMap<string, Entity> = new Map(
  [...ENTITIES].filter(([, { fields }]) => fields.has('LastEventSequence')),
)

/** The names of the parameters in an adapter, for messages. */
export interface DigestParameterNames {
  readonly resourceName: string
  readonly ranges: string
  readonly buckets: string
}

/** A request for a digest, as an adapter has read it. */
export interface DigestRequest {
  readonly names: DigestParameterNames
  readonly resourceName: string
  /** Undefined for all keys. */
  readonly ranges: readonly KeyRange[] | undefined
  readonly buckets: number | undefined
  readonly filter: Ast | undefined
}

/**
 * Computes digests of the records that an actor can see, for both adapters: the number and a hash of
 * (key, LastEventSequence) in ranges of keys. A replica that computes the same hashes finds the records that
 * differ by splitting the ranges whose hashes differ.
 */
export class DigestService {
  constructor(
    private readonly dependencies: ServiceDependencies,
    private readonly reader: StatementExecutor = dependencies.database.reader,
  ) {}

  /** Returns the service for one request. */
  forRequest(scope: RequestScope): DigestService {
    return new DigestService(this.dependencies, this.dependencies.database.executorsFor(scope).reader)
  }

  /**
   * Returns the digest of each range, up to a limit of records. The ranges are read in the order of the
   * request. The range at which the limit is reached ends there, and those after it are left out.
   * @throws ProblemError BadOptionValue
   */
  async read(request: DigestRequest, actor: Actor): Promise<Digest> {
    requireScope(actor, 'listings:read')
    const { dependencies, reader } = this
    const entityType = findEntity(request)
    const ranges = request.ranges ?? [WHOLE]
    checkRanges(request.names, ranges)
    const buckets = request.buckets ?? Math.min(DEFAULT_BUCKETS, maxBuckets(ranges))
    checkBuckets(request.names, buckets, ranges)
    const query: Query = request.filter ? { ...KEYS_ONLY, filter: request.filter } : KEYS_ONLY
    const plan = authorize(bind(query, entityType, dependencies.limits), actor, dependencies.policy)
    return readDigest(reader, plan, { ranges, buckets, maxRecords: MAX_DIGEST_RECORDS })
  }
}

/** One object, so that its plans are cached. */
const KEYS_ONLY: Query = { select: [] }

const findEntity = ({ names, resourceName }: DigestRequest): Entity =>
  DIGEST_ENTITIES.get(resourceName) ??
  fail({
    kind: 'BadOptionValue',
    option: names.resourceName,
    expected: EXPECTED_VALUE.digestResource([...DIGEST_ENTITIES.keys()]),
    found: resourceName,
  })

function checkRanges({ ranges: option }: DigestParameterNames, ranges: readonly KeyRange[]): void {
  const refuse = (expected: Phrase, found: string) =>
    fail({ kind: 'BadOptionValue', option, expected, found })
  if (ranges.length === 0 || ranges.length > MAX_DIGEST_RANGES)
    refuse(EXPECTED_VALUE.rangeCount(MAX_DIGEST_RANGES), String(ranges.length))
  for (const { from, to } of ranges) {
    if (to !== undefined && compareCodePoints(from, to) >= 0)
      refuse(EXPECTED_VALUE.orderedRanges, `${from} to ${to}`)
    for (const key of [from, to ?? ''])
      if (!isStorableText(key)) refuse(EXPECTED_VALUE.storableKey, JSON.stringify(key))
  }
  const overlap = findOverlap(ranges)
  if (overlap)
    refuse(EXPECTED_VALUE.disjointRanges, `a range that begins at '${overlap.from}' within another one`)
}

/**
 * Returns a range that begins within another one. A digest also reads records that its token does not see, which do
 * not count toward its limit. Ranges that overlap would read them again.
 */
function findOverlap(ranges: readonly KeyRange[]): KeyRange | undefined {
  const sorted = [...ranges].sort((a, b) => compareCodePoints(a.from, b.from))
  return sorted.find(({ from }, i) => {
    const before = sorted[i - 1]
    return before && (before.to === undefined || compareCodePoints(before.to, from) > 0)
  })
}

/** UTF-8 sorts in the order of code points, unlike UTF-16. */
const compareCodePoints = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

const isStorableText = (text: string): boolean => !text.includes('\0') && !/\p{Surrogate}/u.test(text)

const maxBuckets = (ranges: readonly KeyRange[]): number => Math.floor(MAX_DIGEST_BUCKETS / ranges.length)

function checkBuckets(
  { buckets: option }: DigestParameterNames,
  buckets: number,
  ranges: readonly KeyRange[],
): void {
  const max = maxBuckets(ranges)
  if (!Number.isInteger(buckets) || buckets < 1 || buckets > max)
    fail({
      kind: 'BadOptionValue',
      option,
      expected: EXPECTED_VALUE.bucketCount(max, MAX_DIGEST_BUCKETS),
      found: String(buckets),
    })
}

export type { Digest, DigestRange, KeyRange } from '../data/read/digest.js'
