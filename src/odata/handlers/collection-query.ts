import type { PageRequest } from '../../service/reading.js'
import type { ODataRequest } from '../protocol/request.js'
import { parsePageQuery, type ResourceKind } from '../url/query-options.js'
import type { CollectionPath } from '../url/resource-path.js'

/** Filters in the path apply before the options. */
export function readCollectionQuery(
  { options, limits, plans, scope }: ODataRequest,
  { filters }: CollectionPath,
  resourceKind: ResourceKind,
): Omit<PageRequest, 'representation'> {
  const pageQuery = scope.measure('parse', () => parsePageQuery(options, resourceKind, limits, plans))
  if (filters.length === 0) return pageQuery
  return {
    ...pageQuery,
    query: {
      ...pageQuery.query,
      apply: [
        ...filters.map(filter => ({ kind: 'filter', filter }) as const),
        ...(pageQuery.query.apply ?? []),
      ],
    },
  }
}
