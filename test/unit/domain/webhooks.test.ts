import { describe, expect, test } from 'vitest'
import { maskUrl, urlFaults } from '../../../src/domain/webhooks/address.js'
import { createMessage, takeBodySize } from '../../../src/domain/webhooks/message.js'
import { delayAfterFailure, parseRetryAfter } from '../../../src/domain/webhooks/schedule.js'

const PRIVATE =
  `127.0.0.1 127.1 2130706433 0x7f000001 0177.0.0.1 localhost localhost. a.localhost [::1] [::ffff:127.0.0.1] [::ffff:7f00:1]
  [fd00::1] 10.0.0.1 172.16.0.1 192.168.0.1 100.64.0.1`.split(/\s+/)
const NEVER =
  `0 [::] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [2002:7f00:1::] [2001::1] [::127.0.0.1] [fe80::1] 169.254.169.254 [fd00:ec2::254]
  168.63.129.16 100.100.100.200 224.0.0.1 255.255.255.255 192.0.2.1 [2001:db8::1] 198.18.0.1`.split(/\s+/)
const PUBLIC = ['8.8.8.8', '[2606:4700::1111]', 'acme.example', '127.0.0.1.nip.io']

describe('WHK-12: the address of a receiver', () => {
  const reasonsOf = (url: string, rules: Parameters<typeof urlFaults>[1]) =>
    urlFaults(url, rules).map(fault =>
      fault.kind === 'ValueRefused' ? `${fault.field}: ${fault.reason}` : fault.kind,
    )
  const read = (host: string, allowsPrivate: boolean) =>
    reasonsOf(`https://${host}/hook`, { allowsPrivate, publicUrl: 'https://listings.example/api' }).join()

  test.each(PRIVATE)('%s is loopback or private, however written', host => {
    expect(read(host, false)).toMatch(/^Url: .*loopback or private address/)
    expect(read(host, true)).toBe('')
  })

  test.each(NEVER)('%s is never called', host => {
    for (const allowsPrivate of [false, true]) expect(read(host, allowsPrivate)).toMatch(/reserved/)
  })

  test.each(PUBLIC)('%s is accepted when the webhook is made', host => {
    expect(read(host, false)).toBe('')
  })

  test('WHK-25: not http, not the service itself, no password; the query is masked', () => {
    expect(read('listings.example', false)).toMatch(/service itself/)
    const rules = { allowsPrivate: false, publicUrl: undefined }
    for (const url of [
      'http://acme.example/',
      'ftp://acme.example/',
      'https://u:p@acme.example/',
      'acme',
      'https://acme.example/#x',
    ])
      expect(reasonsOf(url, rules), url).toHaveLength(1)
    expect(reasonsOf('http://u:p@10.0.0.1/…', rules)).toHaveLength(3)
    for (const path of ['/hook?token=abc', '/?token=abc', '/services/T0/abc', '/abc/'])
      expect(maskUrl(`https://acme.example:8443${path}`)).toBe('https://acme.example:8443/…')
    expect(maskUrl('https://acme.example/')).toBe('https://acme.example/')
  })
})

describe('WHK-19: the next attempt', () => {
  test('follows after twice the time, with jitter, at most an hour later', () => {
    const delays = Array.from({ length: 100 }, (_, i) => [
      delayAfterFailure(i + 1, undefined, 0),
      delayAfterFailure(i + 1, undefined, 0.999),
    ])
    expect(delays.slice(0, 4).map(([most]) => most)).toEqual([5000, 10_000, 20_000, 40_000])
    for (const [most = 0, least = 0] of delays) {
      expect(most).toBeLessThanOrEqual(3_600_000)
      expect(least).toBeGreaterThanOrEqual(most * 0.75)
      expect(least).toBeLessThan(most)
    }
  })

  test('Retry-After is seconds or a date, up to an hour', () => {
    const date = 'Sun, 29 Nov 2026 12:00:00 GMT'
    expect(parseRetryAfter('60', undefined)).toBe(60_000)
    expect(parseRetryAfter('Sun, 29 Nov 2026 12:02:00 GMT', date)).toBe(120_000)
    expect(parseRetryAfter('Sun, 29 Nov 2026 11:00:00 GMT', date)).toBe(0)
    expect(parseRetryAfter('soon', date)).toBeUndefined()
    expect(delayAfterFailure(1, 86_400_000, 0)).toBe(3_600_000)
    expect(delayAfterFailure(9, 0, 0)).toBe(1000)
    expect(delayAfterFailure(1, 60_000, 1)).toBe(66_000)
  })
})

describe('WHK-24: the message', () => {
  const eventsOf = (count: number, key = 'K') =>
    Array.from({ length: count }, (_, i) => ({
      sequence: String(i + 1),
      resource: 'Property',
      key: `${key}${i}`,
      timestamp: '2026-11-29T12:00:00.000Z',
    }))
  const target = { webhookId: 'wh-1', logId: 'log' }

  test('has at most 20 KB, and at least one event', () => {
    const events = eventsOf(100, 'é'.repeat(127))
    const taken = takeBodySize(events)
    expect(taken.length).toBeLessThan(100)
    expect(Buffer.byteLength(createMessage(target, taken).body)).toBeLessThanOrEqual(20_000)
    expect(takeBodySize(eventsOf(1, 'x'.repeat(30_000)))).toHaveLength(1)
    expect(takeBodySize(eventsOf(100))).toHaveLength(100)
    expect(takeBodySize([])).toEqual([])
  })

  test('the id is that of the body, of one webhook in one log', () => {
    const { id, body } = createMessage(target, eventsOf(2))
    expect(createMessage(target, eventsOf(2))).toEqual({ id, body })
    const others = [
      createMessage(target, eventsOf(3)),
      createMessage({ ...target, webhookId: 'wh-2' }, eventsOf(2)),
      createMessage({ ...target, logId: 'new' }, eventsOf(2)),
    ]
    expect(new Set([id, ...others.map(message => message.id)]).size).toBe(4)
    expect(id).toMatch(/^msg_[\w-]{32}$/)
  })
})
