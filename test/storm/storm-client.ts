import { setTimeout as wait } from 'node:timers/promises'
import type { ServiceGroup } from './services.js'
import type { StormRow } from './storm.js'

/** Outcome of a write. Without a response, or with 503, it is unknown if the write was executed. */
export type WriteOutcome =
  | { readonly kind: 'acknowledged'; readonly body: StormRow }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'refused'; readonly text: string }

const RETRY_MS = 200
const REQUEST_TIMEOUT_MS = 60_000

/** A client with one token that sends each request to the next process of the service. */
export class StormClient {
  constructor(
    private readonly services: ServiceGroup,
    readonly token: string,
  ) {}

  async #request(target: string, init: RequestInit = {}): Promise<Response> {
    const { pathname, search } = new URL(target, 'http://localhost')
    const headers = { Authorization: `Bearer ${this.token}`, ...(init.headers as Record<string, string>) } // plain objects only
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS)
    return fetch(`${await this.services.pick()}${pathname}${search}`, { ...init, headers, signal })
  }

  /** Repeats a read until there is a complete response. Refusals are errors. */
  async read(target: string, init: RequestInit = {}): Promise<{ text: string; headers: Headers }> {
    for (;;) {
      const answer = await this.#tryRead(target, init)
      if (answer?.ok) return answer
      if (answer && answer.status !== 503 && answer.status !== 429)
        throw new Error(`${answer.status} for ${target}: ${answer.text.slice(0, 300)}`)
      await wait(RETRY_MS)
    }
  }

  async #tryRead(target: string, init: RequestInit) {
    try {
      const response = await this.#request(target, init)
      const text = await response.text()
      return { ok: response.ok, status: response.status, headers: response.headers, text }
    } catch {
      return undefined
    }
  }

  /** Reads the records of all pages. */
  async *pages(target: string): AsyncGenerator<readonly StormRow[]> {
    for (let link: string | undefined = target; link !== undefined; ) {
      const page = JSON.parse((await this.read(link)).text) as {
        value: readonly StormRow[]
        '@odata.nextLink'?: string
      } // a collection
      yield page.value
      link = page['@odata.nextLink']
    }
  }

  async rows(target: string): Promise<readonly StormRow[]> {
    const rows: StormRow[] = []
    for await (const page of this.pages(target)) rows.push(...page)
    return rows
  }

  /** Returns the number of the last event that the token can see, or 0. */
  async readLastSequence(): Promise<number> {
    const { text } = await this.read('/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=1')
    const { value } = JSON.parse(text) as { value: readonly StormRow[] } // a collection
    return Number(value[0]?.['EntityEventSequence'] ?? 0)
  }

  async write(method: string, target: string, body?: unknown): Promise<WriteOutcome> {
    try {
      const headers = { 'Content-Type': 'application/json' }
      const content = body === undefined ? {} : { body: JSON.stringify(body), headers }
      const response = await this.#request(target, { method, ...content })
      const text = await response.text()
      if (response.ok) return { kind: 'acknowledged', body: text === '' ? {} : JSON.parse(text) }
      if (response.status === 503 || response.status === 429) return { kind: 'unknown' }
      return { kind: 'refused', text: `${method} ${target}: ${response.status} ${text.slice(0, 300)}` }
    } catch {
      return { kind: 'unknown' }
    }
  }

  /** Executes a mutation with one field. */
  async mutate(query: string, variables: StormRow): Promise<WriteOutcome> {
    const outcome = await this.write('POST', '/graphql', { query, variables })
    if (outcome.kind !== 'acknowledged') return outcome
    const { data, errors } = outcome.body as {
      data?: Readonly<Record<string, StormRow | null>> | null
      errors?: readonly { extensions?: { code?: string } }[]
    } // the answer of GraphQL
    const [result] = Object.values(data ?? {})
    if (errors === undefined && result) return { kind: 'acknowledged', body: result }
    if (errors?.some(({ extensions }) => extensions?.code === 'UNAVAILABLE')) return { kind: 'unknown' }
    return { kind: 'refused', text: `${query} ${JSON.stringify(errors).slice(0, 300)}` }
  }
}
