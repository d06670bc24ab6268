import type { IncomingMessage } from 'node:http'
import { expect, test } from 'vitest'
import { clientAddress, clientNetwork } from '../../../src/http/auth/client-address.js'

// OBS-07: the address of a request.

const requestFrom = (remoteAddress: string, forwarded?: string) =>
  ({
    headers: forwarded === undefined ? {} : { 'x-forwarded-for': forwarded },
    socket: { remoteAddress },
  }) as unknown as IncomingMessage // the parts that are read

const SOCKET = '10.0.0.1'
const addressOf = (trustProxy: number, forwarded?: string) =>
  clientAddress(requestFrom(SOCKET, forwarded), { trustProxy })

test('OBS-07 without TRUST_PROXY it is the address of the connection', () => {
  expect(addressOf(0, '9.9.9.9')).toBe(SOCKET)
  expect(clientAddress(requestFrom('::ffff:10.0.0.1'), { trustProxy: 0 })).toBe(SOCKET)
})

test.each([
  ['the client invents an entry', 1, '9.9.9.9, 203.0.113.7', '203.0.113.7'],
  ['two proxies', 2, '9.9.9.9, 203.0.113.7, 10.0.0.2', '203.0.113.7'],
  ['a port', 1, '203.0.113.7:4711', '203.0.113.7'],
  ['IPv6 in brackets', 1, '[2001:db8::1]:4711', '2001:db8::1'],
  ['IPv6', 1, '2001:db8::1', '2001:db8::1'],
  ['IPv4 mapped to IPv6', 1, '::ffff:203.0.113.7', '203.0.113.7'],
  ['10,000 entries', 1, `${'9.9.9.9, '.repeat(9999)}203.0.113.7`, '203.0.113.7'],
  ['unknown', 1, '9.9.9.9, unknown', SOCKET],
  ['text', 1, '9.9.9.9, "forged"', SOCKET],
  ['half an address', 1, '9.9.9.9, 1.2.3', SOCKET],
  ['an empty entry', 1, '9.9.9.9,', SOCKET],
  ['a connection past one of two proxies', 2, '9.9.9.9', SOCKET],
  ['no header', 1, undefined, SOCKET],
])('OBS-07 with TRUST_PROXY: %s', (_, trustProxy, forwarded, expected) => {
  expect(addressOf(trustProxy, forwarded)).toBe(expected)
})

test('the addresses of an IPv6 /64 count as one', () => {
  const networkOf = (address: string) => clientNetwork(requestFrom(address), { trustProxy: 0 })
  expect(networkOf('2001:db8:0:1::1')).toBe(networkOf('2001:0db8::1:ffff:0:0:2%eth0'))
  expect(networkOf('2001:db8:0:1::1')).not.toBe(networkOf('2001:db8:0:2::1'))
  expect(networkOf('203.0.113.7')).toBe('203.0.113.7')
})
