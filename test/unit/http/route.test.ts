import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { addClientMetrics } from '../../../src/http/metrics/client-metrics.js'
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
    '/graphql/',
    '/graphqlx',
    '/admin/graphql',
    '/admin/graphql/schema.graphql',
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
    'graphql  operation',
    'other  other',
    'admin  operation',
    'admin  schema',
  ])
})

test('OBS-01 METRICS_CLIENTS names at most 1,000 clients', async () => {
  const registry = new Registry()
  const metrics = addClientMetrics(registry, true)
  for (let i = 0; i < 1100; i++) metrics.countRequest('public', { id: `client-${i}` })
  metrics.countRequest('public', { id: 'client-0' })
  metrics.countRequest('staff', undefined)
  metrics.countRequest(undefined, undefined)
  const lines = (await registry.metrics())
    .split('\n')
    .filter(line => line.startsWith('listing_client_requests_total{'))
  expect(lines).toHaveLength(1003)
  expect(lines).toEqual(
    expect.arrayContaining([
      'listing_client_requests_total{class="public",client="client-0"} 2',
      'listing_client_requests_total{class="public",client="other"} 100',
      'listing_client_requests_total{class="staff",client=""} 1',
      'listing_client_requests_total{class="none",client=""} 1',
    ]),
  )
})
