import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { WebSocket } from 'ws'
import * as secrets from '../../src/domain/clients/secrets.js'
import { startTestApp } from '../support/app.js'
import { socketUrl } from '../support/clients/subscriber.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  basic,
  clientServiceOf,
  type PartnerApp,
  READING_CLIENT,
  randomAddress,
  startPartnerApp,
} from '../support/partners.js'

/** Changes reach every process within five seconds. */
const DEADLINE = { timeout: 5000, interval: 50 }

describe.each(DATABASE_KINDS)(
  'a client that loses rights, on the %s database',
  kind => {
    let app: PartnerApp
    beforeAll(async () => {
      app = await startPartnerApp({ kind, fixture: 'fixture.json' })
    })
    afterAll(() => app?.close())
    const sockets: WebSocket[] = []
    afterEach(() => {
      for (const socket of sockets.splice(0)) socket.terminate()
    })

    const read = async (authorization: string, path = '/odata/Property?$top=1') =>
      (
        await app.send(path, {
          headers: { Authorization: authorization, 'X-Forwarded-For': randomAddress() },
        })
      ).status
    const graphql = async (authorization: string) =>
      (
        await app.send('/graphql', {
          method: 'POST',
          headers: { Authorization: authorization },
          body: { query: '{ properties(first: 1) { nodes { ListingKey } } }' },
        })
      ).status
    const batch = async (authorization: string) => {
      const requests = [{ id: '1', method: 'GET', url: 'Property?$top=1' }]
      const headers = { Authorization: authorization }
      return (await app.send('/odata/$batch', { method: 'POST', headers, body: { requests } })).status
    }
    /** Opens a subscription over a WebSocket. Resolves when it runs, with its later end. */
    const subscribe = async (authorization: string) => {
      const socket = new WebSocket(socketUrl(app.base), ['graphql-transport-ws'])
      sockets.push(socket)
      const closed = once(socket, 'close').then(([code, reason]) => ({ code, reason: String(reason) }))
      await once(socket, 'open')
      socket.send(JSON.stringify({ type: 'connection_init', payload: { authorization } }))
      await once(socket, 'message')
      const query = 'subscription { propertyChanged { ListingKey } }'
      socket.send(JSON.stringify({ id: '1', type: 'subscribe', payload: { query } }))
      return { closed, socket }
    }
    /** Opens the same subscription as an event stream, and resolves with all of its text when it has ended. */
    const openEventStream = async (authorization: string) => {
      const query = encodeURIComponent('subscription { propertyChanged { ListingKey } }')
      const answer = await fetch(`${app.base}/graphql?query=${query}`, {
        headers: { Authorization: authorization, Accept: 'text/event-stream' },
      })
      expect(answer.status).toBe(200)
      return answer.text()
    }

    test('CLI-03: disabled, it is refused by every adapter and its sockets and streams end; enabled, it works again', async () => {
      const client = await app.addClient()
      const bearer = `Bearer ${await app.tokenOf(client)}`
      const refusals = () =>
        Promise.all([bearer, basic(client)].flatMap(a => [read(a), graphql(a), batch(a)]))
      expect(await refusals()).toEqual([200, 200, 200, 200, 200, 200])
      const [socket, second, stream] = [
      await subscribe(bearer), await subscribe(basic(client)), openEventStream(bearer),
    ] // biome-ignore format: one list
      await app.clients.disable(client.id)
      await expect.poll(refusals, DEADLINE).toEqual([401, 401, 401, 401, 401, 401])
      for (const { closed } of [socket, second]) expect(await closed).toMatchObject({ code: 4403 })
      expect(await stream).toMatch(/its client is disabled, removed or expired/)
      const granted = await app.post(
        'token',
        { grant_type: 'client_credentials' },
        { Authorization: basic(client) },
      )
      expect([granted.status, granted.json]).toEqual([
        401,
        expect.objectContaining({ error: 'invalid_client' }),
      ])
      await app.clients.enable(client.id)
      await expect.poll(refusals, DEADLINE).toEqual([200, 200, 200, 200, 200, 200])
    })

    test('OAU-11: revoking a token ends its sockets and streams, and no other token of the client', async () => {
      const client = await app.addClient()
      const [token, other] = [await app.tokenOf(client), await app.tokenOf(client)]
      const [revoked, open] = [await subscribe(`Bearer ${token}`), await subscribe(`Bearer ${other}`)]
      const stream = openEventStream(`Bearer ${token}`)
      const answer = await app.post('revoke', { token }, { Authorization: basic(client) })
      expect(answer.status).toBe(200)
      expect(await revoked.closed).toMatchObject({ code: 4403 })
      expect(await stream).toMatch(/"errors"/)
      expect(await Promise.all([read(`Bearer ${token}`), read(`Bearer ${other}`)])).toEqual([401, 200])
      expect(open.socket.readyState).toBe(WebSocket.OPEN)
    })

    test('CLI-03: the check before each chunk of an export fails once its client is disabled', async () => {
      const { verifySameRights } = await import('../../src/http/auth/token-expiry.js')
      const client = await app.addClient()
      const token = `Bearer ${await app.tokenOf(client)}`
      const { createTokenVerifier } = await import('../../src/http/auth/bearer.js')
      const { DatabaseClientDirectory } = await import('../../src/service/clients/directory.js')
      const { ClientAuthenticator } = await import('../../src/http/auth/client-authenticator.js')
      const { createTokenIssuer } = await import('../../src/http/auth/access-token.js')
      const directory = new DatabaseClientDirectory(app.database)
      const verifier = createTokenVerifier(app.config, undefined, {
        directory,
        authenticator: new ClientAuthenticator(directory),
        issuer: createTokenIssuer(app.issuer, undefined),
      })
      try {
        const verified = await verifier.authenticate(token)
        expect(await verifySameRights(verifier, token, verified)).toBe(verified)
        await app.clients.disable(client.id)
        await directory.refresh()
        await expect(verifySameRights(verifier, token, verified)).rejects.toThrow()
      } finally {
        directory.close()
      }
    })

    test('CLI-05: rights of the stored client apply: an old token loses scope, class and member', async () => {
      const client = await app.addClient({ Scopes: ['listings:read', 'listings:write'], MemberKey: 'M1' })
      const token = `Bearer ${await app.tokenOf(client)}`
      const { closed } = await subscribe(token)
      expect(await read(token)).toBe(200)
      await app.clients.change(client.id, { Scopes: ['listings:write'] })
      await expect.poll(() => read(token), DEADLINE).toBe(403)
      expect(await closed).toMatchObject({
        code: 4403,
        reason: expect.stringMatching(/rights of its client/),
      })
      expect(await read(basic(client))).toBe(403)
      await app.clients.change(client.id, { Scopes: ['listings:read', 'listings:write', 'admin'] })
      await expect.poll(() => read(token), DEADLINE).toBe(200)
      const { closed: closedAgain } = await subscribe(token)
      await app.clients.change(client.id, { AudienceClass: 'public', MemberKey: null })
      expect(await closedAgain).toMatchObject({ code: 4403 })
    })

    test('a change of limits or of the contact does not close open sockets', async () => {
      const client = await app.addClient()
      const { socket } = await subscribe(`Bearer ${await app.tokenOf(client)}`)
      await app.clients.change(client.id, { Contact: 'new@partner.example', RequestsPerDay: 100 })
      await new Promise(resolve => setTimeout(resolve, 1500))
      expect(socket.readyState).toBe(WebSocket.OPEN)
    })

    test('CLI-07: tokens and sockets of an expired client end without a change in the database', async () => {
      const end = Date.now() + 6000
      const client = await app.addClient({ ExpirationTimestamp: new Date(end).toISOString() })
      const token = `Bearer ${await app.tokenOf(client)}`
      const { closed } = await subscribe(token)
      expect(await read(token)).toBe(200)
      expect(await closed).toMatchObject({ code: 4403 })
      // A token ends with a full second.
      expect(Date.now()).toBeGreaterThanOrEqual(end - 1000)
      await expect.poll(() => Promise.all([read(token), read(basic(client))]), DEADLINE).toEqual([401, 401])
      const granted = await app.post(
        'token',
        { grant_type: 'client_credentials' },
        { Authorization: basic(client) },
      )
      expect(granted.json).toMatchObject({ error: 'invalid_client' })
    })

    test('CLI-02, OAU-17: Basic computes one hash for each client and change; a removed secret is refused', async () => {
      const client = await app.addClient()
      await app.clients.change(client.id, { Contact: 'x' })
      await new Promise(resolve => setTimeout(resolve, 2000))
      const hashes = vi.spyOn(secrets, 'findMatchingSecret')
      try {
        for (let i = 0; i < 50; i++) expect(await read(basic(client))).toBe(200)
        expect(hashes.mock.calls.length).toBe(1)
        const { secret } = await app.clients.rotate(client.id)
        await expect.poll(() => read(basic({ ...client, secret })), DEADLINE).toBe(200)
        expect(await read(basic(client))).toBe(200)
        await app.clients.endRotation(client.id)
        await expect.poll(() => read(basic(client)), DEADLINE).toBe(401)
        expect(await read(basic({ ...client, secret }))).toBe(200)
      } finally {
        hashes.mockRestore()
      }
    })

    test('a process that cannot read the clients for 30 s answers them with 503, but accepts other tokens', async () => {
      const client = await app.addClient()
      const token = `Bearer ${await app.tokenOf(client)}`
      const clock = performance.now.bind(performance)
      const { closed } = await subscribe(token)
      await app.database.queryControl({ text: 'alter table "admin"."State" rename to "Away"', values: [] })
      const later = vi.spyOn(performance, 'now').mockImplementation(() => clock() + 31_000)
      try {
        expect([await read(token), await read(basic(client))]).toEqual([503, 503])
        expect((await app.send('/odata/Property?$top=1')).status).toBe(200)
        expect(await closed).toMatchObject({ code: 1013 })
      } finally {
        later.mockRestore()
        await app.database.queryControl({ text: 'alter table "admin"."Away" rename to "State"', values: [] })
      }
      await expect.poll(() => read(token), DEADLINE).toBe(200)
    })
  },
  120_000,
)

test('OAU-18: the challenge names Basic only if it is enabled; otherwise a correct secret is refused without a hash', async () => {
  const challenges: unknown[] = []
  const kind = DATABASE_KINDS[0] ?? 'embedded'
  for (const BASIC_AUTH of ['on', 'off']) {
    const app = await startTestApp({ kind, env: { BASIC_AUTH } })
    const { client, secret } = await clientServiceOf(app.database).add({ Name: 'Tool', ...READING_CLIENT })
    const hashes = vi.spyOn(secrets, 'findMatchingSecret')
    try {
      for (const path of ['/odata/', '/graphql'])
        challenges.push(
          (await app.send(path, { headers: { Authorization: null } })).headers['www-authenticate'],
        )
      const Authorization = basic({ id: client.ClientId, secret })
      if (BASIC_AUTH === 'on') await new Promise(resolve => setTimeout(resolve, 1500))
      const answer = await app.send('/odata/', { headers: { Authorization } })
      expect([BASIC_AUTH, answer.status]).toEqual([BASIC_AUTH, BASIC_AUTH === 'on' ? 200 : 401])
      expect(hashes.mock.calls.length).toBe(BASIC_AUTH === 'on' ? 1 : 0)
      for (const credentials of ['é:ü', 'nocolon', ':'].map(text => Buffer.from(text).toString('base64')))
        expect(
          (await app.send('/odata/', { headers: { Authorization: `Basic ${credentials}` } })).status,
        ).toBe(401)
    } finally {
      hashes.mockRestore()
      await app.close()
    }
  }
  const both = 'Bearer realm="listings", Basic realm="listings", charset="UTF-8"'
  expect(challenges).toEqual([both, both, 'Bearer realm="listings"', 'Bearer realm="listings"'])
}, 60_000)
