import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { omitNulls } from '../../../src/odata/protocol/json-body.js'
import { startTestApp, type TestApp } from '../../support/app.js'
import { DATABASE_KINDS } from '../../support/database.js'

type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json }

/** Removes null members without an annotation, as the preference is defined. */
function withoutNulls(value: Json): Json {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (value === null || typeof value !== 'object') return value
  const names = Object.keys(value)
  const isAnnotated = (name: string) => names.some(other => other.startsWith(`${name}@`))
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name, member]) => member !== null || isAnnotated(name))
      .map(([name, member]) => [name, withoutNulls(member)]),
  )
}

test.each([
  '{"A":null}',
  '{"A":null,"B":1}',
  '{"A":1,"B":null}',
  '{"A":null,"B":null,"C":{"D":null},"E":[{"F":null},{"G":1}]}',
  '{"A@Core.Permissions":"None","A":null,"B":null}',
  '{"A":":null,","B":",\\"C\\":null}","D":null,"E":"{\\"F\\":null,"}',
  '{"@odata.etag":"W/\\"1\\"","A":null,"B":"x"}',
  '{"A":"null","B":[],"Ünü":null}',
])('the nulls of %s', json => {
  expect(JSON.parse(omitNulls(json))).toEqual(withoutNulls(JSON.parse(json) as Json))
})

describe.each(DATABASE_KINDS)('omit-values on the %s database', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json', env: { NON_DISCLOSURE: 'true' } })
  })
  afterAll(() => app?.close())

  const PREFER = { Prefer: 'omit-values=nulls' }

  test.each([
    '/odata/Property?$top=50',
    '/odata/Property?$top=50&$expand=ListAgent,Media',
    '/odata/Property?$select=PublicRemarks',
    "/odata/Property('P''00')",
    '/odata/Property?$apply=groupby((City),aggregate(ListPrice with max as Top))',
    '/odata/Property?$format=application/json;odata.metadata=full&$top=5',
  ])('EXP-35 %s has the same members without nulls', async target => {
    const headers = {
      Authorization: `Bearer ${app.tokenFor({ scopes: ['listings:read'], audience: 'public' })}`,
    }
    const all = await app.send(target, { headers })
    const some = await app.send(target, { headers: { ...headers, ...PREFER } })
    expect([all.status, some.status]).toEqual([200, 200])
    expect(some.headers['preference-applied']).toBe('omit-values=nulls')
    expect(some.headers.vary).toMatch(/\bPrefer\b/)
    expect(some.json).toEqual(withoutNulls(all.json as Json))
  })

  test('EXP-35 NDJSON omits them, CSV and other values of the preference change nothing', async () => {
    const read = async (query: string, prefer?: string) => {
      const headers = prefer === undefined ? {} : { Prefer: prefer }
      const { text, headers: answered } = await app.send(`/odata/Property?${query}`, { headers })
      return { text, applied: answered['preference-applied'] }
    }
    const all = await read('$format=ndjson')
    const some = await read('$format=ndjson', 'odata.omit-values=nulls, maxpagesize=5')
    expect(some.applied).toBe('odata.omit-values=nulls')
    expect(
      some.text
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line)),
    ).toEqual(
      all.text
        .trimEnd()
        .split('\n')
        .map(line => withoutNulls(JSON.parse(line) as Json)),
    )
    expect(await read('$format=csv', 'omit-values=nulls')).toEqual(await read('$format=csv'))
    for (const prefer of ['omit-values=defaults', 'omit-values=nonsense'])
      expect([prefer, await read('$top=500', prefer)]).toEqual([prefer, await read('$top=500')])
    expect((await read('$top=3', 'maxpagesize=2, omit-values=nulls')).applied).toBe('omit-values=nulls')
    expect((await read('$select=City', 'maxpagesize=2, omit-values=nulls')).applied).toBe(
      'maxpagesize=2, omit-values=nulls',
    )
  })

  test('EXP-35 a write shows the null that it wrote', async () => {
    const { status, json, headers } = await app.send("/odata/Property('P''00')", {
      method: 'PATCH',
      headers: { Prefer: 'return=representation, omit-values=nulls' },
      body: { PublicRemarks: null, ChangedByMemberKey: 'M1' },
    })
    expect([status, headers['preference-applied']]).toEqual([200, 'return=representation'])
    expect(json).toHaveProperty('PublicRemarks', null)
  })
})
