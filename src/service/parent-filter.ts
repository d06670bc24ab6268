import type { RecordJson } from '../data/sql/json/records.js'
import { RESOURCES } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'
import { type Entity, getEntity, getScalar, type Navigation } from '../model/model.js'
import type { Query } from '../query/ast.js'
import {
  columnOf,
  type Expr,
  FALSE,
  type Plan,
  predicate,
  rowSource,
  textLiteral,
  withFilter,
} from '../query/plan.js'

/**
 * One step of a path to related records: from the record with `key`, or from the record of the previous
 * steps, along a navigation.
 */
export interface NavigationStep {
  readonly entity: Entity
  readonly key?: string
  readonly navigation: Navigation
}

/** A condition on `r0` that restricts a query to the records related to another record. */
export type ParentFilter = Expr

/**
 * Reads the record with a key, or without a key the one that a filter selects, with the permissions of the
 * actor.
 */
export type ParentReader = (
  entityType: Entity,
  key: string | undefined,
  query: Query,
  parentFilter: ParentFilter | undefined,
) => Promise<RecordJson | undefined>

export const withParentFilter = (plan: Plan, parentFilter: ParentFilter | undefined): Plan =>
  parentFilter ? withFilter(plan, parentFilter) : plan

/**
 * Returns the condition on the records at the end of a path. If the actor cannot read the field that a step
 * joins by, the path selects no record.
 *   `Property('L1')/Media` → `r0.ResourceRecordKey eq 'L1'`
 * @throws ProblemError NotFound if the actor cannot see a record of the path
 */
export async function resolveParentFilter(
  steps: readonly NavigationStep[],
  readRecord: ParentReader,
): Promise<ParentFilter | undefined> {
  let parentFilter: ParentFilter | undefined
  for (const step of steps) parentFilter = await resolveStep(step, readRecord, parentFilter)
  return parentFilter
}

async function resolveStep(
  { entity: entityType, key, navigation }: NavigationStep,
  readRecord: ParentReader,
  parentFilter: ParentFilter | undefined,
): Promise<ParentFilter> {
  const { local, foreign, target } = navigation
  const query: Query = { select: [{ name: local, at: { source: 'the path' } }] }
  const found = await readRecord(entityType, key, query, parentFilter)
  if (!found)
    return fail({
      kind: 'NotFound',
      what:
        key === undefined
          ? RESOURCES.recordBefore(navigation.name)
          : RESOURCES.recordOf(entityType.name, key),
    })
  const value = (JSON.parse(found.json) as Readonly<Record<string, string | null>>)[local] ?? null // fields that refer to other records are strings
  return value === null
    ? FALSE
    : predicate('eq', columnOf(getScalar(getEntity(target), foreign), rowSource('r0')), textLiteral(value))
}
