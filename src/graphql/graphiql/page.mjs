// The page at /graphiql, in the browser. React and GraphiQL are there already, as global names: the page
// loads them before this file.

const { React, ReactDOM, GraphiQL } = globalThis

/** The token stays in this tab and is gone when it closes. */
const KEPT = 'listing-service:token'

const EXAMPLE = `# Put a token into the field above, then press Ctrl-Enter.
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

const JSON_TYPES = 'application/graphql-response+json, application/json;q=0.9'
const EVENTS = 'text/event-stream'

const fetchWith =
  token =>
  async (params, { headers = {}, documentAST } = {}) => {
    const authorization = token === '' ? {} : { Authorization: `Bearer ${token}` }
    const accept = isSubscription(params, documentAST) ? EVENTS : JSON_TYPES
    const answer = await fetch('graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: accept, ...authorization, ...headers },
      body: JSON.stringify(params),
    })
    return answer.headers.get('Content-Type')?.startsWith(EVENTS) ? readEvents(answer.body) : answer.json()
  }

const isSubscription = ({ operationName }, { definitions = [] } = {}) =>
  definitions.some(d => d.operation === 'subscription' && (!operationName || d.name?.value === operationName))

/**
 * The results of a subscription, as they come (Server-Sent Events in the mode of distinct connections).
 * GraphiQL ends it when its button says so.
 */
async function* readEvents(stream) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader()
  try {
    for (let rest = ''; ; ) {
      const { done, value } = await reader.read()
      if (done) return
      const events = (rest + value).split('\n\n')
      rest = events.pop()
      for (const [, result] of events.map(event => /^event: next\ndata: (.*)$/m.exec(event) ?? []))
        if (result) yield JSON.parse(result)
    }
  } finally {
    await reader.cancel()
  }
}

const root = ReactDOM.createRoot(document.querySelector('#graphiql'))

/**
 * Begins anew for each token, since the schema is asked for with it; without one it is not asked for at all.
 */
const show = token =>
  root.render(
    React.createElement(GraphiQL, {
      key: token,
      fetcher: fetchWith(token),
      defaultQuery: EXAMPLE,
      ...(token === '' && { schema: null }),
    }),
  )

const field = document.querySelector('#token')
field.value = sessionStorage.getItem(KEPT) ?? ''
show(field.value)
field.addEventListener('change', () => {
  const token = field.value.trim()
  sessionStorage.setItem(KEPT, token)
  show(token)
})
document.querySelector('form').addEventListener('submit', event => event.preventDefault())
