/**
 * The kind of a request, for metric labels. All values are names of the service, so their number is bounded.
 */
export interface Route {
  readonly adapter: 'odata' | 'graphql' | 'other'
  /** Name of an entity set, or empty. */
  readonly entity: string
  readonly route: string
}

const OTHER: Route = { adapter: 'other', entity: '', route: 'other' }
const GRAPHQL: Route = { adapter: 'graphql', entity: '', route: 'operation' }
const GRAPHQL_SCHEMA: Route = { adapter: 'graphql', entity: '', route: 'schema' }
const UNKNOWN_SET: Route = { adapter: 'odata', entity: '', route: 'other' }

/** A path below the service root: set or service resource, key, rest. */
const ODATA_PATH = /^\/odata\/?(?:([A-Za-z0-9_.$]+)(\([^/]*\))?(\/.*)?)?$/
const SERVICE_RESOURCES: ReadonlyMap<string, string> = new Map([
  ['$metadata', 'metadata'],
  ['$batch', 'batch'],
  ['$entity', 'record'],
  ['openapi.json', 'metadata'],
])

/**
 * Creates the function that returns the route of a path.
 *   `/odata/Property('L1')/Media` → odata, Property, related; `/wp-admin/1` → other
 */
export function createRouteReader(entitySets: Iterable<string>): (path: string) => Route {
  const routes = new Map<string, Route>()
  const names = new Set(entitySets)
  const routeOf = (entity: string, route: string): Route => {
    const key = `${entity} ${route}`
    const known = routes.get(key) ?? { adapter: 'odata', entity, route }
    routes.set(key, known)
    return known
  }
  return path => {
    if (path === '/graphql' || path === '/graphql/') return GRAPHQL
    if (path.startsWith('/graphql/')) return GRAPHQL_SCHEMA
    const [match, name, key, rest] = ODATA_PATH.exec(path) ?? []
    if (match === undefined) return OTHER
    if (name === undefined) return routeOf('', 'service')
    const resource = SERVICE_RESOURCES.get(name)
    if (resource !== undefined) return routeOf('', resource)
    return names.has(name) ? routeOf(name, kindOf(key, rest)) : UNKNOWN_SET
  }
}

function kindOf(key: string | undefined, rest: string | undefined): string {
  if (rest === '/$count') return 'count'
  if (rest === undefined || rest === '/' || rest === '/$query')
    return key === undefined ? 'collection' : 'record'
  // A key can be a segment: /Property/L1.
  return key === undefined && !rest.startsWith('/$') && !rest.slice(1).includes('/') ? 'record' : 'related'
}
