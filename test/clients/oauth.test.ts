import { randomUUID } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, exportJWK } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openidClient from 'openid-client'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertSigningKey } from '../../src/data/clients/signing-key-store.js'
import { rotateSigningKey, SigningKeyService } from '../../src/service/clients/signing-keys.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  basic,
  createSigner,
  type PartnerApp,
  READING_CLIENT,
  startPartnerApp,
  type TestClient,
} from '../support/partners.js'

const GRANT = { grant_type: 'client_credentials' }
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

describe.each(DATABASE_KINDS)(
  'the authorization server on the %s database',
  kind => {
    let app: PartnerApp
    let client: TestClient
    beforeAll(async () => {
      app = await startPartnerApp({ kind })
      client = await app.addClient()
    })
    const closers: (() => void)[] = []
    afterAll(async () => {
      for (const close of closers) close()
      await app?.close()
    })

    const read = (token: string) =>
      app.send('/odata/Property?$top=1', { headers: { Authorization: `Bearer ${token}` } })
    const graphql = (authorization: string) =>
      app.send('/graphql', {
        method: 'POST',
        headers: { Authorization: authorization },
        body: { query: '{ properties(first: 1) { nodes { ListingKey } } }' },
      })
    const introspect = async (token: string, as = client) =>
      (await app.post('introspect', { token }, { Authorization: basic(as) })).json

    test('OAU-04: a token is an at+jwt with the claims of RFC 9068, for this service, and reads on both adapters', async () => {
      const answer = await app.post('token', GRANT, { Authorization: basic(client) })
      expect(answer.status, answer.text).toBe(200)
      expect(answer.headers['cache-control']).toBe('no-store')
      const { access_token: token = '', ...rest } = answer.json as Readonly<Record<string, string>>
      expect(rest).toEqual({ token_type: 'Bearer', expires_in: 3600, scope: 'listings:read' })
      const claims = decodeJwt(token)
      expect(claims).toEqual({
        iss: app.issuer,
        sub: client.id,
        client_id: client.id,
        aud: app.issuer,
        scope: 'listings:read',
        jti: expect.stringMatching(/^[\w-]{36}$/),
        iat: expect.any(Number),
        exp: (claims.iat ?? 0) + 3600,
      })
      const { keys } = (await app.send('/oauth/jwks')).json as { readonly keys: readonly object[] }
      const { kid, ...header } = decodeProtectedHeader(token)
      expect(header).toEqual({ alg: 'ES256', typ: 'at+jwt' })
      expect(keys).toEqual([expect.objectContaining({ kid, kty: 'EC', use: 'sig' })])
      expect(keys[0]).not.toHaveProperty('d')
      expect((await read(token)).status).toBe(200)
      expect((await graphql(`Bearer ${token}`)).json).toMatchObject({ data: { properties: { nodes: [] } } })
    })

    test('OAU-04: resource selects the audience; another one is invalid_target', async () => {
      const token = await app.tokenOf(client, { resource: `${app.issuer}/odata` })
      expect(decodeJwt(token).aud).toBe(`${app.issuer}/odata`)
      expect((await read(token)).status).toBe(200)
      const foreign = await app.post(
        'token',
        { ...GRANT, resource: 'https://other.example' },
        { Authorization: basic(client) },
      )
      expect([foreign.status, foreign.json]).toEqual([
        400,
        expect.objectContaining({ error: 'invalid_target' }),
      ])
    })

    test('OAU-02: openid-client and oauth4webapi discover the service and get tokens, by header, body and key', async () => {
      const { privateKey, publicKey } = await crypto.subtle.generateKey(
        { name: 'ECDSA', namedCurve: 'P-256' },
        true,
        ['sign', 'verify'],
      )
      const { id, secret } = await app.addClient({ PublicKeys: { keys: [await exportJWK(publicKey)] } })
      const config = await openidClient.discovery(new URL(app.issuer), id, secret, undefined, {
        execute: [openidClient.allowInsecureRequests],
      })
      const grant = await openidClient.clientCredentialsGrant(config)
      expect((await read(grant.access_token)).status).toBe(200)
      const seen = await openidClient.tokenIntrospection(config, grant.access_token)
      expect(seen).toMatchObject({ active: true, client_id: id })
      await openidClient.tokenRevocation(config, grant.access_token)
      expect(await openidClient.tokenIntrospection(config, grant.access_token)).toEqual({ active: false })

      const insecure = { [oauth4webapi.allowInsecureRequests]: true }
      const issuer = new URL(app.issuer)
      const server = await oauth4webapi.processDiscoveryResponse(
        issuer,
        await oauth4webapi.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
      )
      for (const auth of [oauth4webapi.ClientSecretBasic(secret), oauth4webapi.PrivateKeyJwt(privateKey)]) {
        const response = await oauth4webapi.clientCredentialsGrantRequest(
        server, { client_id: id }, auth, new URLSearchParams(), insecure,
      ) // biome-ignore format: one call
        const { access_token } = await oauth4webapi.processClientCredentialsResponse(
          server,
          { client_id: id },
          response,
        )
        expect((await read(access_token)).status).toBe(200)
      }
    })

    test('metadata lists only implemented features, with addresses of PUBLIC_URL whatever the Host header is', async () => {
      for (const name of ['oauth-authorization-server', 'openid-configuration']) {
        const answer = await app.send(`/.well-known/${name}`, { headers: { Host: 'evil.example' } })
        const metadata = answer.json as Readonly<Record<string, unknown>>
        expect(metadata).toMatchObject({ issuer: app.issuer, grant_types_supported: ['client_credentials'] })
        expect(answer.text).not.toContain('evil')
        for (const endpoint of [
          'token_endpoint',
          'revocation_endpoint',
          'introspection_endpoint',
          'jwks_uri',
        ]) {
          const { pathname } = new URL(String(metadata[endpoint]))
          expect((await app.send(pathname)).status).toBe(endpoint === 'jwks_uri' ? 200 : 405)
        }
        expect(Object.keys(metadata).join()).not.toMatch(/authorization_endpoint|userinfo|registration/)
      }
    })

    test('OAU-01: secrets of the service work with and without form encoding; malformed headers get 401, never 500', async () => {
      const raw = (text: string) =>
        app.post('token', GRANT, { Authorization: `Basic ${Buffer.from(text).toString('base64')}` })
      const encoded = `${encodeURIComponent(client.id)}:${encodeURIComponent(client.secret)}`
      expect((await raw(encoded)).status).toBe(200)
      expect((await raw(`${client.id}:${client.secret}`)).status).toBe(200)
      for (const text of [`${client.id}:a%zz+/:~`, 'nocolon', ':', `${client.id}:`, 'é:ü'])
        expect((await raw(text)).status, text).toBe(401)
    })

    test('OAU-09: errors follow RFC 6749, and are equal for an unknown client and a wrong secret', async () => {
      const { id, secret } = client
      const header = { Authorization: basic(client) }
      const right = { client_id: id, client_secret: secret }
      const cases: readonly (readonly [number, string, Parameters<PartnerApp['post']>[1], typeof header?])[] =
        [
          [401, 'invalid_client', GRANT, { Authorization: basic({ id, secret: 'wrong' }) }],
          [401, 'invalid_client', GRANT, { Authorization: basic({ id: 'nobody', secret: 'wrong' }) }],
          [401, 'invalid_client', { ...GRANT, client_id: id, client_secret: 'wrong' }],
          [401, 'invalid_client', { ...GRANT, client_id: 'nobody', client_secret: 'wrong' }],
          [401, 'invalid_client', { ...GRANT, client_id: id }],
          [400, 'invalid_request', { ...GRANT, ...right }, header],
          [400, 'invalid_request', 'grant_type=client_credentials&scope=listings%3Aread&scope=admin', header],
          [400, 'unsupported_grant_type', { grant_type: 'password' }, header],
          [400, 'invalid_request', 'scope=listings%3Aread', header],
          [200, '', 'grant_type=client_credentials&scope=&extra=1', header],
          [413, 'invalid_request', `grant_type=${'x'.repeat(1_000_000)}`, header],
        ]
      const bodies = new Map<string, Set<string>>()
      for (const [status, error, form, headers = {}] of cases) {
        const answer = await app.post('token', form, headers)
        const { error: found = '' } = answer.json as { readonly error?: string }
        expect([answer.status, found], String(answer.text)).toEqual([status, error])
        expect(answer.headers['cache-control']).toBe('no-store')
        expect(answer.headers['content-type']).toMatch(/^application\/json/)
        bodies.set(error, new Set([...(bodies.get(error) ?? []), answer.text]))
        if (status === 401 && 'Authorization' in headers)
          expect(answer.headers['www-authenticate']).toMatch(/^Basic /)
      }
      expect(bodies.get('invalid_client')?.size).toBe(1)
      const json = await app.send('/oauth/token', { method: 'POST', body: GRANT, headers: header })
      expect([json.status, json.json]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })])
      const get = await app.send('/oauth/token', { headers: header })
      expect([get.status, get.headers['allow']]).toEqual([405, 'POST'])
    })

    test('OAU-10: a scope that the client lacks is invalid_scope; without scope a token has all scopes of the client', async () => {
      const other = await app.addClient()
      const ask = async (scope: string) => {
        const { status, json } = await app.post('token', { ...GRANT, scope }, { Authorization: basic(other) })
        const { error, scope: granted } = json as Readonly<Record<string, string>>
        return [status, error ?? granted]
      }
      for (const scope of ['listings:read admin', 'admin', 'LISTINGS:READ'])
        expect(await ask(scope)).toEqual([400, 'invalid_scope'])
      expect(await ask('listings:read listings:read')).toEqual([200, 'listings:read'])
      expect(await ask('')).toEqual([200, 'listings:read'])
      await app.clients.change(other.id, { Scopes: [] })
      await expect.poll(() => ask(''), { timeout: 5000 }).toEqual([400, 'invalid_scope'])
    })

    test('OAU-05: only access tokens that the service has issued for itself are accepted', async () => {
      const signer = await createSigner()
      const jwk = { ...(await exportJWK(signer.publicKey)), kid: 'client-key' }
      const withKey = await app.addClient({ PublicKeys: { keys: [jwk] } })
      const now = Math.floor(Date.now() / 1000)
      const claims = {
      iss: app.issuer, sub: client.id, client_id: client.id, aud: app.issuer, jti: 'x', iat: now, exp: now + 60,
      scope: 'listings:read',
    } // biome-ignore format: one object
      const keys = new SigningKeyService({
        database: app.database,
        directory: await readyDirectory(),
        encryptionKey: app.config.signingKeyEncryption,
        tokenLifetimeMs: 1,
      })
      const own = await keys.current()
      const { SignJWT } = await import('jose')
      const signOwn = (changes: object, header: object) =>
        new SignJWT({ ...claims, ...changes })
          .setProtectedHeader({ alg: 'ES256', kid: own.id, ...header })
          .sign(own.privateKey)
      expect((await read(await signOwn({}, { typ: 'at+jwt' }))).status).toBe(200)
      const refused = [
        await signer.sign({ ...claims, iss: withKey.id, client_id: withKey.id }, { kid: 'client-key' }),
        await signer.sign(claims, { kid: 'client-key', typ: 'at+jwt' }),
        await signer.sign(claims, { kid: own.id, typ: 'at+jwt' }),
        await signOwn({}, {}),
        await signOwn({}, { typ: 'JWT' }),
        await signOwn({ aud: 'https://other.example' }, { typ: 'at+jwt' }),
        await signOwn({ iss: 'https://other.example' }, { typ: 'at+jwt' }),
        await signOwn({ exp: now - 1 }, { typ: 'at+jwt' }),
        await signOwn({ client_id: 'nobody' }, { typ: 'at+jwt' }),
      ]
      for (const token of refused) {
        const answer = await read(token)
        expect([answer.status, answer.json]).toEqual([
          401,
          { error: expect.objectContaining({ code: '3002' }) },
        ])
      }
    })

    const readyDirectory = async () => {
      const { DatabaseClientDirectory } = await import('../../src/service/clients/directory.js')
      const directory = new DatabaseClientDirectory(app.database)
      await directory.ready()
      closers.push(() => directory.close())
      return directory
    }

    test('OAU-07: an assertion must be addressed to the issuer or token endpoint, from this client, short-lived and unused', async () => {
      const other = await app.addClient()
      const [signer, stranger] = [await createSigner(), await createSigner()]
      await app.clients.change(other.id, {
        PublicKeys: { keys: [{ ...(await exportJWK(signer.publicKey)), kid: 'a' }] },
      })
      const now = Math.floor(Date.now() / 1000)
      const claims = () => ({
        iss: other.id,
        sub: other.id,
        aud: app.issuer,
        jti: randomUUID(),
        exp: now + 300,
      })
      const send = async (assertion: string) =>
        (
          await app.post('token', {
            ...GRANT,
            client_assertion: assertion,
            client_assertion_type: ASSERTION_TYPE,
          })
        ).status
      await expect.poll(() => signer.sign(claims()).then(send), { timeout: 5000 }).toBe(200)
      expect(await send(await signer.sign({ ...claims(), aud: `${app.issuer}/oauth/token` }))).toBe(200)
      const twice = await signer.sign(claims())
      expect([await send(twice), await send(twice)]).toEqual([200, 401])
      // One insert decides, also for requests at the same time.
      const often = await signer.sign(claims())
      const statuses = await Promise.all(Array.from({ length: 6 }, () => send(often)))
      expect(statuses.toSorted()).toEqual([200, 401, 401, 401, 401, 401])
      const { jti: _jti, ...withoutId } = claims()
      const { exp: _exp, ...endless } = claims()
      for (const wrong of [
        signer.sign({ ...claims(), aud: [app.issuer, 'https://other.example'] }),
        signer.sign({ ...claims(), aud: 'https://other.example' }),
        signer.sign({ ...claims(), iss: client.id }),
        signer.sign({ ...claims(), sub: client.id }),
        signer.sign(endless),
        signer.sign(withoutId),
        signer.sign({ ...claims(), exp: now + 315_360_000 }),
        signer.sign(claims(), { kid: 'unknown' }),
        stranger.sign(claims()),
      ])
        expect(await send(await wrong)).toBe(401)
      const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims())).toString('base64url')}.`
      expect(await send(none)).toBe(401)
    })

    test('OAU-11, OAU-12: introspection is correct for the owner and reveals nothing to others; revocation takes effect', async () => {
      const other = await app.addClient()
      const admin = await app.addClient({ Scopes: ['listings:read', 'admin'] })
      const token = await app.tokenOf(client)
      const { jti, exp } = decodeJwt(token)
      expect(await introspect(token)).toMatchObject({
      active: true, client_id: client.id, scope: 'listings:read', jti, exp,
    }) // biome-ignore format: one object
      expect(await introspect(token, other)).toEqual({ active: false })
      expect(await introspect(token, admin)).toMatchObject({ active: true })
      expect((await app.post('introspect', { token })).status).toBe(401)
      for (const text of ['rubbish', app.tokenFor(), 'a.b.c'])
        expect(await introspect(text)).toEqual({ active: false })
      const foreign = await app.post('revoke', { token }, { Authorization: basic(other) })
      expect([foreign.status, foreign.json]).toEqual([
        400,
        expect.objectContaining({ error: 'invalid_grant' }),
      ])
      expect((await read(token)).status).toBe(200)
      for (const text of ['rubbish', token])
        expect((await app.post('revoke', { token: text }, { Authorization: basic(client) })).status).toBe(200)
      expect((await read(token)).status).toBe(401)
      expect(await introspect(token)).toEqual({ active: false })
      expect((await app.post('revoke', {}, { Authorization: basic(client) })).status).toBe(400)
    })

    test('OAU-13: a new key is published before it signs, a second rotation adds none, old tokens remain valid until --now', async () => {
      const { signingKeyEncryption } = app.config
      const rotate = (isUrgent: boolean) =>
        rotateSigningKey(app.database, signingKeyEncryption, { actor: 'test', isUrgent })
      const published = async () =>
        ((await app.send('/oauth/jwks')).json as { readonly keys: readonly { readonly kid: string }[] }).keys
      const token = await app.tokenOf(client)
      const { kid } = decodeProtectedHeader(token)
      expect(await Promise.all([rotate(false), rotate(false)])).toContain(false)
      await expect.poll(async () => (await published()).length, { timeout: 5000 }).toBe(2)
      expect(JSON.stringify(await published())).not.toContain('"d"')
      expect(decodeProtectedHeader(await app.tokenOf(client)).kid).toBe(kid)
      expect((await read(token)).status).toBe(200)
      expect(await rotate(true)).toBe(true)
      await expect.poll(async () => (await read(token)).status, { timeout: 5000 }).toBe(401)
      const fresh = await app.tokenOf(client)
      expect(decodeProtectedHeader(fresh).kid).not.toBe(kid)
      expect((await read(fresh)).status).toBe(200)
      expect(await published()).toHaveLength(1)
      const foreign = { id: 'other-key', publicJwk: {}, encryptedPrivateKey: '', signsInSeconds: 0 }
      expect(await insertSigningKey(app.database, foreign, { kind: 'usable', except: [] })).toBe(false)
    })

    test('OAU-15: an address with many failures gets 429, and the correct secret works from another address', async () => {
      const proxied = await startPartnerApp({ kind })
      try {
        await proxied.addClient()
        const { client: added, secret } = await proxied.clients.add({ Name: 'Owner', ...READING_CLIENT })
        const owner = { id: added.ClientId, secret }
        await new Promise(resolve => setTimeout(resolve, 2500))

        const attempt = async (address: string, who: TestClient) =>
          proxied.post('token', GRANT, { Authorization: basic(who), 'X-Forwarded-For': address })
        const wrong = { ...owner, secret: `${owner.secret.split('_')[0]}_wrong` }
        const statuses: number[] = []
        for (let i = 0; i < 30; i++)
          statuses.push(
            (await attempt(`10.9.${i}.1, 2001:db8:0:1::${i}`, i % 2 ? wrong : { id: `x${i}`, secret: 'y' }))
              .status,
          )
        expect(statuses.slice(0, 20)).toEqual(Array(20).fill(401))
        expect(statuses.slice(20)).toEqual(Array(10).fill(429))
        const refused = await attempt('2001:db8:0:1::ffff', owner)
        expect([refused.status, Number(refused.headers['retry-after'])]).toEqual([
          429,
          expect.toSatisfy(n => n >= 1 && n <= 60),
        ])
        expect((await attempt('2001:db8:0:2::1', owner)).status).toBe(200)
        const reads = await proxied.send('/odata/', {
          headers: { Authorization: basic(owner), 'X-Forwarded-For': '192.0.2.7' },
        })
        expect(reads.status).toBe(200)
      } finally {
        await proxied.close()
      }
    })
  },
  120_000,
)
