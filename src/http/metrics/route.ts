/**
 * The kind of a request, for metric labels. All values are names of the service, so their number is bounded.
 */
export interface Route {
  readonly adapter: 'odata' | 'admin' | 'graphql' | 'oauth' | 'other'
  /** Name of an entity set, or empty. */
  readonly entity: string
  readonly route: string
  /** The path with placeholders. Undefined: the path is not one of the service. */
  readonly template: string | undefined
}

/** Names of the entity sets of both OData services. */
export interface EntitySetNames {
  readonly listings: readonly string[]
  readonly administration: readonly string[]
}

type ODataAdapter = 'odata' | 'admin'

const OTHER: Route = { adapter: 'other', entity: '', route: 'other', template: undefined }

/** A path of a GraphQL service: administration, rest. */
const GRAPHQL_PATH = /^(\/admin)?\/graphql(\/.*)?$/
const GRAPHQL: Route = { adapter: 'graphql', entity: '', route: 'operation', template: '/graphql' }
const GRAPHQL_SCHEMA: Route = { ...GRAPHQL, route: 'schema', template: '/graphql/{path}' }
const ADMIN_GRAPHQL: Route = { ...GRAPHQL, adapter: 'admin', template: '/admin/graphql' }
const ADMIN_GRAPHQL_SCHEMA: Route = { ...ADMIN_GRAPHQL, route: 'schema', template: '/admin/graphql/{path}' }

/** A path of an OData service: administration, set or service resource, key, rest. */
const ODATA_PATH = /^(\/admin)?\/odata\/?(?:([A-Za-z0-9_.$]+)(\([^/]*\))?(\/.*)?)?$/
/** Kinds of service resources, and their paths below the service root. */
const SERVICE_RESOURCES: ReadonlyMap<string, string> = new Map([
  ['$metadata', 'metadata'],
  ['$batch', 'batch'],
  ['$entity', 'record'],
  ['openapi.json', 'metadata'],
])
/** The rest of a path after the name of a set, by kind of request. */
const SET_TEMPLATES: Readonly<Record<ReturnType<typeof kindOf>, string>> = {
  collection: '',
  count: '/$count',
  record: '({key})',
  related: '({key})/{path}',
}
/** The endpoints of the authorization server. */
const OAUTH_ROUTES: ReadonlyMap<string, Route> = new Map(
  ['token', 'revoke', 'introspect', 'jwks'].map(route => {
    const template = `/oauth/${route}`
    return [template, { adapter: 'oauth', entity: '', route, template }]
  }),
)

/**
 * Creates the function that returns the route of a path.
 *   `/odata/Property('L1')/Media` → odata, Property, related; `/wp-admin/1` → other
 */
export function createRouteReader(entitySets: EntitySetNames): (path: string) => Route {
  const sets: Readonly<Record<ODataAdapter, ReadonlySet<string>>> = {
    odata: new Set(entitySets.listings),
    admin: new Set(entitySets.administration),
  }
  const routes = new Map<string, Route>()
  const routeOf = (adapter: ODataAdapter, entity: string, route: string, path: string | undefined): Route => {
    const key = `${adapter} ${entity} ${route} ${path}`
    const known = routes.get(key) ?? toRoute(adapter, entity, route, path)
    routes.set(key, known)
    return known
  }
  const readODataRoute = ([, administration, name, key, rest]: RegExpExecArray): Route => {
    const adapter = administration === undefined ? 'odata' : 'admin'
    if (name === undefined) return routeOf(adapter, '', 'service', '')
    const resource = SERVICE_RESOURCES.get(name)
    if (resource !== undefined) return routeOf(adapter, '', resource, name)
    if (!sets[adapter].has(name)) return routeOf(adapter, '', 'other', undefined)
    const kind = kindOf(key, rest)
    return routeOf(adapter, name, kind, `${name}${SET_TEMPLATES[kind]}`)
  }
  return path => {
    const graphql = GRAPHQL_PATH.exec(path)
    if (graphql) return toGraphQLRoute(graphql)
    const match = ODATA_PATH.exec(path)
    return match ? readODataRoute(match) : (OAUTH_ROUTES.get(path) ?? OTHER)
  }
}

function toGraphQLRoute([, administration, rest = '/']: RegExpExecArray): Route {
  if (administration === undefined) return rest === '/' ? GRAPHQL : GRAPHQL_SCHEMA
  return rest === '/' ? ADMIN_GRAPHQL : ADMIN_GRAPHQL_SCHEMA
}

function toRoute(adapter: ODataAdapter, entity: string, route: string, path: string | undefined): Route {
  const root = adapter === 'admin' ? '/admin/odata' : '/odata'
  return { adapter, entity, route, template: path === undefined ? undefined : `${root}/${path}` }
}

function kindOf(
  key: string | undefined,
  rest: string | undefined,
): 'collection' | 'count' | 'record' | 'related' {
  if (rest === '/$count') return 'count'
  if (rest === undefined || rest === '/' || rest === '/$query')
    return key === undefined ? 'collection' : 'record'
  // A key can be a segment: /Property/L1.
  return key === undefined && !rest.startsWith('/$') && !rest.slice(1).includes('/') ? 'record' : 'related'
}
