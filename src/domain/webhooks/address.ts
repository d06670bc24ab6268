import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { valueFault } from '../../errors/change-error.js'
import type { Problem } from '../../errors/problem.js'

/** Ranges of addresses that WEBHOOK_PRIVATE_ADDRESSES allows. */
const PRIVATE_RANGES: readonly string[] = ['loopback', 'private', 'uniqueLocal', 'carrierGradeNat']
/**
 * Addresses outside of the link-local ranges at which clouds serve credentials. Requests are never sent to
 * them.
 */
const METADATA_ADDRESSES: readonly string[] = ['fd00:ec2::254', '100.100.100.200', '168.63.129.16']
/** The range of IPv6 addresses that are assigned for use in public. */
const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3')
const MAX_URL_LENGTH = 2000
/** Text in responses for a value that may be secret. */
export const MASK = '…'

/** The reason for which an address is not allowed. */
export type AddressRefusal = 'private' | 'reserved'

/**
 * Returns the reason for which an IP address is not allowed, or undefined for an allowed one. Link-local
 * addresses, those of metadata services, multicast and reserved addresses, and IPv6 addresses that embed an
 * IPv4 address for a gateway are never allowed. An IPv4-mapped address counts as its IPv4 address.
 */
export function refusalOfAddress(text: string, allowsPrivate: boolean): AddressRefusal | undefined {
  const address = ipaddr.process(text)
  const range = address.range()
  if (METADATA_ADDRESSES.some(known => ipaddr.parse(known).toString() === address.toString()))
    return 'reserved'
  if (PRIVATE_RANGES.includes(range)) return allowsPrivate ? undefined : 'private'
  if (range !== 'unicast') return 'reserved'
  return address instanceof ipaddr.IPv6 && !address.match(GLOBAL_IPV6) ? 'reserved' : undefined
}

/** Rules for the addresses of webhooks. */
export interface AddressRules {
  /** WEBHOOK_PRIVATE_ADDRESSES. */
  readonly allowsPrivate: boolean
  /** PUBLIC_URL: webhooks to the service itself are refused. */
  readonly publicUrl: string | undefined
}

/** Returns the faults of the URL of a receiver. */
export function urlFaults(text: string, rules: AddressRules): readonly Problem[] {
  if (!URL.canParse(text) || text.length > MAX_URL_LENGTH)
    return [valueFault('Url', 'The URL must be absolute and have at most 2000 characters.')]
  const url = new URL(text)
  return [protocolFault(url, rules), partFault(text, url), hostFault(url, rules)]
    .filter(reason => reason !== undefined)
    .map(reason => valueFault('Url', reason))
}

function protocolFault({ protocol }: URL, { allowsPrivate }: AddressRules): string | undefined {
  return protocol === 'https:' || (allowsPrivate && protocol === 'http:')
    ? undefined
    : 'The URL must begin with https://. With WEBHOOK_PRIVATE_ADDRESSES=on, http is allowed.'
}

function partFault(text: string, { username, password, hash }: URL): string | undefined {
  if (username || password || hash)
    return 'The URL must not have a user, a password or a fragment. Set a bearer token separately (--token-file, Token).'
  return text.endsWith(MASK)
    ? `The URL ends with ${MASK}, which replaces the path in responses. Send the complete URL.`
    : undefined
}

function hostFault(url: URL, { allowsPrivate, publicUrl }: AddressRules): string | undefined {
  const host = hostOf(url)
  const refusal = isIP(host)
    ? refusalOfAddress(host, allowsPrivate)
    : isLocalName(host) && !allowsPrivate
      ? 'private'
      : undefined
  if (refusal === 'private')
    return `${host} is a loopback or private address. It is allowed with WEBHOOK_PRIVATE_ADDRESSES=on.`
  if (refusal === 'reserved') return `${host} is a reserved address, which is never called.`
  return !allowsPrivate && publicUrl !== undefined && new URL(publicUrl).host === url.host
    ? 'The URL is the address of the service itself (PUBLIC_URL).'
    : undefined
}

/** Returns the host of a URL, an IPv6 address without its brackets. */
export const hostOf = ({ hostname }: Pick<URL, 'hostname'>): string => hostname.replace(/^\[(.*)\]$/, '$1')

const isLocalName = (host: string): boolean => /(^|\.)localhost\.?$/i.test(host)

/**
 * Returns a URL for output and logs, without its path and query, which may contain a secret.
 *   `https://acme.example/hook/abc?token=def` → `https://acme.example/…`
 */
export function maskUrl(url: string): string {
  const { origin, pathname, search } = new URL(url)
  return pathname === '/' && search === '' ? url : `${origin}/${MASK}`
}
