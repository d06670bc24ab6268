import { toFailure } from '../../errors/catalog.js'
import { valueFault } from '../../errors/change-error.js'
import { type Problem, ProblemError } from '../../errors/problem.js'
import { ENTITIES, type Entity } from '../../model/model.js'
import type { Ast, Query } from '../../query/ast.js'
import { bind } from '../../query/bind/bind.js'
import type { QueryLimits } from '../../query/limits.js'
import { hasEvents, trackedSourcesOf } from '../tracked-sources.js'

/** The limits and the parser of filters. */
export interface SelectionDependencies {
  readonly limits: QueryLimits
  /** Returns the query with a filter that selects the keys of records. */
  readonly toQuery: (filter: string) => Query
}

export type PageSettings = Pick<QueryLimits, 'pageSize' | 'pageSizeMax' | 'expandPageMax'>

/**
 * Returns the limits and the parser of the filters of webhooks.
 * @param parse reads an OData filter
 */
export const createSelectionDependencies = (
  { pageSize, pageSizeMax, expandPageMax }: PageSettings,
  parse: (filter: string) => Ast,
): SelectionDependencies => ({
  limits: { pageSize, pageSizeMax, expandPageMax, topIsTotal: false, expandDepth: 1 },
  toQuery: filter => ({ filter: parse(filter), select: [] }),
})

/** The events that a webhook selects. */
export interface WebhookSelection {
  readonly resourceName: string | undefined
  readonly filter: string | undefined
}

const EVENT_ENTITIES = new Map([...ENTITIES].filter(([, entityType]) => hasEvents(entityType)))

/**
 * Returns the faults of a selection: a resource without events, and a filter that uses more than fields of the record
 * itself, since the log has no event for the moment when such a filter starts to match.
 */
export function selectionFaults(
  { resourceName, filter }: WebhookSelection,
  dependencies: SelectionDependencies,
): readonly Problem[] {
  if (resourceName === undefined)
    return filter === undefined
      ? []
      : [valueFault('Filter', 'A filter requires a resource (--entity, ResourceName).')]
  const entityType = EVENT_ENTITIES.get(resourceName)
  if (!entityType)
    return [
      valueFault(
        'ResourceName',
        `There are no events of '${resourceName}'. Resources with events are ${[...EVENT_ENTITIES.keys()].join(', ')}.`,
      ),
    ]
  return filter === undefined ? [] : filterFaults(entityType, filter, dependencies)
}

function filterFaults(
  entityType: Entity,
  filter: string,
  { limits, toQuery }: SelectionDependencies,
): readonly Problem[] {
  try {
    const sources = trackedSourcesOf(bind(toQuery(filter), entityType, limits))
    return sources?.filterChildren.size === 0
      ? []
      : [
          valueFault(
            'Filter',
            `The filter may use only the fields of ${entityType.name}, without related records and now().`,
          ),
        ]
  } catch (error) {
    if (!(error instanceof ProblemError)) throw error
    return error.problems.map(problem => valueFault('Filter', toFailure([problem]).message))
  }
}
