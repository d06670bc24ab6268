import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { createClient } from 'graphql-ws'
import { decodeProtectedHeader } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { bodyOf, type Row, rowsOf } from '../support/assertions.js'
import { socketUrl } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import { basic, freePort, randomPartOf, type TestClient } from '../support/partners.js'
import {
  createTestEnvironment,
  FULL_ACCESS_TOKEN,
  type StartedService,
  signTokenFor,
  startService,
  type TestEnvironment,
} from '../support/process.js'

// A day in the life of an operator and of a partner, on PostgreSQL with two processes: docs/partners.md as a program. The
// operator uses the commands, the partner uses the libraries that partners have. The tests are the hours of one day: each
// needs those before it.

/** Three listings, and 2,500 with long texts: their export is larger than the buffers of a connection. */
const MARKET = [
  `insert into "Member" ("MemberKey", "MemberLastName") values ('M1', 'Lee')`,
  `insert into "Property" ("ListingKey", "StandardStatus", "City", "ListPrice", "SoldPrice", "ListAgentKey") values
     ('VAIL', 'Active', 'Vail', 500000, null, 'M1'), ('SOLD', 'Sold', 'Vail', 400000, 390000, 'M1'),
     ('RENO', 'Active', 'Reno', 300000, null, 'M1')`,
  `set session_replication_role = replica`,
  `insert into "Property" ("ListingKey", "StandardStatus", "ModificationTimestamp", "OriginatingSystemName", "City", "PublicRemarks")
     select 'L' || 10000 + n, 'Active', now(), 'x', 'Vail', repeat('x', 4000) from generate_series(1, 2500) n`,
]
const FEED_COUNT = 2501
/** A change of a client acts in every process within this time. */
const DEADLINE = { timeout: 5000, interval: 50 }
const SUBSCRIPTION = 'subscription { propertyChanged { ListingKey property { ListPrice } } }'

const { scripts } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>
}
const bearer = (token: string) => `Bearer ${token}`

/** A program of a partner in Python: discovers the service, gets a token, and reads a listing with it. */
const PYTHON = `
import json, os, sys, requests
from authlib.integrations.requests_client import OAuth2Session
issuer, client_id = sys.argv[1:]
metadata = requests.get(issuer + '/.well-known/oauth-authorization-server').json()
session = OAuth2Session(client_id, os.environ['CLIENT_SECRET'])
token = session.fetch_token(metadata['token_endpoint'], grant_type='client_credentials')
listing = session.get(issuer + "/odata/Property('VAIL')?$select=ListingKey").json()
print(json.dumps([token['access_token'], listing['ListingKey']]))
`

/** Returns the first Python with authlib. */
async function findPython(): Promise<string | undefined> {
  for (const python of ['python3', '/usr/bin/python3'])
    try {
      await promisify(execFile)(python, ['-c', 'import authlib, requests'])
      return python
    } catch {
      // The next one may have it.
    }
  return undefined
}
const PYTHON_WITH_AUTHLIB = await findPython()

describe.runIf(DATABASE_KINDS.includes('server'))('a day in the life', { timeout: 300_000, retry: 0 }, () => {
  let place: TestEnvironment
  let service: StartedService
  let issuer: string
  let acme: TestClient
  const tokens: string[] = []

  beforeAll(async () => {
    place = await createTestEnvironment('server')
    const database = await place.connect()
    await database.withClient(async connection => {
      for (const sql of MARKET) await connection.query(sql)
    })
    await database.close()
    const port = await freePort()
    issuer = `http://127.0.0.1:${port}`
    service = await startService(place, { PORT: String(port), PUBLIC_URL: issuer, WORKERS: '2' })
  }, 120_000)
  afterAll(async () => {
    await service?.stop('SIGTERM')
    await place?.remove()
  })

  /** Runs a command of package.json, and returns what it prints. */
  const run = async (
    name: 'clients' | 'feeds' | 'keys' | 'usage',
    ...args: readonly string[]
  ): Promise<string> => {
    const [, ...program] = (scripts[name] ?? '').split(' ')
    const env = { PATH: process.env['PATH'], ...place.env }
    return (await promisify(execFile)(process.execPath, [...program, ...args], { env })).stdout
  }
  const secretIn = (output: string) => /^client secret: (.+)$/m.exec(output)?.[1] ?? expect.fail(output)
  const send = (authorization: string, target: string, parts = {}) =>
    service.send(target, { ...parts, headers: { Authorization: authorization } })
  const readOData = (authorization: string) =>
    send(authorization, "/odata/Property?$top=1&$count=true&$filter=ListingKey gt 'R'")
  const readGraphQL = (authorization: string) =>
    send(authorization, '/graphql', {
      method: 'POST',
      body: {
        query:
          '{ properties(first: 3, filter: { ListingKey: { gt: "R" } }) { nodes { ListingKey SoldPrice } } }',
      },
    })
  /** Each request opens a connection, so that both processes answer. */
  const statusesOf = async (authorization: string) =>
    (
      await Promise.all([readOData, readOData, readGraphQL, readGraphQL].map(read => read(authorization)))
    ).map(({ status }) => status)
  const changePrice = (price: number) =>
    service.send("/odata/Property('VAIL')", {
      method: 'PATCH',
      body: { ListPrice: price, ChangedByMemberKey: 'M1' },
    })

  test('08:00 the operator makes a feed and a client', async () => {
    const feed = await run(
      'feeds', 'add', 'vail', '--filter', "City eq 'Vail' and StandardStatus eq 'Active'", '--hide', 'SoldPrice,PrivateRemarks',
    ) // biome-ignore format: one command
    expect(JSON.parse(feed)).toMatchObject({ FeedName: 'vail', Listings: FEED_COUNT })
    const client = await run(
      'clients', 'add', 'Acme IDX', '--contact', 'it@acme.example', '--feed', 'vail', '--expires', '365d',
    ) // biome-ignore format: one command
    acme = { id: /^client id: +(.+)$/m.exec(client)?.[1] ?? '', secret: secretIn(client) }
    expect(await run('clients', 'list')).toMatch(
      /^acme-idx-\w+ +Acme IDX +active +public +listings:read +never used$/m,
    )
    await expect.poll(() => statusesOf(basic(acme)), DEADLINE).toEqual([200, 200, 200, 200])
  })

  test('09:00 openid-client gets a token', async () => {
    const config = await openidClient.discovery(new URL(issuer), acme.id, acme.secret, undefined, {
      execute: [openidClient.allowInsecureRequests],
    })
    tokens.push((await openidClient.clientCredentialsGrant(config)).access_token)
  })

  test('09:05 oauth4webapi gets a token', async () => {
    const insecure = { [oauth4webapi.allowInsecureRequests]: true }
    const discovered = await oauth4webapi.discoveryRequest(new URL(issuer), {
      algorithm: 'oauth2',
      ...insecure,
    })
    const server = await oauth4webapi.processDiscoveryResponse(new URL(issuer), discovered)
    const client = { client_id: acme.id }
    const answer = await oauth4webapi.clientCredentialsGrantRequest(
      server, client, oauth4webapi.ClientSecretBasic(acme.secret), new URLSearchParams(), insecure,
    ) // biome-ignore format: one call
    tokens.push((await oauth4webapi.processClientCredentialsResponse(server, client, answer)).access_token)
  })

  test.runIf(PYTHON_WITH_AUTHLIB)('09:10 authlib of Python gets a token, and reads', async () => {
    const env = { PATH: process.env['PATH'], CLIENT_SECRET: acme.secret }
    const { stdout } = await promisify(execFile)(PYTHON_WITH_AUTHLIB ?? '', ['-c', PYTHON, issuer, acme.id], {
      env,
    })
    const [token, key] = JSON.parse(stdout) as readonly [string, string]
    expect(key).toBe('VAIL')
    tokens.push(token)
  })

  test('10:00 the partner reads its feed, and no more, by OData and GraphQL, with each token and by Basic', async () => {
    expect(tokens.length).toBeGreaterThanOrEqual(2)
    for (const authorization of [...tokens.map(bearer), basic(acme)]) {
      const page = await readOData(authorization)
      expect(bodyOf(page)).toMatchObject({
        '@odata.count': 1,
        value: [{ ListingKey: 'VAIL', SoldPrice: null }],
      })
      const graphql = await readGraphQL(authorization)
      expect(graphql.json).toEqual({
        data: { properties: { nodes: [{ ListingKey: 'VAIL', SoldPrice: null }] } },
      })
      for (const key of ['SOLD', 'RENO'])
        expect((await send(authorization, `/odata/Property('${key}')`)).status).toBe(404)
      expect((await send(authorization, "/odata/Property('VAIL')", { method: 'DELETE' })).status).toBe(403)
    }
  })

  test('11:00 the partner exceeds its limit, and the operator raises it', async () => {
    await run('clients', 'change', acme.id, '--requests-per-day', '60')
    const authorizations = [...tokens.map(bearer), basic(acme)]
    const readWithAny = (i: number) =>
      send(authorizations[i % authorizations.length] ?? '', "/odata/Property('VAIL')")
    const limits = async () =>
      (await Promise.all([0, 0, 0, 0].map(readWithAny))).map(({ headers }) => headers['ratelimit-limit'])
    await expect.poll(limits, DEADLINE).toEqual(['60', '60', '60', '60'])
    // Processes count each other after two seconds. Until then Remaining may be too high.
    await wait(2500)
    let passed = 0
    let refused = await readWithAny(0)
    for (let i = 1; refused.status === 200 && i < 100; i++) {
      passed += 1
      // With two processes Remaining may be too low, and is never too high.
      expect(Number(refused.headers['ratelimit-remaining'])).toBeLessThanOrEqual(60 - passed)
      refused = await readWithAny(i)
    }
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining('"4029"')])
    const untilMidnight = 86_400 - ((Date.now() / 1000) % 86_400)
    expect(Math.abs(Number(refused.headers['retry-after']) - untilMidnight)).toBeLessThan(30)
    expect(refused.headers).toMatchObject({
      'ratelimit-limit': '60',
      'ratelimit-remaining': '0',
      'ratelimit-reset': refused.headers['retry-after'],
      'ratelimit-policy': '60;w=86400',
    })
    const graphql = await readGraphQL(basic(acme))
    expect([graphql.status, graphql.json]).toMatchObject([
      429,
      { errors: [{ extensions: { serviceCode: '4029' } }] },
    ])
    await run('clients', 'change', acme.id, '--requests-per-day', '100000')
    await expect.poll(() => statusesOf(basic(acme)), DEADLINE).toEqual([200, 200, 200, 200])
  })

  test('13:00 the secret is rotated: both are valid, then the old one ends', async () => {
    const old = acme
    acme = { ...acme, secret: secretIn(await run('clients', 'rotate', acme.id)) }
    await expect.poll(() => statusesOf(basic(acme)), DEADLINE).toEqual([200, 200, 200, 200])
    expect(await statusesOf(basic(old))).toEqual([200, 200, 200, 200])
    await run('clients', 'rotate', acme.id, '--end')
    await expect.poll(() => statusesOf(basic(old)), DEADLINE).toEqual([401, 401, 401, 401])
    expect(await statusesOf(basic(acme))).toEqual([200, 200, 200, 200])
    // Tokens that were issued before do not depend on the secret.
    for (const token of tokens) expect(await statusesOf(bearer(token))).toEqual([200, 200, 200, 200])
  })

  test('14:00 the signing keys are rotated, in both processes and without a restart (OAU-13)', async () => {
    const ofBoth = <T>(ask: () => Promise<T>) => Promise.all(Array.from({ length: 6 }, ask))
    const keysOf = async () =>
      (bodyOf(await service.send('/oauth/jwks'))['keys'] as readonly Row[]).map(({ kid }) => kid)
    const [[old] = []] = await ofBoth(keysOf)
    await run('keys', 'rotate')
    await expect
      .poll(async () => (await ofBoth(keysOf)).map(keys => keys.length), DEADLINE)
      .toEqual(Array(6).fill(2))
    for (const token of tokens) expect(await statusesOf(bearer(token))).toEqual([200, 200, 200, 200])
    // A key that may be disclosed is invalid immediately, and so are its tokens.
    await run('keys', 'rotate', '--now')
    await expect.poll(() => statusesOf(bearer(tokens[0] ?? '')), DEADLINE).toEqual([401, 401, 401, 401])
    const form = () =>
      new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: acme.id,
        client_secret: acme.secret,
      })
    const answers = await ofBoth(async () =>
      (await fetch(`${issuer}/oauth/token`, { method: 'POST', body: form() })).json(),
    )
    tokens.splice(0, tokens.length, ...answers.map(answer => String((answer as Row)['access_token'])))
    expect(new Set(tokens.map(token => decodeProtectedHeader(token).kid)).size).toBe(1)
    expect(tokens.map(token => decodeProtectedHeader(token).kid)).not.toContain(old)
    for (const token of tokens) expect(await statusesOf(bearer(token))).toEqual([200, 200, 200, 200])
  })

  /** Opens a subscription over a WebSocket. */
  function openSocket(authorization: string) {
    const changes: unknown[] = []
    const client = createClient({
      url: socketUrl(issuer),
      webSocketImpl: WebSocket,
      retryAttempts: 0,
      connectionParams: { Authorization: authorization },
    })
    const closed = new Promise<unknown>(resolve => client.on('closed', resolve))
    client.subscribe(
      { query: SUBSCRIPTION },
      {
        next: ({ data }) => changes.push(data),
        error: error => changes.push(error),
        complete: () => undefined,
      },
    )
    return { changes, closed }
  }

  /** Opens the same subscription as an event stream. */
  async function openEventStream(authorization: string) {
    const answer = await fetch(`${issuer}/graphql?query=${encodeURIComponent(SUBSCRIPTION)}`, {
      headers: { Authorization: authorization, Accept: 'text/event-stream' },
    })
    expect(answer.status).toBe(200)
    return { closed: answer.text() }
  }

  /** Begins an export, and reads nothing more of it before `finish`, which returns its text and error. */
  async function openExport(authorization: string) {
    const headers = { Authorization: authorization, Accept: 'application/x-ndjson' }
    const [answer] = await once(
      get(`${issuer}/odata/Property?$select=ListingKey,PublicRemarks`, { headers }),
      'response',
    )
    const chunks: Buffer[] = []
    let error: unknown
    answer
      .on('data', (chunk: Buffer) => chunks.push(chunk))
      .on('error', (reason: unknown) => {
        error = reason
      })
    await once(answer, 'data')
    answer.pause()
    const closed = once(answer, 'close').catch(() => undefined)
    const finish = async () => {
      answer.resume()
      await closed
      return { text: String(Buffer.concat(chunks)), error }
    }
    return { finish }
  }

  test('15:00 the client is disabled: its socket, event stream and export end, and every adapter refuses it', async () => {
    const [token = ''] = tokens
    const socket = openSocket(bearer(token))
    const stream = await openEventStream(bearer(token))
    const download = await openExport(basic(acme))
    // The subscription runs when its first event arrives.
    let price = 500_000
    await expect
      .poll(
        async () => {
          price += 1
          expect((await changePrice(price)).status).toBe(200)
          return socket.changes.length
        },
        { timeout: 20_000, interval: 500 },
      )
      .toBeGreaterThan(0)
    expect(socket.changes[0]).toMatchObject({ propertyChanged: { ListingKey: 'VAIL' } })

    await run('clients', 'disable', acme.id)
    const disabledAt = performance.now()
    expect(await socket.closed).toMatchObject({ code: 4403 })
    expect(await stream.closed).toMatch(/its client is disabled, removed or expired/)
    expect(performance.now() - disabledAt).toBeLessThan(5000)
    const { text, error } = await download.finish()
    expect(error).toMatchObject({ code: 'ECONNRESET' })
    expect(text.length).toBeGreaterThan(1000)
    expect(text).not.toContain('@odata.count')
    for (const authorization of [...tokens.map(bearer), basic(acme)])
      expect(await statusesOf(authorization)).toEqual([401, 401, 401, 401])
    const form = { grant_type: 'client_credentials', client_id: acme.id, client_secret: acme.secret }
    const refused = await fetch(`${issuer}/oauth/token`, { method: 'POST', body: new URLSearchParams(form) })
    expect([refused.status, await refused.json()]).toMatchObject([401, { error: 'invalid_client' }])
    const batch = { requests: [{ id: '1', method: 'GET', url: 'Property' }] }
    expect((await send(basic(acme), '/odata/$batch', { method: 'POST', body: batch })).status).toBe(401)
    // Other clients are not affected.
    expect(await statusesOf(bearer(FULL_ACCESS_TOKEN))).toEqual([200, 200, 200, 200])
  })

  test('17:00 the operator reads the audit log and the usage, by command and at /admin', async () => {
    const admin = bearer(signTokenFor({ scopes: ['admin'], audience: 'public', expiresIn: 600 }))
    const actions = [
      'client.add',
      'client.change',
      'client.change',
      'client.rotate',
      'client.end-rotation',
      'client.disable',
    ]
    const shown = JSON.parse(await run('clients', 'show', acme.id)) as {
      readonly state: string
      readonly Audit: readonly Row[]
    }
    expect([shown.state, shown.Audit.map(entry => entry['Action'])]).toEqual(['disabled', actions])
    const entries = rowsOf(
      await send(admin, `/admin/odata/AuditEntry?$filter=ResourceKey eq '${acme.id}'&$orderby=AuditId`),
    )
    expect(entries.map(entry => entry['Action'])).toEqual(actions)
    for (const entry of entries) expect(entry['Actor']).toMatch(/^command ./)
    expect(JSON.stringify(entries)).not.toContain(randomPartOf(acme.secret))

    // Each process writes its counts every ten seconds.
    const usage = async () => {
      const [row = ''] = /^\d{4}-\d\d-\d\d\tacme-idx-.*$/m.exec(await run('usage', '--client', acme.id)) ?? []
      const [, , name, requests, refused, rows] = row.split('\t')
      return { name, requests: Number(requests), refused: Number(refused), rows: Number(rows) }
    }
    await expect.poll(usage, { timeout: 30_000, interval: 1000 }).toMatchObject({
      name: 'Acme IDX',
      requests: expect.toSatisfy((count: number) => count > 60),
      refused: expect.toSatisfy((count: number) => count >= 2),
      rows: expect.toSatisfy((count: number) => count > 500),
    })
    // A process may write its counts between the two reads.
    const difference = async () => {
      const { requests, refused, rows } = await usage()
      const [stored] = rowsOf(await send(admin, `/admin/odata/Client('${acme.id}')/Usage`))
      const counts = [stored?.['Requests'], stored?.['RefusedRequests'], stored?.['Rows']]
      return counts.map((count, i) => Number(count) - Number([requests, refused, rows][i]))
    }
    await expect.poll(difference, { timeout: 30_000 }).toEqual([0, 0, 0])
  })
})
