import { ENTITIES } from '../../model/model.js'
import type { Ast, Query } from '../../query/ast.js'
import { bind } from '../../query/bind/bind.js'
import type { QueryLimits } from '../../query/limits.js'
import { hasEvents, trackedSourcesOf } from '../tracked-sources.js'

/** The limits and the parser of filters. */
export interface SelectionParts {
  readonly limits: QueryLimits
  /** Returns the query with a filter that selects the keys of records. */
  readonly toQuery: (filter: string) => Query
}

type PageSettings = Pick<QueryLimits, 'pageSize' | 'pageSizeMax' | 'expandPageMax'>

/**
 * Returns the limits and the parser of the filters of subscriptions.
 * @param parse reads an OData filter
 */
export const createSelectionParts = (
  { pageSize, pageSizeMax, expandPageMax }: PageSettings,
  parse: (filter: string) => Ast,
): SelectionParts => ({
  limits: { pageSize, pageSizeMax, expandPageMax, topIsTotal: false, expandDepth: 1 },
  toQuery: filter => ({ filter: parse(filter), select: [] }),
})

/** The events that a subscription selects. */
export interface WebhookSelection {
  readonly resourceName: string | undefined
  readonly filter: string | undefined
}

const EVENT_ENTITIES = new Map([...ENTITIES].filter(([, entityType]) => hasEvents(entityType)))

/**
 * Refuses a resource without events, and a filter that uses more than fields of the record itself: the log
 * has no event for the moment when such a filter starts to match.
 * @throws Error with a sentence for the operator, ProblemError for a filter that cannot be read
 */
export function checkSelection(
  { resourceName, filter }: WebhookSelection,
  { limits, toQuery }: SelectionParts,
): void {
  if (resourceName === undefined) {
    if (filter !== undefined) throw new Error('--filter needs --entity.')
    return
  }
  const entityType = EVENT_ENTITIES.get(resourceName)
  if (!entityType)
    throw new Error(
      `--entity is '${resourceName}'; expected one of ${[...EVENT_ENTITIES.keys()].join(', ')}.`,
    )
  if (filter === undefined) return
  const sources = trackedSourcesOf(bind(toQuery(filter), entityType, limits))
  if (!sources || sources.filterChildren.size > 0)
    throw new Error(
      `--filter: expected a filter on the fields of ${resourceName}, without related records and now().`,
    )
}
