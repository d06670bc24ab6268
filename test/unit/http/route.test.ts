import { expect, test } from 'vitest'
import { createRouteReader } from '../../../src/http/metrics/route.js'

test('OBS-01 a path becomes one of a fixed list of routes, also below /admin', () => {
  const routeOf = createRouteReader({ listings: ['Property'], administration: ['Client'] })
  const routes = [
    '/odata/',
    `/odata/Property('L1')/Media`,
    '/odata/Client',
    '/admin/odata',
    '/admin/odata/$metadata',
    '/admin/odata/Client',
    `/admin/odata/Client('c')`,
    '/admin/odata/Property',
    '/admin/odata/x9',
    '/admin/other',
    '/graphql',
    '/graphql/schema.graphql',
  ].map(path => {
    const { adapter, entity, route } = routeOf(path)
    return `${adapter} ${entity} ${route}`
  })
  expect(routes).toEqual([
    'odata  service',
    'odata Property related',
    'odata  other',
    'admin  service',
    'admin  metadata',
    'admin Client collection',
    'admin Client record',
    'admin  other',
    'admin  other',
    'other  other',
    'graphql  operation',
    'graphql  schema',
  ])
})
