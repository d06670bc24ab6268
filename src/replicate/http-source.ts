import {
  failFlag,
  failSource,
  InterruptedResponseError,
  PositionGoneError,
  REPLICATION_EXIT,
  ReplicationError,
} from './failure.js'
import { MAX_TIMER_MS, pause } from './pause.js'

const MAX_REDIRECTS = 5
const MAX_BACKOFF_MS = 60_000
const REQUEST_TIMEOUT_MS = 300_000

/** Settings of a source. */
export interface SourceOptions {
  /** Service root, such as `https://listings.example.org/odata/`. The token is sent to its origin only. */
  readonly root: URL
  /** Reads the token from its source. Called again after 401. */
  readonly readToken: () => Promise<string>
  /** Maximum wait for a source that refuses requests or does not answer. */
  readonly maxWaitMs: number
  readonly signal: AbortSignal
  readonly log: (line: string) => void
}

/** Reads an OData service over HTTP, and repeats requests that are refused temporarily. */
export class HttpSource {
  #token: string | undefined

  constructor(private readonly options: SourceOptions) {}

  /** @throws ReplicationError if the origin is not that of `--from` */
  #resolve(target: string, base: URL = this.options.root): URL {
    const url = new URL(target, base)
    if (url.origin !== this.options.root.origin)
      failSource(`a link refers to ${url.origin}. The token is sent to ${this.options.root.origin} only.`)
    return url
  }

  /** Returns the claims of the token that determine what it can read. Empty if the token is not a JWT. */
  async readRights(): Promise<string> {
    this.#token ??= await this.#readToken()
    return rightsOf(this.#token)
  }

  async #readToken(): Promise<string> {
    try {
      return await this.options.readToken()
    } catch (error) {
      return failToken(`the token cannot be read: ${describeError(error)}.`)
    }
  }

  async readJson(target: string): Promise<unknown> {
    return this.#repeat(target, 'application/json;IEEE754Compatible=true', async response => response.json())
  }

  readText(target: string, accept: string): Promise<string> {
    return this.#repeat(target, accept, response => response.text())
  }

  readMetadata(): Promise<string> {
    return this.readText('$metadata', 'application/xml')
  }

  /** Reads a whole export. It is requested again until it is complete. */
  readExport(target: string): Promise<readonly string[]> {
    return this.#repeat(target, 'application/x-ndjson', async response => {
      const lines: string[] = []
      for await (const line of readLines(response)) lines.push(line)
      return lines
    })
  }

  /**
   * Opens an export and yields its lines as they arrive.
   * @throws InterruptedResponseError if it ends early
   */
  async *streamExport(target: string): AsyncGenerator<string> {
    const response = await this.#repeat(target, 'application/x-ndjson', async opened => opened)
    yield* readLines(response)
  }

  async #repeat<T>(target: string, accept: string, read: (response: Response) => Promise<T>): Promise<T> {
    const deadline = Date.now() + this.options.maxWaitMs
    for (let tries = 0; ; tries++) {
      const outcome = await this.#try(target, accept, read)
      if ('value' in outcome) return outcome.value
      const delayMs = outcome.retryAfterMs ?? Math.min(MAX_BACKOFF_MS, 500 * 2 ** Math.min(tries, 10))
      if (Date.now() + delayMs > deadline)
        failSource(`${outcome.reason}. Nothing was lost: run the command again.`)
      if (delayMs >= 1000 || tries > 2)
        this.options.log(`${outcome.reason}; next try at ${new Date(Date.now() + delayMs).toISOString()}`)
      await pause(delayMs, this.options.signal)
    }
  }

  async #try<T>(
    target: string,
    accept: string,
    read: (response: Response) => Promise<T>,
  ): Promise<
    { readonly value: T } | { readonly reason: string; readonly retryAfterMs?: number | undefined }
  > {
    try {
      const response = await this.#send(this.#resolve(target), accept)
      if (response.ok) return { value: await read(response) }
      const text = (await response.text()).slice(0, 500)
      if (response.status === 410) throw new PositionGoneError(text)
      if (response.status === 429 || response.status >= 500)
        return { reason: `the source answered ${response.status}`, retryAfterMs: readRetryAfter(response) }
      return failSource(`${response.status} for ${target}: ${text}`)
    } catch (error) {
      if (error instanceof ReplicationError || error instanceof PositionGoneError) throw error
      this.options.signal.throwIfAborted()
      return { reason: `the source cannot be read (${describeError(error)})` }
    }
  }

  /** Sends a request. After 401, the token is read again once. */
  async #send(url: URL, accept: string): Promise<Response> {
    this.#token ??= await this.#readToken()
    const response = await this.#follow(url, accept)
    if (response.status !== 401) return response
    await response.body?.cancel()
    const token = await this.#readToken()
    if (token === this.#token) failToken(REFUSED)
    if (rightsOf(token) !== rightsOf(this.#token))
      failFlag('The new token has other rights than that of the copy. Run again with --accept-change.')
    this.#token = token
    const second = await this.#follow(url, accept)
    return second.status === 401 ? failToken(REFUSED) : second
  }

  async #follow(start: URL, accept: string): Promise<Response> {
    let url = start
    for (let n = 0; n <= MAX_REDIRECTS; n++) {
      const signal = AbortSignal.any([this.options.signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)])
      const headers = { Accept: accept, Authorization: `Bearer ${this.#token}`, 'OData-MaxVersion': '4.01' }
      const response = await fetch(url, { headers, redirect: 'manual', signal })
      const location = response.headers.get('location')
      if (response.status < 300 || response.status > 399 || location === null) return response
      await response.body?.cancel()
      url = this.#resolve(location, url)
    }
    return failSource(`more than ${MAX_REDIRECTS} redirects`)
  }
}

const REFUSED = 'the token was refused (401), and no newer token is available.'

function failToken(reason: string): never {
  throw new ReplicationError(
    `Source: ${reason} The position is stored: run the command again with a valid token.`,
    REPLICATION_EXIT.token,
  )
}

/** Returns the claims of a token that say what it may see. Empty for a token that is no JWT. */
function rightsOf(token: string): string {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'))
    if (typeof claims !== 'object' || claims === null) return ''
    const lasting = Object.entries(claims).filter(([name]) => !['iat', 'exp', 'nbf', 'jti'].includes(name))
    return JSON.stringify(lasting.sort(([a], [b]) => (a < b ? -1 : 1)))
  } catch {
    return ''
  }
}

/** Retry-After in seconds or as a date. */
function readRetryAfter(response: Response): number | undefined {
  const text = response.headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 200), MAX_TIMER_MS)
}

function describeError(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? error.cause.message || error.message : error.message
}

/** Reads the records of an export. The last line holds their number. */
async function* readLines(response: Response): AsyncGenerator<string> {
  let rest = ''
  let count = 0
  let last: string | undefined
  try {
    const decoder = new TextDecoder()
    for await (const chunk of response.body ?? []) {
      const lines = (rest + decoder.decode(chunk as Uint8Array, { stream: true })).split('\n') // bodies are bytes
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (last !== undefined) yield last
        last = line
        count++
      }
    }
  } catch (error) {
    throw new InterruptedResponseError(describeError(error))
  }
  const closing: unknown = last?.startsWith('{"@odata.count"') ? JSON.parse(last) : undefined
  const total =
    typeof closing === 'object' && closing && '@odata.count' in closing ? closing['@odata.count'] : undefined
  if (rest !== '' || total !== count - 1) throw new InterruptedResponseError('the export ended early')
}
