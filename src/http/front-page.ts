import type { RequestHandler } from 'express'

/** A place of the service, for people. */
export interface FrontPageLink {
  readonly path: string
  readonly about: string
}

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}code{background:#8882;padding:.1em .3em}'

/**
 * The page at `/`: what is here and how to get in. Its links begin with `base`, for a proxy may strip a
 * prefix. It loads nothing and runs nothing.
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
<p>Real-estate listings, to read and to write.</p>
<ul>
${links.map(({ path, about }) => `<li><a href="${base}${path}"><code>${path}</code></a>: ${about}</li>`).join('\n')}
</ul>
<p>All but the health checks and pages for people need a bearer token, so a browser alone gets 401 there: <code>npm run -s token -- --scope "listings:read listings:write" --member M00000001 --class member</code> prints one, here for an agent of the sample market.
The README of the project tells the rest; the protocol is documented at <a href="https://www.odata.org/documentation/">odata.org</a>.</p>
</body>
</html>
`
