// The code of docs/graphql-clients.md for subscriptions as server-sent events, without a package.

export interface Change {
  readonly EntityEventSequence: number
  readonly ListingKey: string
  readonly property: { readonly City: string | null; readonly ListPrice: number | null } | null
}

interface Result {
  readonly data?: { readonly propertyChanged: Change } | null
  readonly errors?: readonly { readonly message: string; readonly extensions: { readonly code: string } }[]
}

const CHANGES = `subscription ($since: Long) {
  propertyChanged(since: $since) { EntityEventSequence ListingKey property { City ListPrice StandardStatus } }
}`

const TRANSIENT = new Set(['UNAUTHENTICATED', 'UNAVAILABLE'])

/** Yields the changes after `since` as they happen, across lost connections and expired tokens. */
export async function* followChanges(
  url: string,
  getToken: () => Promise<string>,
  since: number,
): AsyncGenerator<Change> {
  for (let last = since; ; await new Promise(resolve => setTimeout(resolve, 1000))) {
    const response = await fetch(`${url}/graphql`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await getToken()}`,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
      body: JSON.stringify({ query: CHANGES, variables: { since: last } }),
    }).catch(() => undefined)
    if (!response?.ok || !response.body) continue
    for await (const { data, errors = [] } of readEvents(response.body)) {
      if (errors[0] && !TRANSIENT.has(errors[0].extensions.code)) throw new Error(errors[0].message)
      if (!data) break
      last = data.propertyChanged.EntityEventSequence
      yield data.propertyChanged
    }
  }
}

/** Reads events until the connection ends. A comment or an event without data is skipped. */
async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<Result> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let text = ''; ; ) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: undefined }))
      if (done) return
      const events = `${text}${value}`.split('\n\n')
      text = events.pop() ?? ''
      for (const event of events) {
        const [, data] = /^data: (.+)$/m.exec(event) ?? []
        if (data) yield JSON.parse(data)
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
