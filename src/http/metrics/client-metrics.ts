import { Counter, type Registry } from 'prom-client'
import { AUDIENCES } from '../../domain/actor.js'
import type { Client, ClientLimits } from '../../domain/clients/client.js'

/** A registered client, as metrics name it. */
export type MeasuredClient = Pick<Client, 'id' | 'audience'>

/** Counts what clients do. */
export interface ClientMetrics {
  /** Counts a request. @param audience undefined without a valid token */
  countRequest(audience: string | undefined, client: Pick<Client, 'id'> | undefined): void
  /** Counts requests that a limit of their client has refused. */
  countRefusal(limit: string, client: MeasuredClient, count: number): void
}

/** Maximum number of clients with series of their own. All others share one. */
const MAX_CLIENTS = 1000
const OTHER_CLIENTS = 'other'
/** The class of a request without a valid token. */
const NO_CLASS = 'none'
const LIMITS: readonly (keyof ClientLimits)[] = [
  'requestsPerMinute',
  'requestsPerDay',
  'rowsPerDay',
  'runningStatements',
]

/**
 * Adds the metrics of clients.
 * @param namesClients adds the label `client`, with the ids of registered clients (METRICS_CLIENTS)
 */
export function addClientMetrics(registry: Registry, namesClients: boolean): ClientMetrics {
  const clientLabel: readonly 'client'[] = namesClients ? ['client'] : []
  const registers = [registry]
  const requests = new Counter({
    name: 'listing_client_requests_total',
    help: 'Requests by the class of their client.',
    labelNames: ['class', ...clientLabel],
    registers,
  })
  const refusals = new Counter({
    name: 'listing_limit_refusals_total',
    help: 'Requests that a limit of their client refused, by the class of the client.',
    labelNames: ['limit', 'class', ...clientLabel],
    registers,
  })
  if (!namesClients)
    for (const limit of LIMITS) for (const audience of AUDIENCES) refusals.inc({ limit, class: audience }, 0)
  const labelOf = namesClients ? createClientLabel() : () => ({})
  return {
    countRequest: (audience = NO_CLASS, client) => requests.inc({ class: audience, ...labelOf(client?.id) }),
    countRefusal: (limit, { id, audience }, count) =>
      refusals.inc({ limit, class: audience, ...labelOf(id) }, count),
  }
}

/** Creates the function that returns the label of a client, for a bounded number of clients. */
function createClientLabel(): (id: string | undefined) => { readonly client: string } {
  const known = new Set<string>()
  return (id = '') => {
    if (id !== '' && known.size < MAX_CLIENTS) known.add(id)
    return { client: id === '' || known.has(id) ? id : OTHER_CLIENTS }
  }
}
