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
  /** Time limit of the whole attempt, from name resolution to the end of the response headers. */
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The response of a receiver, or the reason for its absence. */
export type ReceiverResponse =
  | { readonly status: number; readonly retryAfterMs: number | undefined }
  | { readonly status: undefined; readonly reason: string }

/** Maximum number of bytes of a response body that are read, so that the receiver can complete it. */
const MAX_RESPONSE_BYTES = 65_536
/** Maximum time for reading the body of a response. */
const BODY_TIMEOUT_MS = 1000
/** Time after which the next address of a name is tried in parallel. */
const NEXT_ADDRESS_MS = 2500
/**
 * Limits concurrent name resolutions: each occupies one of the four threads that Node also needs for files
 * and hashes.
 */
const resolutions = new Semaphore(2)

/**
 * Posts a body to a receiver. Redirects are not followed. Each request has its own connection to an address
 * that was checked for it. Only the status line of the response is used.
 */
export async function postToReceiver(request: ReceiverRequest): Promise<ReceiverResponse> {
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
        ? 'aborted by the service'
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
    // Not `once`: an unhandled error after the response would end the process.
    req.on('error', reject)
    req.end(content)
  })
}

/** Reads the body of a response up to limits of size and time, and discards it. */
function drain(response: IncomingMessage): Promise<void> {
  return new Promise(resolve => {
    let size = 0
    const end = () => {
      clearTimeout(timer)
      response.destroy()
      resolve()
    }
    const timer = setTimeout(end, BODY_TIMEOUT_MS)
    response.on('data', (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_RESPONSE_BYTES) end()
    })
    response.once('end', end).once('close', end).on('error', end)
  })
}

/** Thrown for an address that requests must not be sent to. */
class AddressRefusedError extends Error {
  constructor(address: string, reason: string) {
    super(`${address} is a ${reason} address, which is not allowed`)
  }
}

function checkAddress(address: string, allowsPrivate: boolean): void {
  const refusal = refusalOfAddress(address, allowsPrivate)
  if (refusal) throw new AddressRefusedError(address, refusal)
}

/**
 * Creates the lookup function of one connection. A name is refused if any of its addresses is forbidden, so
 * every address of the connection was checked.
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

/** Describes an error of a connection by its host or address, without the query of the URL. */
function describeFailure(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(messageOf).join('; ')
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  const message = messageOf(error)
  return code === '' || message.includes(code) ? message : `${message} (${code})`
}
