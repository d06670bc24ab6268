import type { IncomingMessage } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import type { Config } from '../../config/config.js'

const IPV6_PREFIX_GROUPS = 4

/** An address with an optional port, as proxies write it: `1.2.3.4:80`, `[::1]:80`. */
const ADDRESS_WITH_PORT = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/

/**
 * Returns the address that a request comes from, for the log and the audit log. With TRUST_PROXY, it is the
 * entry of X-Forwarded-For that the outermost trusted proxy has added, counted from the end: a client can
 * forge the entries before it. If the entry is absent or is no address, the address of the connection is
 * used.
 */
export function clientAddress(req: IncomingMessage, { trustProxy }: Pick<Config, 'trustProxy'>): string {
  const forwarded = trustProxy > 0 ? req.headers['x-forwarded-for'] : undefined
  const entry = forwarded === undefined ? undefined : String(forwarded).split(',').at(-trustProxy)?.trim()
  return (entry && toAddress(entry)) || toPlainAddress(req.socket.remoteAddress)
}

/**
 * Returns the network that failed attempts are counted for. The addresses of an IPv6 /64 count as one, since one
 * customer has all of them.
 */
export const clientNetwork = (req: IncomingMessage, config: Pick<Config, 'trustProxy'>): string =>
  toNetwork(clientAddress(req, config))

function toAddress(entry: string): string | undefined {
  const [, bracketed, plain] = ADDRESS_WITH_PORT.exec(entry) ?? []
  const address = toPlainAddress(bracketed ?? plain ?? entry)
  return isIP(address) === 0 ? undefined : address
}

/** Returns an IPv4-mapped IPv6 address as IPv4, and an IPv6 address without its zone. */
const toPlainAddress = (address = ''): string => address.replace(/^::ffff:(?=\d+\.)/i, '').split('%')[0] ?? ''

function toNetwork(address: string): string {
  if (!isIPv6(address)) return address
  const [head = '', tail] = address.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail ? tail.split(':') : []
  const missing = tail === undefined ? 0 : Math.max(0, 8 - first.length - last.length)
  const groups = [...first, ...Array<string>(missing).fill('0'), ...last]
  return groups
    .slice(0, IPV6_PREFIX_GROUPS)
    .map(group => group.toLowerCase().replace(/^0+(?=.)/, ''))
    .join(':')
}
