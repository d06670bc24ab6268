import type { Config } from './config/config.js'
import { GRAPHIQL_PATH } from './graphql/graphiql/graphiql.js'
import { GRAPHQL_PATH, SDL_PATH } from './graphql/transport/handler.js'
import type { FrontPageLink } from './http/front-page.js'
import { ODATA_PATH } from './odata/protocol/request.js'

/** Returns the links of the index page. */
export const frontPageLinks = ({ introspection, graphiql }: Config): readonly FrontPageLink[] => [
  { path: ODATA_PATH, about: 'OData 4.01: the service document' },
  { path: `${ODATA_PATH}/$metadata`, about: 'the OData model, as XML or JSON' },
  { path: GRAPHQL_PATH, about: 'GraphQL' },
  ...(introspection ? [{ path: `${GRAPHQL_PATH}${SDL_PATH}`, about: 'the GraphQL schema, as text' }] : []),
  ...(graphiql
    ? [{ path: GRAPHIQL_PATH, about: 'GraphiQL: write and run GraphQL queries in the browser' }]
    : []),
  { path: '/health/ready', about: 'readiness, for load balancers' },
]
