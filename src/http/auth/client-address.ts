import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { Config } from '../../config/config.js'

const IPV6_PREFIX_GROUPS = 4

/**
 * Returns the address that failed attempts are counted for. With TRUST_PROXY it is the last one of
 * X-Forwarded-For, which the nearest proxy has added; the others may be invented. The addresses of an IPv6 /64
 * count as one, since one customer has all of them.
 */
export function clientAddress(req: IncomingMessage, config: Pick<Config, 'trustProxy'>): string {
  return toNetwork(forwardedAddress(req, config) || (req.socket.remoteAddress ?? ''))
}

/**
 * Returns the whole address that a request came from, for the audit log. A value of X-Forwarded-For that is no address
 * is not believed.
 */
export function requestAddress(req: IncomingMessage, config: Pick<Config, 'trustProxy'>): string {
  const forwarded = toPlainAddress(forwardedAddress(req, config))
  return isIP(forwarded) ? forwarded : toPlainAddress(req.socket.remoteAddress ?? '')
}

function forwardedAddress(req: IncomingMessage, { trustProxy }: Pick<Config, 'trustProxy'>): string {
  const forwarded = trustProxy ? String(req.headers['x-forwarded-for'] ?? '') : ''
  return forwarded.split(',').at(-1)?.trim() ?? ''
}

/** Returns an address without a zone, and an IPv4 address in IPv6 form as IPv4. */
const toPlainAddress = (address: string): string =>
  address.replace(/^::ffff:(?=\d+\.)/i, '').split('%', 1)[0] ?? ''

function toNetwork(address: string): string {
  const plain = toPlainAddress(address)
  if (!isIPv6(plain)) return plain
  const [head = '', tail] = plain.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(missing).fill('0'), ...last]
  return groups
    .slice(0, IPV6_PREFIX_GROUPS)
    .map(group => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
