import { getEntity, getScalar } from '../model/model.js'
import {
  allOf,
  columnOf,
  type Expr,
  type LiteralExpr,
  predicate,
  type RowName,
  rowSource,
  textLiteral,
} from '../query/plan.js'
import type { Actor } from './actor.js'

/** Columns of the change log. An event has one row for each of its audiences. */
const EVENT = getEntity('EntityEvent')
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
 */
export function audiencesOf({ scopes, memberKey, officeKey, audience }: Actor): readonly string[] {
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
  const source = rowSource(row)
  const audiences = audiencesOf(actor).map(textLiteral)
  const [only, ...others] = audiences
  if (only && others.length === 0) return predicate('eq', columnOf(AUDIENCE, source), only)
  const list: Expr = { kind: 'list', items: audiences, type: 'Collection(String)' }
  const element: RowName = `r${Number(row.slice(1)) + 1}`
  const hasEarlier: Expr = {
    kind: 'lambda',
    quantifier: 'any',
    over: { kind: 'values', scalar: EARLIER_AUDIENCES, source },
    row: element,
    body: predicate('in', { kind: 'element', row: element, type: 'String' }, list),
    type: 'Boolean',
  }
  return allOf(predicate('in', columnOf(AUDIENCE, source), list), predicate('not', hasEarlier))
}

/** Returns the audiences of a term that `isEventVisible` made, or undefined for any other term. */
export function readAudiences(term: Expr): readonly LiteralExpr[] | undefined {
  if (term.kind !== 'call' || term.fn !== 'in') return undefined
  const [column, list] = term.args
  if (column?.kind !== 'column' || column.scalar !== AUDIENCE || list?.kind !== 'list') return undefined
  return list.items.filter(item => item.kind === 'literal')
}
