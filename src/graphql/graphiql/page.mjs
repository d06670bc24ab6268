// The script of /graphiql in the browser. The page has loaded React and GraphiQL as globals before it.

const { React, ReactDOM, GraphiQL } = globalThis

/** The token is stored in this tab and removed when it closes. */
const TOKEN_STORAGE_KEY = 'listing-service:token'

const EXAMPLE = `# Put a token into the tokenInput above, then press Ctrl-Enter.
{
  properties(filter: { StandardStatus: { eq: "Active" } }, orderBy: { ListPrice: ASC }, first: 5) {
    totalCount
    nodes {
      ListingKey
      City
      ListPrice
      Media(first: 1) {
        MediaURL
      }
    }
  }
}
`

const JSON_MEDIA_TYPES = 'application/graphql-response+json, application/json;q=0.9'
const EVENT_STREAM_MEDIA_TYPE = 'text/event-stream'

const createFetcher =
  token =>
  async (params, { headers = {}, documentAST } = {}) => {
    const authorization = token === '' ? {} : { Authorization: `Bearer ${token}` }
    const accept = isSubscription(params, documentAST) ? EVENT_STREAM_MEDIA_TYPE : JSON_MEDIA_TYPES
    const response = await fetch('graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: accept, ...authorization, ...headers },
      body: JSON.stringify(params),
    })
    return response.headers.get('Content-Type')?.startsWith(EVENT_STREAM_MEDIA_TYPE)
      ? readEvents(response.body)
      : response.json()
  }

const isSubscription = ({ operationName }, { definitions = [] } = {}) =>
  definitions.some(d => d.operation === 'subscription' && (!operationName || d.name?.value === operationName))

/**
 * Yields the results of a subscription (Server-Sent Events, distinct connections mode). GraphiQL ends it when
 * the user stops it.
 */
async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let buffer = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) return
      const events = (buffer + value).split('\n\n')
      buffer = events.pop()
      for (const [, result] of events.map(event => /^event: next\ndata: (.*)$/m.exec(event) ?? []))
        if (result) yield JSON.parse(result)
    }
  } finally {
    await reader.cancel()
  }
}

const root = ReactDOM.createRoot(document.querySelector('#graphiql'))

/**
 * Remounted for each token, since the schema is requested with it. Without a token the schema is not
 * requested.
 */
const renderGraphiQL = token =>
  root.render(
    React.createElement(GraphiQL, {
      key: token,
      fetcher: createFetcher(token),
      defaultQuery: EXAMPLE,
      ...(token === '' && { schema: null }),
    }),
  )

const tokenInput = document.querySelector('#token')
tokenInput.value = sessionStorage.getItem(TOKEN_STORAGE_KEY) ?? ''
renderGraphiQL(tokenInput.value)
tokenInput.addEventListener('change', () => {
  const token = tokenInput.value.trim()
  sessionStorage.setItem(TOKEN_STORAGE_KEY, token)
  renderGraphiQL(token)
})
document.querySelector('form').addEventListener('submit', event => event.preventDefault())
