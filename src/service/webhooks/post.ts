import type { LookupAddress, LookupOptions } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { Semaphore } from '../../data/semaphore.js'
import { hostOf, refusalOfAddress } from '../../domain/webhooks/address.js'
import { parseRetryAfter } from '../../domain/webhooks/schedule.js'
import { messageOf } from '../../errors/problem.js'

/** A request to a receiver. */
export interface ReceiverRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly allowsPrivate: boolean
  /** Deadline of the whole attempt, from the resolution of the name to the end of the headers. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The answer of a receiver, or the reason why there is none. */
export type ReceiverAnswer =
  | { readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly status: undefined; readonly reason: string }

/** Bytes of an answer that are read, so that the receiver can finish it. The rest is not. */
const MAX_ANSWER_BYTES = 65_536
/** Time for which the body of an answer is read. */
const ANSWER_BODY_MS = 1000
/** Time after which the next address of a name is tried beside the one that does not answer. */
const NEXT_ADDRESS_MS = 2500
/**
 * Names that are resolved at the same time: each occupies one of the four threads that Node also needs for files and
 * hashes.
 */
const resolutions = new Semaphore(2)

/**
 * Posts a body to a receiver. Redirects are not followed, and each request has a connection of its own, to an address
 * that was checked for it. The answer is that of the status line: its body is not needed.
 */
export async function postToReceiver(request: ReceiverRequest): Promise<ReceiverAnswer> {
  const deadline = AbortSignal.timeout(request.timeoutMs)
  try {
    const response = await send(request, AbortSignal.any([request.signal, deadline]))
    await drain(response)
    const { 'retry-after': retryAfter, date } = response.headers
    return { status: response.statusCode ?? 0, retryAfterMs: parseRetryAfter(retryAfter, date) }
  } catch (error) {
    const reason = deadline.aborted
      ? `no answer within ${request.timeoutMs / 1000} s`
      : request.signal.aborted
        ? 'broken off by the service'
        : describeFailure(error)
    return { status: undefined, reason }
  }
}

function send(
  { url: text, headers, body, allowsPrivate }: ReceiverRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = new URL(text)
  const host = hostOf(url)
  if (isIP(host)) checkAddress(host, allowsPrivate)
  const content = Buffer.from(body)
  return new Promise((resolve, reject) => {
    const options = {
      method: 'POST',
      headers: { ...headers, 'Content-Type': 'application/json', 'Content-Length': content.length },
      agent: false,
      signal,
      lookup: createCheckedLookup(allowsPrivate),
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_MS,
    }
    const req: ClientRequest =
      url.protocol === 'https:'
        ? requestHttps(url, { ...options, rejectUnauthorized: true })
        : requestHttp(url, options)
    req.once('response', resolve)
    // Every time: an error after the answer would end the process.
    req.on('error', reject)
    req.end(content)
  })
}

/** Reads the rest of an answer, a little of it and for a short time. */
function drain(response: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let size = 0
    const end = () => {
      clearTimeout(timer)
      response.destroy()
      resolve()
    }
    const timer = setTimeout(end, ANSWER_BODY_MS)
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_ANSWER_BYTES) end()
    })
    response.once('end', end).once('close', end).on('error', end)
  })
}

/** An address that is not called. */
class AddressRefusedError extends Error {
  constructor(address: string, reason: string) {
    super(`${address} is a ${reason} address, which is not called`)
  }
}

function checkAddress(address: string, allowsPrivate: boolean): void {
  const refusal = refusalOfAddress(address, allowsPrivate)
  if (refusal) throw new AddressRefusedError(address, refusal)
}

/**
 * Creates the function that resolves the name of one connection. A name with an address that is not called is refused
 * whole, so the connection goes to an address that was checked.
 */
const createCheckedLookup =
  (allowsPrivate: boolean): LookupFunction =>
  (hostname, options, callback) =>
    void resolveChecked(hostname, options, allowsPrivate).then(
      addresses => {
        const [first] = addresses
        if (options.all) callback(null, [...addresses])
        else callback(null, first?.address ?? '', first?.family)
      },
      (error: Error) => callback(error, []),
    )

function resolveChecked(
  hostname: string,
  options: LookupOptions,
  allowsPrivate: boolean,
): Promise<readonly LookupAddress[]> {
  return resolutions.run(async () => {
    const addresses = await lookup(hostname, { ...options, all: true })
    for (const { address } of addresses) checkAddress(address, allowsPrivate)
    return addresses
  })
}

/** Describes an error of a connection. It names a host or an address, and never the query of a URL. */
function describeFailure(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = messageOf(error)
  return code === '' || message.includes(code) ? message : `${message} (${code})`
}
