import { readLogEnd } from '../data/changes/log-state.js'
import type { StatementExecutor } from '../data/sql/statement.js'
import type { Actor } from '../domain/actor.js'
import { audiencesOf } from '../domain/audiences.js'
import { effectiveFeedOf } from '../domain/feeds/feed.js'
import type { DisclosurePolicy } from '../domain/visibility.js'
import { fail } from '../errors/problem.js'
import { type Cursor, type CursorSeal, digestOf, type PlanSeal, type Tracking } from '../query/cursor.js'
import { memoize } from '../query/memoize.js'
import type { Plan } from '../query/plan.js'
import type { PageRequest } from './reading.js'
import { trackedSourcesOf } from './tracked-sources.js'

/** The reader of a tracked query. */
export interface TrackingContext {
  readonly seal: CursorSeal
  readonly policy: DisclosurePolicy
  readonly actor: Actor
}

/** A request of a client to track the changes of its query. */
export interface TrackingRequest {
  /** Space for the token in a link, in characters. */
  readonly maxTokenLength: number
}

/** Characters by which the token of a later page of changes can be longer, since it contains a key. */
const TOKEN_GROWTH = 600

/**
 * Begins to track the changes of a plan, before its first record is read. Returns undefined if they cannot be
 * tracked, or if the token would not fit into a link.
 */
export async function beginTracking(
  reader: StatementExecutor,
  plan: Plan,
  { maxTokenLength }: TrackingRequest,
  context: TrackingContext,
): Promise<Tracking | undefined> {
  if (!trackedSourcesOf(plan)) return undefined
  const { id, end } = await readLogEnd(reader)
  const tracking: Tracking = {
    log: id,
    since: end,
    rights: rightsOf(context),
    view: projectionDigestOf(plan),
  }
  const { length } = sealTracking(context.seal, plan, tracking)
  return length + TOKEN_GROWTH > maxTokenLength ? undefined : tracking
}

/**
 * Begins to track the changes of a query with its first page if the client requests it, or continues with
 * another page. Returns undefined for a query that is not tracked.
 */
export async function trackPages(
  reader: StatementExecutor,
  plan: Plan,
  { track, location }: Pick<PageRequest, 'track' | 'location'>,
  cursor: Cursor | undefined,
  context: TrackingContext,
): Promise<Tracking | undefined> {
  if (!cursor) return track && beginTracking(reader, plan, track, context)
  if (cursor.tracking) checkRights(cursor.tracking, context, '$skiptoken', location?.())
  return cursor.tracking
}

/**
 * Refuses a position that was created with other rights (410): the reader may have records that it can no
 * longer see, or lack others. `location` is the address of the query.
 */
export function checkRights(
  { rights }: Tracking,
  context: TrackingContext,
  option: string,
  location: string | undefined,
): void {
  if (rights !== rightsOf(context)) failPositionGone(option, location)
}

export const failPositionGone = (option: string, location: string | undefined): never =>
  fail({ kind: 'PositionGone', option, ...(location !== undefined && { location }) })

/**
 * Returns the properties of an actor that determine what it can read. A renewed token has the same rights.
 */
export function rightsOf({ actor, policy }: Pick<TrackingContext, 'actor' | 'policy'>): string {
  const { memberKey, officeKey, audience } = actor
  return shortDigest([
    audiencesOf(actor),
    memberKey,
    officeKey,
    audience,
    policy.nonDisclosure,
    ...feedContentOf(actor),
  ])
}

/**
 * The fields and sets that the feed of an actor hides. The filter of the feed is left out, because the log
 * has events for its changes.
 */
function feedContentOf(actor: Actor): readonly unknown[] {
  const feed = effectiveFeedOf(actor)
  if (!feed) return []
  const { hiddenFields, onlyFields, soldPriceDelayDays, showsMedia, showsOpenHouses, showsMembers } = feed
  return [hiddenFields, onlyFields, soldPriceDelayDays, showsMedia, showsOpenHouses, showsMembers]
}

/** The digest of the selection, since a position is valid only for its selection. */
const projectionDigestOf = memoize(function digestView({ select, expand }: Plan): string {
  return shortDigest([select, expand])
})

const shortDigest = (parts: readonly unknown[]): string =>
  digestOf(parts).subarray(0, 12).toString('base64url')

/** Delta tokens are bound to the filter, but not to the order. */
const withoutOrder = memoize(function withoutOrder(plan: Plan): Plan {
  return { ...plan, orderBy: [] }
})

const sealOf = (seal: CursorSeal, plan: Plan): PlanSeal => seal(withoutOrder(plan))

/** Returns the delta token of a position. */
export const sealTracking = (seal: CursorSeal, plan: Plan, tracking: Tracking): string =>
  sealOf(seal, plan).seal({ after: [], tracking })

/**
 * Opens a delta token. With `anyView`, the selection may be another one.
 * @throws ProblemError BadPageToken for a token of another query
 */
export function openTracking(
  seal: CursorSeal,
  plan: Plan,
  token: string,
  option: string,
  anyView = false,
): Tracking {
  const { tracking } = sealOf(seal, plan).open(token, option)
  if (!tracking || (!anyView && tracking.view !== projectionDigestOf(plan)))
    return fail({ kind: 'BadPageToken', option })
  return tracking
}
