import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.js'
import { EXPECTED_HEADER } from '../errors/phrases.js'
import { fail } from '../errors/problem.js'

/**
 * A host name, an IPv4 address or an IPv6 address in brackets, with an optional port. Other characters could
 * direct links to another host.
 */
const HOST_PATTERN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * Returns the base of all links in a response, without a trailing slash: PUBLIC_URL, or else the host that
 * the client used. X-Forwarded headers are trusted only with TRUST_PROXY. If a header has a list of values,
 * the first one is used: the proxy nearest to the client has set it.
 * @throws ProblemError BadHeader
 */
export function baseUrl(req: IncomingMessage, config: Pick<Config, 'publicUrl' | 'trustProxy'>): string {
  if (config.publicUrl !== undefined) return config.publicUrl
  const scheme = (config.trustProxy && firstOf(req, 'x-forwarded-proto')) || 'http'
  const forwardedHost = config.trustProxy ? firstOf(req, 'x-forwarded-host') : undefined
  const host = forwardedHost ?? req.headers.host ?? ''
  if (!/^https?$/i.test(scheme))
    fail({ kind: 'BadHeader', header: 'X-Forwarded-Proto', expected: EXPECTED_HEADER.scheme, found: scheme })
  if (!HOST_PATTERN.test(host))
    fail({
      kind: 'BadHeader',
      header: forwardedHost === undefined ? 'Host' : 'X-Forwarded-Host',
      expected: EXPECTED_HEADER.host,
      found: host,
    })
  return `${scheme.toLowerCase()}://${host}`
}

function firstOf(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name]
  return (
    String(value ?? '')
      .split(',')[0]
      ?.trim() || undefined
  )
}
