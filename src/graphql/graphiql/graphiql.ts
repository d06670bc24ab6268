import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import express, { type Response, type Router } from 'express'

/** Path of GraphiQL. */
export const GRAPHIQL_PATH = '/graphiql'

const require = createRequire(import.meta.url)
const REACT = dirname(require.resolve('react/package.json'))
const REACT_DOM = dirname(require.resolve('react-dom/package.json'))
const GRAPHIQL = dirname(require.resolve('graphiql/package.json'))

/**
 * Files of the page by name. All of them are served from here, so that no other host learns that the page was
 * opened.
 */
const ASSETS: Readonly<Record<string, readonly [folder: string, file: string]>> = {
  'react.js': [REACT, 'umd/react.production.min.js'],
  'react-dom.js': [REACT_DOM, 'umd/react-dom.production.min.js'],
  'graphiql.js': [GRAPHIQL, 'graphiql.min.js'],
  'graphiql.css': [GRAPHIQL, 'graphiql.min.css'],
  'page.mjs': [fileURLToPath(new URL('.', import.meta.url)), 'page.mjs'],
}

/**
 * Allows only these scripts and only requests to this service. The editor positions its lines by style
 * attributes, and its fonts and icons are in its style sheet.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/**
 * Serves GraphiQL, a page for writing and running queries. The page needs no token, since it contains no
 * data: the user enters a token. Its links are relative, so that it works behind a proxy that strips a
 * prefix.
 */
export function serveGraphiQL(): Router {
  const router = express.Router({ caseSensitive: true })
  router.get('/', ({ originalUrl }, res) => {
    const [path = ''] = originalUrl.split('?')
    // After a trailing slash the relative links would be wrong.
    if (path.endsWith('/')) res.redirect(308, `..${GRAPHIQL_PATH}`)
    else sendPage(res)
  })
  for (const [name, [root, file]] of Object.entries(ASSETS))
    router.get(`/${name}`, (_req, res) => {
      res.setHeader('X-Content-Type-Options', 'nosniff')
      // Revalidated for each request, and sent again only after a change.
      res.sendFile(file, { root, maxAge: 0 })
    })
  return router
}

function sendPage(res: Response): void {
  res.setHeader('Content-Type', 'text/html; charset=utf-8')
  res.setHeader('Content-Security-Policy', CONTENT_SECURITY_POLICY)
  res.setHeader('X-Content-Type-Options', 'nosniff')
  res.setHeader('Referrer-Policy', 'no-referrer')
  res.end(PAGE)
}

const STYLE = `
html, body { height: 100%; margin: 0 }
body { display: flex; flex-direction: column; font: 14px/1.4 system-ui, sans-serif }
form { display: flex; align-items: center; gap: .5rem; padding: .5rem 1rem; border-bottom: 1px solid #8884 }
input { flex: 1; font: inherit; padding: .25rem .5rem }
#graphiql { flex: 1; min-height: 0 }
`

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>GraphiQL: Listing Service</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="graphiql/graphiql.css">
<style>${STYLE}</style>
<script defer src="graphiql/react.js"></script>
<script defer src="graphiql/react-dom.js"></script>
<script defer src="graphiql/graphiql.js"></script>
<script type="module" src="graphiql/page.mjs"></script>
</head>
<body>
<form>
<label for="token">Token</label>
<input id="token" type="password" autocomplete="off" spellcheck="false" placeholder="npm run -s token -- --scope &quot;listings:read listings:write&quot; prints one">
</form>
<div id="graphiql"></div>
</body>
</html>
`
