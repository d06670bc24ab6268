import { getEntity, getScalar } from '../model/model.js'
import { allOf, columnOf, type Expr, predicate, type RowName, rowSource, textLiteral } from '../query/plan.js'
import type { Actor } from './actor.js'
import { effectiveFeedOf, type Feed, hiddenResources } from './feeds/feed.js'

/** Columns of the change log. An event has one row for each of its audiences. */
const EVENT = getEntity('EntityEvent')
const RESOURCE = getScalar(EVENT, 'ResourceName')
const AUDIENCE = getScalar(EVENT, 'Audience')
const EARLIER_AUDIENCES = getScalar(EVENT, 'EarlierAudiences')

/**
 * Returns the audiences that an actor belongs to. The actor can see a record if it belongs to one of the
 * record's audiences, which the function `listing_audiences` of the database returns:
 * - `public`: everybody
 * - `member`: members and staff
 * - `staff`: staff
 * - `any`: tokens that may write every listing
 * - `agent:` and `office:` with a key: tokens that may write the listings of this agent or office. A token of a
 *   member may also write listings that name the member as their office.
 *
 * The reader of a feed has other audiences in place of these, since it does not see every public record:
 * - `feeds`: all of them
 * - `feeds:members`: those of feeds that show members and offices
 * - `feed:` with the id of the feed and `public` or `member`: listings of the feed that everybody can see, and those
 *   that members can see
 * - `feeds:agent:` and `feeds:office:` with a key: as `agent:` and `office:`
 */
export function audiencesOf(actor: Actor): readonly string[] {
  const feed = effectiveFeedOf(actor)
  return feed ? feedAudiencesOf(actor, feed) : audiencesWithoutFeed(actor)
}

function feedAudiencesOf({ scopes, memberKey, officeKey, audience }: Actor, feed: Feed): readonly string[] {
  const offices = [...new Set([memberKey, officeKey])].filter(key => key !== undefined)
  return [
    'feeds',
    ...(feed.showsMembers ? ['feeds:members'] : []),
    `feed:${feed.id}:public`,
    ...(audience === 'public' ? [] : [`feed:${feed.id}:member`]),
    ...(scopes.has('listings:write')
      ? [
          ...(memberKey === undefined ? [] : [`feeds:agent:${memberKey}`]),
          ...offices.map(key => `feeds:office:${key}`),
        ]
      : []),
  ]
}

function audiencesWithoutFeed({ scopes, memberKey, officeKey, audience }: Actor): readonly string[] {
  const canWrite = scopes.has('listings:write')
  const own = [
    ...(memberKey === undefined ? [] : [`agent:${memberKey}`, `office:${memberKey}`]),
    ...(officeKey === undefined || officeKey === memberKey ? [] : [`office:${officeKey}`]),
  ]
  return [
    'public',
    ...(audience === 'public' ? [] : ['member']),
    ...(audience === 'staff' ? ['staff'] : []),
    ...(scopes.has('listings:write:any') ? ['any'] : canWrite ? own : []),
  ]
}

/**
 * Returns the condition under which the actor receives a row of the change log. Of the rows of one event it
 * receives the first one that has an audience of its own.
 */
export function isEventVisible(row: RowName, actor: Actor): Expr {
  const resource = columnOf(RESOURCE, rowSource(row))
  const hidden = [...hiddenResources(effectiveFeedOf(actor))]
  return allOf(
    isEventOfAudience(row, audiencesOf(actor)),
    ...hidden.map(name => predicate('ne', resource, textLiteral(name))),
  )
}

function isEventOfAudience(row: RowName, audiences: readonly string[]): Expr {
  const source = rowSource(row)
  const [only, ...others] = audiences
  if (only !== undefined && others.length === 0)
    return predicate('eq', columnOf(AUDIENCE, source), textLiteral(only))
  const list: Expr = { kind: 'list', items: audiences.map(textLiteral), type: 'Collection(String)' }
  const element: RowName = `r${Number(row.slice(1)) + 1}`
  const hasEarlier = (body?: Expr): Expr => ({
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'values', scalar: EARLIER_AUDIENCES, source },
    row: element,
    ...(body && { body }),
    type: 'Boolean',
  })
  // Each event has one of these three audiences.
  if (['public', 'staff', 'any'].every(audience => audiences.includes(audience)))
    return predicate('not', hasEarlier())
  const isOwn = predicate('in', { kind: 'element', row: element, type: 'String' }, list)
  return allOf(predicate('in', columnOf(AUDIENCE, source), list), predicate('not', hasEarlier(isOwn)))
}

/** The terms of a filter with the audiences of a reader. */
interface AudienceTerms {
  readonly audiences: readonly string[]
  /** The row is the first one of its event that the reader may see. */
  readonly isFirstRow: Expr
  readonly others: readonly Expr[]
}

/** Splits the terms of a filter that `isEventVisible` is part of. Returns undefined for other filters. */
export function splitAudienceTerms(terms: readonly Expr[]): AudienceTerms | undefined {
  const index = terms.findIndex(term => readAudiences(term))
  const audiences = index < 0 ? undefined : terms[index] && readAudiences(terms[index])
  const isFirstRow = terms[index + 1]
  return (
    audiences &&
    isFirstRow && {
      audiences,
      isFirstRow,
      others: terms.filter((_, i) => i !== index && i !== index + 1),
    }
  )
}

function readAudiences(term: Expr): readonly string[] | undefined {
  if (term.kind !== 'call' || term.fn !== 'in') return undefined
  const [column, list] = term.args
  if (column?.kind !== 'column' || column.scalar !== AUDIENCE || list?.kind !== 'list') return undefined
  return list.items.flatMap(item => (item.kind === 'literal' ? [String(item.value)] : []))
}
