import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { toOpenApi } from '../../../src/odata/metadata/openapi.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { DRAFT } from '../../support/drafts.js'

// biome-ignore lint/suspicious/noExplicitAny: a document of OpenAPI is looked into at any depth
type Document = any

const entriesOf = (at: string, parts: Document): [string, Document][] =>
  Object.entries<Document>(parts ?? {}).map(([name, part]) => [`${at} ${name}`, part])
const METHODS = ['get', 'post', 'patch', 'put', 'delete']

describe('the document of OpenAPI', () => {
  let app: TestApp
  let document: Document
  beforeAll(async () => {
    app = await startTestApp({ fixture: 'fixture.json' })
    document = (await app.send('/odata/openapi.json')).json
  })
  afterAll(() => app?.close())

  const operations = () =>
    Object.entries<Document>(document.paths).flatMap(([path, item]) =>
      METHODS.filter(method => item[method]).map(method => ({ path, method, operation: item[method] })),
    )
  const resolve = (value: Document): Document =>
    value.$ref
      ? value.$ref
          .slice(2)
          .split('/')
          .reduce((o: Document, name: string) => o[name], document)
      : value
  const property = (method: string) => document.paths["/Property('{ListingKey}')"][method]
  const bodySchema = (operation: Document) =>
    resolve(operation.requestBody.content['application/json'].schema)

  test('is valid, and is served with the service root as its server', async () => {
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true })
    expect(document.servers[0].url).toBe(`${app.base}/odata`)
    expect(document.components.securitySchemes.oauth2.flows.clientCredentials.tokenUrl).toBe(
      `${app.base}/oauth/token`,
    )
    expect(document).toEqual(JSON.parse(JSON.stringify(toOpenApi(app.base))))
  })

  test('is JSON and needs a token', async () => {
    const { status, headers } = await app.send('/odata/openapi.json')
    expect([status, headers['content-type']]).toEqual([200, 'application/json'])
    expect((await app.send('/odata/openapi.json', { headers: { Authorization: null } })).status).toBe(401)
    expect((await app.send('/odata/openapi.json', { headers: { Accept: 'text/html' } })).status).toBe(406)
    expect((await app.send('/odata/openapi.json', { method: 'POST' })).headers['allow']).toBe(
      'GET, HEAD, OPTIONS',
    )
    expect((await app.send('/odata/openapi.json?$top=1')).status).toBe(400)
  })

  test('describes every operation, parameter, response, schema and member', () => {
    const withParts = operations().flatMap(({ path, method, operation }): [string, Document][] => [
      [`${method} ${path}`, operation],
      [`${method} ${path}, summary`, { description: operation.summary }],
      [`${method} ${path}, body`, operation.requestBody ?? { description: 'none' }],
      ...entriesOf(`${method} ${path}`, operation.parameters),
      ...entriesOf(`${method} ${path}`, operation.responses),
    ])
    const schemas = entriesOf('', document.components.schemas)
    const members = schemas.flatMap(([name, schema]) => entriesOf(name, schema.properties))
    expect(
      [...withParts, ...schemas, ...members]
        .filter(([, part]) => !resolve(part).description)
        .map(([at]) => at),
    ).toEqual([])
    expect(new Set(operations().map(({ operation }) => operation.operationId)).size).toBe(operations().length)
  })

  test('names the fields that a create and a replacement need', () => {
    const required = ['ListAgentKey', 'ListOfficeKey', 'PropertyType', 'StreetNumber', 'StreetName', 'City']
    for (const operation of [document.paths['/Property'].post, property('put')]) {
      const [, rules] = bodySchema(operation).allOf
      expect([...rules.required].sort()).toEqual([...required].sort())
      for (const name of required)
        expect(rules.properties[name]).toMatchObject({ type: 'string', minLength: 1 })
    }
    const [, rules] = bodySchema(property('patch')).allOf
    expect(rules.required).toBeUndefined()
    expect(rules.properties).toMatchObject({ City: { minLength: 1 }, ChangedByMemberKey: { minLength: 1 } })
  })

  test('requests that it declares as invalid are refused by the service', async () => {
    for (const City of ['', ' ', null]) {
      for (const [method, target] of [
        ['POST', '/odata/Property'],
        ['PATCH', "/odata/Property('P01')"],
      ] as const) {
        const body = { ...(method === 'POST' && DRAFT), ChangedByMemberKey: 'M1', City }
        const { status, json } = await app.send(target, { method, body })
        expect([status, (json as Document).error.details[0]]).toMatchObject([
          400,
          { code: '1101', target: 'City' },
        ])
      }
    }
    const { status, json } = await app.send("/odata/Property('P01')", {
      method: 'PUT',
      body: { ChangedByMemberKey: 'M1' },
    })
    expect([status, (json as Document).error.details.map((d: Document) => d.target)]).toMatchObject([
      400,
      expect.arrayContaining(['ListAgentKey', 'City']),
    ])
  })

  test('has the errors of each operation', () => {
    const statuses = (operation: Document) => Object.keys(operation.responses)
    for (const { path, method, operation } of operations())
      expect([method, path, statuses(operation)]).toEqual([
        method,
        path,
        expect.arrayContaining(['400', '401', '403', '406', '412', '429', '500', '503', 'default']),
      ])
    for (const method of ['patch', 'put'])
      expect(statuses(property(method))).toEqual(expect.arrayContaining(['404', '409', '412', '413', '415']))
    expect(statuses(property('delete'))).toEqual(expect.arrayContaining(['204', '404', '409', '412']))
    expect(statuses(property('get'))).toEqual(expect.arrayContaining(['200', '304', '404', '412', '501']))
  })

  test('describes Digest as the service answers it, by GET and by POST of its parameters', async () => {
    const path = "/Digest(ResourceName='{ResourceName}',Ranges=@Ranges,Buckets=@Buckets,Filter=@Filter)"
    const { get } = document.paths[path]
    const { post } = document.paths[`${path}/$query`]
    expect(get.parameters.map((p: Document) => p.name)).toEqual(['@Ranges', '@Buckets', '@Filter'])
    expect([get, post].map(({ responses }) => resolve(responses[200]).content)).toEqual(
      Array(2).fill({ 'application/json': { schema: { $ref: '#/components/schemas/DigestResult' } } }),
    )
    const target = `/odata${path.replace('{ResourceName}', 'Property')}`
    const options = `@Ranges=${encodeURIComponent('[{"From":"P","To":null}]')}&@Buckets=2&@Filter='City ne null'`
    const whole = await app.send(target)
    const [byGet, byPost] = [
      await app.send(`${target}?${options}`),
      await app.send(`${target}/$query`, {
        method: 'POST',
        rawBody: options,
        headers: { 'Content-Type': 'text/plain' },
      }),
    ]
    expect([whole, byGet, byPost].map(({ status }) => status)).toEqual([200, 200, 200])
    const members = (of: Document, name: string) => {
      const { properties } = document.components.schemas[name]
      expect(Object.keys(of).filter(member => !member.startsWith('@'))).toEqual(Object.keys(properties))
    }
    for (const { json } of [whole, byGet, byPost]) {
      members(json, 'DigestResult')
      members((json as Document).Ranges[0], 'DigestRange')
      members((json as Document).Ranges[0].Buckets[0], 'DigestBucket')
    }
    expect(byGet.json).toEqual(byPost.json)
    expect((byGet.json as Document).Ranges[0].Buckets.length).toBe(2)
  })

  test('describes exports, gone positions and the removed records of deltas', async () => {
    const { get } = document.paths['/Property']
    const page = resolve(get.responses[200])
    expect(Object.keys(get.responses)).toContain('410')
    for (const type of Object.keys(page.content)) {
      const { status, headers } = await app.send('/odata/Property', { headers: { Accept: type } })
      expect([status, headers['content-type']?.split(';')[0]]).toEqual([200, type])
      expect('last-event-sequence' in headers).toBe(type !== 'application/json')
    }
    const { json } = await app.send('/odata/Property?$deltatoken=latest')
    await app.database.prisma.property.delete({ where: { ListingKey: 'P02' } })
    const link = String((json as Document)['@odata.deltaLink']).replace(app.base, '')
    const [removed] = ((await app.send(link)).json as Document).value
    const { properties } = document.components.schemas.Property
    expect(removed).toMatchObject({ '@removed': { reason: 'deleted' } })
    expect(Object.keys(properties)).toEqual(expect.arrayContaining(Object.keys(removed)))
    expect(properties['@removed'].properties.reason.enum).toContain(removed['@removed'].reason)
    expect(document.components.schemas.EntityEvent.properties['@removed']).toBeUndefined()
  })

  test('has 204 for a single navigation without a record', async () => {
    const agent = document.paths["/Property('{ListingKey}')/BuyerAgent"].get
    const media = document.paths["/Property('{ListingKey}')/Media"].get
    expect([Object.keys(agent.responses), Object.keys(media.responses)]).toEqual([
      expect.arrayContaining(['200', '204']),
      expect.not.arrayContaining(['204']),
    ])
    expect((await app.send("/odata/Property('P01')/BuyerAgent")).status).toBe(204)
  })
})
