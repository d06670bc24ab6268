import type { RequestHandler } from 'express'

/** A path of the service and its description. */
export interface FrontPageLink {
  readonly path: string
  readonly about: string
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}code,pre{background:#8882;padding:.1em .3em}pre{overflow:auto}'

/** Prints a token for an agent of the sample market, as in the README. */
const TOKEN_COMMAND =
  'npm run -s token -- --scope "listings:read listings:write" --member M00000001 --class member --expires 8h'

/**
 * Serves the index page at `/`. Links begin with `base`, because a proxy may strip a prefix. The page loads
 * nothing and runs no script.
 */
export function serveFrontPage(links: readonly FrontPageLink[], base = ''): RequestHandler {
  const page = renderFrontPage(links, base)
  return (_req, res) => {
    res.setHeader('Content-Type', 'text/html; charset=utf-8')
    res.setHeader('Content-Security-Policy', "default-src 'none'; style-src 'unsafe-inline'")
    res.end(page)
  }
}

const renderFrontPage = (links: readonly FrontPageLink[], base: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Listing Service</title><style>${STYLE}</style></head>
<body>
<h1>Listing Service</h1>
<p>Real-estate listings over OData and GraphQL.</p>
<ul>
${links.map(({ path, about }) => `<li><a href="${base}${path}"><code>${path}</code></a>: ${about}</li>`).join('\n')}
</ul>
<p>OData and GraphQL need a bearer token. Without one, as in a browser, the response is 401. This command, run in the folder of the project, prints a token for an agent of the sample market:</p>
<pre>${TOKEN_COMMAND}</pre>
<p>The README of the project shows requests to start with. The protocols are documented at <a href="https://www.odata.org/documentation/">odata.org</a> and <a href="https://graphql.org/learn/">graphql.org</a>.</p>
</body>
</html>
`
