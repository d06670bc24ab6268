import { Agent, type ClientRequest, request } from 'node:http'

/** The part of a response that a load test checks. */
export interface TimedResponse {
  readonly status: number
  readonly ms: number
}

/** A request that can be aborted. */
export interface PendingRequest {
  /** The status, or undefined if the request was aborted. */
  readonly status: Promise<number | undefined>
  /** Closes the connection without waiting for the response. */
  abort(): void
}

interface LoadRequest {
  readonly method?: string
  readonly body?: unknown
}

/** A client that sends many concurrent requests with one token. */
export class LoadClient {
  readonly #base: string
  readonly #token: string
  readonly #agent = new Agent({ keepAlive: true })

  constructor(base: string, token: string) {
    this.#base = base
    this.#token = token
  }

  /** Sends a request on a connection that no other request uses. */
  start(target: string, { method = 'GET', body }: LoadRequest = {}): PendingRequest {
    const content = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      Authorization: `Bearer ${this.#token}`,
      ...(content !== undefined && { 'Content-Type': 'application/json' }),
    }
    let sent: ClientRequest | undefined
    let isAborted = false
    const send = (resolve: (status: number | undefined) => void, isRetry: boolean): void => {
      const current = request(
        this.#base + encodeURI(target),
        { method, headers, agent: this.#agent },
        res => {
          res.on('error', () => resolve(undefined))
          res.on('end', () => resolve(res.statusCode))
          res.resume()
        },
      )
      current.on('error', ({ code }: NodeJS.ErrnoException) => {
        // The server may close an idle connection at the moment of a request (RFC 9112, 9.3.1).
        if (code === 'ECONNRESET' && current.reusedSocket && !isRetry && !isAborted) send(resolve, true)
        else resolve(undefined)
      })
      current.end(content)
      sent = current
    }
    const status = new Promise<number | undefined>(resolve => send(resolve, false))
    const abort = () => {
      isAborted = true
      sent?.destroy()
    }
    return { status, abort }
  }

  async time(target: string, parts?: LoadRequest): Promise<TimedResponse> {
    const startedAt = performance.now()
    const status = await this.start(target, parts).status
    return { status: status ?? 0, ms: performance.now() - startedAt }
  }

  /**
   * Sends the same request on many connections, repeated after each response. @returns a function that aborts
   * all of them
   */
  flood(connections: number, target: string): () => Promise<void> {
    let isStopped = false
    const pending = new Set<PendingRequest>()
    const repeat = async () => {
      while (!isStopped) {
        const sent = this.start(target)
        pending.add(sent)
        await sent.status
        pending.delete(sent)
      }
    }
    const loops = Array.from({ length: connections }, repeat)
    return async () => {
      isStopped = true
      for (const sent of pending) sent.abort()
      await Promise.all(loops)
    }
  }

  /** Sends requests to the targets in turn, one after the other, for some time. */
  async run(
    ms: number,
    requests: readonly (() => Promise<TimedResponse>)[],
  ): Promise<readonly TimedResponse[]> {
    const results: TimedResponse[] = []
    for (const end = performance.now() + ms; performance.now() < end; ) {
      const next = requests[results.length % requests.length]
      if (next) results.push(await next())
    }
    return results
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** Returns a quantile of the times. */
export function percentile(responses: readonly Pick<TimedResponse, 'ms'>[], part: number): number {
  const sorted = responses.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(part * sorted.length))] ?? 0
}
