import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

/** An event as received. */
export interface ReceivedEvent {
  readonly EntityEventSequence: number
  readonly ResourceName: string
  readonly ResourceRecordKey: string
}

/** A request that a receiver has got. */
export interface Delivery {
  readonly id: string
  readonly body: string
  readonly headers: IncomingMessage['headers']
  readonly events: readonly ReceivedEvent[]
  /** The status of the response, set when the receiver has responded. */
  status: number | undefined
}

/** Responds to a request. Returns the status of the response, or undefined if there is none. */
export type Answer = (
  delivery: Delivery,
  res: ServerResponse,
  index: number,
) => number | undefined | Promise<number | undefined>

/** An HTTP server of a partner. */
export interface Receiver {
  readonly url: string
  readonly deliveries: Delivery[]
  /** Answers the requests from now on. */
  answer: Answer
  /** Maximum number of concurrent requests. */
  maxOpen: number
  /** The events of all accepted deliveries (status 200 to 299), in order. */
  acknowledged(): readonly ReceivedEvent[]
  close(): Promise<void>
}

const ACCEPT: Answer = (_, res) => {
  res.writeHead(204).end()
  return 204
}

/** Answers with a status and nothing else. */
export const answering =
  (status: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  (_, res) => {
    res.writeHead(status, headers).end()
    return status
  }

/** Starts a receiver on 127.0.0.1. */
export async function startReceiver(answer: Answer = ACCEPT): Promise<Receiver> {
  const deliveries: Delivery[] = []
  let open = 0
  const server = createServer((req, res) => {
    open += 1
    receiver.maxOpen = Math.max(receiver.maxOpen, open)
    res.once('close', () => {
      open -= 1
    })
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', async () => {
      const delivery = toDelivery(req, Buffer.concat(chunks).toString('utf8'))
      deliveries.push(delivery)
      delivery.status = await receiver.answer(delivery, res, deliveries.length - 1)
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const receiver: Receiver = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    deliveries,
    answer,
    maxOpen: 0,
    acknowledged: () => deliveries.filter(isAcknowledged).flatMap(({ events }) => events),
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return receiver
}

const isAcknowledged = ({ status = 0 }: Delivery): boolean => status >= 200 && status < 300

const toDelivery = (req: IncomingMessage, body: string): Delivery => ({
  id: String(req.headers['webhook-id']),
  body,
  headers: req.headers,
  events: (JSON.parse(body) as { readonly value: readonly ReceivedEvent[] }).value, // as documented
  status: undefined,
})

/** Verifies a delivery as a receiver does, with the public library. Throws if a signature is wrong or too old. */
export const verify = (secret: string, { body, headers }: Pick<Delivery, 'body' | 'headers'>): unknown =>
  new Webhook(secret).verify(body, headers as Record<string, string>)
