// The page at /graphiql, in the browser. React and GraphiQL are there already, as global names: the page loads them before this file.

const { React, ReactDOM, GraphiQL } = globalThis

/** The token stays in this tab and is gone when it closes. */
const KEPT = 'listing-service:token'

const EXAMPLE = `# Put a token into the field above, then press Ctrl-Enter.
query ActiveListings {
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

const fetchWith =
  token =>
  async (params, { headers = {} } = {}) => {
    const authorization = token === '' ? {} : { Authorization: `Bearer ${token}` }
    const answer = await fetch('graphql', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/graphql-response+json, application/json;q=0.9', ...authorization, ...headers },
      body: JSON.stringify(params),
    })
    return answer.json()
  }

const root = ReactDOM.createRoot(document.querySelector('#graphiql'))

/** Begins anew for each token, since the schema is asked for with it; without one it is not asked for at all. */
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
