import { setTimeout as wait } from 'node:timers/promises'
import { startSubscription } from '../support/clients/subscriber.js'
import { LoadClient, type TimedResponse } from '../support/load.js'

/** One kind of request of the light client, sent at a fixed rate. */
interface LightRequest {
  readonly name: string
  readonly intervalMs: number
  readonly send: (client: LoadClient) => Promise<TimedResponse>
}

/** A response, and when the request was due (milliseconds of `performance.now`). */
export interface LightResponse extends TimedResponse {
  readonly name: string
  readonly dueAt: number
}

/** Kind of request that waits for other writers. */
export const PATCH = 'PATCH'

const LISTING_KEY = 'L000000001'
const LISTING = `/odata/Property('${LISTING_KEY}')`

const SUBSCRIPTION = `subscription($since: Long!) {
  propertyChanged(since: $since, filter: { ListingKey: { eq: "${LISTING_KEY}" } }) { ListingKey }
}`

async function readLastSequence(base: string, token: string): Promise<string> {
  const target = `${base}/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=1`
  const response = await fetch(target, { headers: { Authorization: `Bearer ${token}` } })
  const { value } = (await response.json()) as { value: readonly { EntityEventSequence: number }[] } // a page
  return String(value[0]?.EntityEventSequence ?? 0)
}

const requestsOf = (memberKey: string): readonly LightRequest[] => [
  { name: 'read by key', intervalMs: 200, send: client => client.time(LISTING) },
  {
    name: 'filtered page',
    intervalMs: 500,
    send: client => client.time(`/odata/Property?$filter=City eq 'Vail' and ListPrice gt 100000&$top=20`),
  },
  {
    name: 'GraphQL query',
    intervalMs: 500,
    send: client =>
      client.time('/graphql', {
        method: 'POST',
        body: { query: '{ members(first: 3) { nodes { MemberKey } } }' },
      }),
  },
  {
    name: PATCH,
    intervalMs: 1000,
    send: client =>
      client.time(LISTING, {
        method: 'PATCH',
        body: { PublicRemarks: `Changed ${Math.random()}`, ChangedByMemberKey: memberKey },
      }),
  },
]

/** A request is sent when it is due, even if earlier ones have no response yet. Its time is measured from then. */
async function sendAtRate(
  { name, intervalMs, send }: LightRequest,
  client: LoadClient,
  isOver: () => boolean,
): Promise<readonly LightResponse[]> {
  const pending: Promise<LightResponse>[] = []
  for (let dueAt = performance.now(); !isOver(); dueAt += intervalMs) {
    await wait(Math.max(0, dueAt - performance.now()))
    const lateMs = performance.now() - dueAt
    pending.push(send(client).then(({ status, ms }) => ({ name, status, dueAt, ms: ms + lateMs })))
  }
  return await Promise.all(pending)
}

/** Sends all kinds of requests until the time is over. */
export async function sendLightRequests(
  { base, token, memberKey }: LightClient,
  isOver: () => boolean,
): Promise<readonly LightResponse[]> {
  const client = new LoadClient(base, token)
  const responses = await Promise.all(
    requestsOf(memberKey).map(request => sendAtRate(request, client, isOver)),
  )
  client.close()
  return responses.flat()
}

/** The light client, which has another token than the attacker. */
export interface LightClient {
  readonly base: string
  readonly token: string
  readonly memberKey: string
}

/** Responses of the light client. */
export interface LightResult {
  readonly responses: readonly LightResponse[]
  /** Changes of its own listing that its subscription showed. */
  readonly changeCount: number
  /** Why the subscription ended before the client did; undefined if it did not. */
  readonly subscriptionEnd?: string
}

/** Reads, writes and subscribes at a low rate. */
export async function runLightClient(light: LightClient, isOver: () => boolean): Promise<LightResult> {
  const { base, token } = light
  const subscription = startSubscription({ base, tokenFor: () => token }, SUBSCRIPTION, {
    variables: { since: await readLastSequence(base, token) },
  })
  let changeCount = 0
  let subscriptionEnd: string | undefined
  const receiving = (async () => {
    for (let result = await subscription.next(); result; result = await subscription.next()) {
      if (result.data?.propertyChanged['ListingKey'] === LISTING_KEY) changeCount += 1
      if (result.errors) subscriptionEnd = JSON.stringify(result.errors)
    }
    if (!isOver()) subscriptionEnd ??= 'completed by the service'
  })().catch((error: unknown) => {
    if (!isOver()) subscriptionEnd ??= String(error instanceof Error ? error.message : JSON.stringify(error))
  })
  const responses = await sendLightRequests(light, isOver)
  // Changes are announced at the latest by the next poll of the log.
  await wait(6000)
  subscription.dispose()
  await receiving
  return { responses, changeCount, ...(subscriptionEnd !== undefined && { subscriptionEnd }) }
}
