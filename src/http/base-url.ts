import type { IncomingMessage } from 'node:http'
import type { Config } from '../config/config.js'
import { fail } from '../errors/problem.js'

/**
 * A name, an IPv4 or a bracketed IPv6 address, and perhaps a port: nothing that could lead a link elsewhere.
 */
const HOST_PATTERN = /^(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,253})|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?$/

/**
 * The address that all links of an answer begin with, without a slash at its end: PUBLIC_URL, else what the
 * client called. The X-Forwarded headers count only with TRUST_PROXY, and of a list the first value (the
 * proxy that the client spoke to).
 * @throws ProblemError BadHeader
 */
export function baseUrl(req: IncomingMessage, config: Pick<Config, 'publicUrl' | 'trustProxy'>): string {
  if (config.publicUrl !== undefined) return config.publicUrl
  const scheme = (config.trustProxy && firstOf(req, 'x-forwarded-proto')) || 'http'
  const forwardedHost = config.trustProxy ? firstOf(req, 'x-forwarded-host') : undefined
  const host = forwardedHost ?? req.headers.host ?? ''
  if (!/^https?$/i.test(scheme)) fail({ kind: 'BadHeader', header: 'X-Forwarded-Proto', found: scheme })
  if (!HOST_PATTERN.test(host))
    fail({
      kind: 'BadHeader',
      header: forwardedHost === undefined ? 'Host' : 'X-Forwarded-Host',
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
