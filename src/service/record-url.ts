import { type Entity, getEntity, getScalar } from '../model/model.js'
import {
  columnOf,
  type Expr,
  isRowColumn,
  MODEL_MEMBERS,
  type Plan,
  rowSource,
  type SelectItem,
  textLiteral,
} from '../query/plan.js'

/** Returns the address that relative links of a response are resolved against, with a slash at its end. */
export type ServiceRoot = () => string

const EVENT = getEntity('EntityEvent')
/** The log stores it relative to the service root, since the root depends on settings and request. */
const RECORD_URL = getScalar(EVENT, 'ResourceRecordUrl')

/** Returns true for a plan whose records depend on the service root: one that reads the change log. */
export const dependsOnServiceRoot = (plan: Plan): boolean => sourceEntityOf(plan) === EVENT

/**
 * Makes ResourceRecordUrl absolute in every part of a plan that reads the change log: `ResourceRecordUrl` →
 * `concat('https://host/odata/', ResourceRecordUrl)`. A filter therefore matches what a client reads.
 */
export const withAbsoluteRecordUrls = (plan: Plan, root: string): Plan => toAbsolute(plan, textLiteral(root))

/** Returns the entity whose table is read, also below transformations. */
const sourceEntityOf = ({ entity, from }: Pick<Plan, 'entity' | 'from'>): Entity =>
  from ? sourceEntityOf(from) : entity

function toAbsolute(plan: Plan, root: Expr): Plan {
  // A common prefix does not change the order of the values. Order terms therefore stay relative, and page
  // tokens do not contain the root.
  const orderBy = plan.orderBy.map(term => (isRowColumn(term.expr) ? term : replaceColumns(term, root)))
  return { ...replaceColumns(plan, root), orderBy, select: plan.select.map(item => toSelected(item, root)) }
}

const toSelected = (item: SelectItem, root: Expr): SelectItem =>
  item.kind === 'field' && item.scalar === RECORD_URL
    ? {
        kind: 'computed',
        name: item.as ?? item.scalar.name,
        value: replaceColumns(columnOf(item.scalar, rowSource('r0')), root),
      }
    : replaceColumns(item, root)

/** Returns a part of a plan with each column replaced. A part without such a column is returned as it is. */
function replaceColumns<T>(part: T, root: Expr): T {
  return replaceIn(part, root) as T // an expression takes the place of an expression of the same type
}

function replaceIn(part: unknown, root: Expr): unknown {
  if (typeof part !== 'object' || part === null) return part
  if (isRecordUrl(part))
    return { kind: 'call', fn: 'concat', args: [root, part], type: 'String' } satisfies Expr
  const members = Object.entries(part)
  const replaced = members.map(([name, inner]) => (MODEL_MEMBERS.has(name) ? inner : replaceIn(inner, root)))
  if (replaced.every((inner, i) => inner === members[i]?.[1])) return part
  return Array.isArray(part) ? replaced : Object.fromEntries(members.map(([name], i) => [name, replaced[i]]))
}

const isRecordUrl = (part: object): part is Expr =>
  'kind' in part && part.kind === 'column' && 'scalar' in part && part.scalar === RECORD_URL
