import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { RequestOptions, TestResponse } from '../support/app.js'
import { bodyOf, type Row } from '../support/assertions.js'
import { DATABASE_KINDS } from '../support/database.js'
import { startTestService, type TestService } from '../support/test-service.js'

// Decisions 11: assigning agent and office, responses of writes, PUT, the order of refusals.

interface Grant {
  readonly scopes: readonly ('listings:read' | 'listings:write' | 'listings:write:any')[]
  readonly audience?: 'public' | 'member' | 'staff'
  readonly memberKey?: string
  readonly officeKey?: string
}

const READ_WRITE = ['listings:read', 'listings:write'] as const
const M1: Grant = { scopes: READ_WRITE, audience: 'member', memberKey: 'M1' }
const ASSISTANT: Grant = { scopes: READ_WRITE, audience: 'member', officeKey: 'O1' }
const WRITE_ONLY: Grant = { scopes: ['listings:write'], audience: 'member', memberKey: 'M1' }

/** M1 and M2 are members of the office O1, M3 of O2, M4 of none. */
const OTHERS = {
  Member: [
    { MemberKey: 'M1', OfficeKey: 'O1' },
    { MemberKey: 'M2', OfficeKey: 'O1' },
    { MemberKey: 'M3', OfficeKey: 'O2' },
    { MemberKey: 'M4' },
    { MemberKey: 'M5' },
  ],
  Office: [{ OfficeKey: 'O1' }, { OfficeKey: 'O2' }],
}
const DRAFT = {
  ListAgentKey: 'M1',
  ListOfficeKey: 'O1',
  PropertyType: 'Residential',
  StreetNumber: '1',
  StreetName: 'Main',
  City: 'Vail',
}
const L001 = "/odata/Property('L001')"

/** Status, code and targets of a refusal, or the status of a success. */
type Outcome = readonly unknown[]

describe.each(DATABASE_KINDS)('permissions of writes on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let given: TestService['given']
  beforeAll(async () => {
    market = await startTestService({ kind, env: { NON_DISCLOSURE: 'true' } })
    given = market.given
  })
  afterAll(() => market?.close())
  beforeEach(() => given([{ ...DRAFT, PrivateRemarks: 'secret', SoldPrice: 7 }], OTHERS))

  type Send = (target: string, options?: RequestOptions) => Promise<TestResponse>
  const as = (grant: Grant) => {
    const { scopes, audience = 'member', ...keys } = grant
    const authorization = `Bearer ${market.tokenFor({ scopes: [...scopes], audience, ...keys })}`
    const send: Send = (target, options = {}) =>
      market.send(target, { ...options, headers: { Authorization: authorization, ...options.headers } })
    return { send, odata: odataWith(send), graphql: graphqlWith(send) }
  }
  const outcomeOf = ({ status, json }: { readonly status: number; readonly json: unknown }): Outcome => {
    const { error } = json as { error?: { code: string; target?: string; details: Row[] } } // an answer of OData
    if (!error) return [status]
    const targets = error.details.length > 0 ? error.details.map(d => d['target']) : [error.target]
    return [status, error.code, ...targets.filter(t => t !== undefined)]
  }
  const odataWith = (send: Send) => ({
    create: async (body: object) => outcomeOf(await send('/odata/Property', { method: 'POST', body })),
    change: async (body: object, headers = {}, method = 'PATCH') =>
      outcomeOf(await send(L001, { method, body, headers })),
  })
  const STATUS_OF: Readonly<Record<string, number>> = { FORBIDDEN: 403, NOT_FOUND: 404, PRECONDITION_FAILED: 412, BAD_USER_INPUT: 400 } // biome-ignore format: one row
  const graphqlWith = (send: Send) => {
    const run = async (query: string, variables: object): Promise<Outcome> => {
      const { json } = await send('/graphql', { method: 'POST', body: { query, variables } })
      const [error] = (json as { errors?: { message: string; extensions: Row }[] }).errors ?? []
      if (!error) return ['done', json]
      const { code, serviceCode, target, details } = error.extensions
      const targets = (details as Row[] | undefined)?.map(d => d['target']) ?? [target]
      const named = targets.length > 0 ? targets : [target]
      return [STATUS_OF[String(code)] ?? error.message, serviceCode, ...named.filter(t => t !== undefined)]
    }
    return {
      run,
      create: async (input: object, selection = 'ListingKey') =>
        shorten(201, await run(`mutation ($input: PropertyInput!) { createDraft(input: $input) { ${selection} } }`, { input })),
      change: async (input: object, ifMatch?: string, selection = 'ListingKey') =>
        shorten(200, await run(`mutation ($input: PropertyInput!, $if: String) { updateProperty(ListingKey: "L001", input: $input, ifMatch: $if) { ${selection} } }`, { input, if: ifMatch })),
    } // biome-ignore format: one mutation a line
  }
  const shorten = (status: number, outcome: Outcome): Outcome => (outcome[0] === 'done' ? [status] : outcome)
  const stored = () => market.read('L001')

  describe('a token assigns as agent', () => {
    const refused = [403, '3003', 'ListAgentKey']
    test.each<[string, Grant, string, Outcome]>([
      ['itself', ASSISTANT, 'M2', [200]],
      ['a member of its office', M1, 'M2', [200]],
      ['no member of another office', M1, 'M3', refused],
      ['no member of another office than that of the token', ASSISTANT, 'M3', refused],
      ['no member without an office', M1, 'M4', refused],
      ['no key that is not there', M1, 'gone', refused],
      ['anybody with listings:write:any', { ...M1, scopes: [...READ_WRITE, 'listings:write:any'] }, 'M4', [200]],
    ])('%s', async (_, grant, ListAgentKey, expected) => {
      const body = { ListAgentKey, ChangedByMemberKey: 'M1' }
      for (const change of [as(grant).odata.change, as(grant).graphql.change]) {
        await given([{ ...DRAFT }], OTHERS)
        expect(await change(body)).toEqual(expected)
        expect((await stored())['ListAgentKey']).toBe(expected[0] === 200 ? ListAgentKey : 'M1')
      }
    }) // biome-ignore format: one row a case

    test('a token whose member has no office cannot assign a member without one', async () => {
      await given([{ ...DRAFT, ListAgentKey: 'M4', ListOfficeKey: 'M4' }], OTHERS)
      const { odata, graphql } = as({ ...M1, memberKey: 'M4' })
      expect(await odata.change({ ListAgentKey: 'M5' })).toEqual(refused)
      expect(await graphql.change({ ListAgentKey: 'M5' })).toEqual(refused)
    })
  })

  test('a token assigns any member as office, or the office of the agent or of the token', async () => {
    const outcomes = async (grant: Grant, body: object) => {
      const results: Outcome[] = []
      for (const change of [as(grant).odata.change, as(grant).graphql.change]) {
        await given([{ ...DRAFT, ListOfficeKey: 'M1', ListAgentKey: 'M1' }], OTHERS)
        results.push(await change(body))
      }
      expect(results[1]).toEqual(results[0])
      return results[0]
    }
    const refused = [403, '3003', 'ListOfficeKey']
    expect(await outcomes(M1, { ListOfficeKey: 'M3' })).toEqual([200])
    expect(await outcomes(M1, { ListOfficeKey: 'O1' })).toEqual([200])
    expect(await outcomes({ ...M1, officeKey: 'O2' }, { ListOfficeKey: 'O2' })).toEqual([200])
    expect(await outcomes({ ...M1, officeKey: 'O2' }, { ListAgentKey: 'M3', ListOfficeKey: 'O2' })).toEqual([200])
    expect(await outcomes(M1, { ListOfficeKey: 'O2' })).toEqual(refused)
    expect(await outcomes(M1, { ListOfficeKey: 'gone' })).toEqual(refused)
  }) // biome-ignore format: one row a case

  test('an unchanged owner needs no permission, and the rules of a change apply to a create', async () => {
    const { odata, graphql } = as(M1)
    await given([{ ...DRAFT, ListAgentKey: 'M4', ListOfficeKey: 'M1' }], OTHERS)
    expect(await odata.change({ ListAgentKey: 'M4', City: 'Waco' })).toEqual([200])
    for (const { create } of [odata, graphql]) {
      expect(await create(DRAFT)).toEqual([201])
      expect(await create({ ...DRAFT, ListAgentKey: 'M2', ListOfficeKey: 'M1' })).toEqual([201])
      expect(await create({ ...DRAFT, ListAgentKey: 'M4', ListOfficeKey: 'M1' })).toEqual([403, '3003', 'ListAgentKey'])
      expect(await create({ ...DRAFT, ListOfficeKey: 'O2' })).toEqual([403, '3003', 'ListOfficeKey'])
      // The listing would belong to others.
      expect(await create({ ...DRAFT, ListAgentKey: 'M2', ListOfficeKey: 'O1' })).toEqual([403, '3003'])
    }
  }) // biome-ignore format: one row a case

  test('a draft that is assigned to another member is returned once, then hidden', async () => {
    const draft = { ...DRAFT, StandardStatus: 'Incomplete', ListOfficeKey: 'O1' }
    for (const query of ['', '?$expand=Media']) {
      await given([draft], OTHERS)
      const { send } = as(M1)
      const answer = await send(L001 + query, { method: 'PATCH', body: { ListAgentKey: 'M2' } })
      expect([answer.status, bodyOf(answer)['ListAgentKey']], answer.text).toEqual([200, 'M2'])
      expect((await send(L001)).status).toBe(404)
    }
  })

  describe('the order of refusals', () => {
    const BAD = { City: null, Nope: 1, ListAgentKey: 'M3' }
    const STALE = { 'If-Match': 'W/"1"' }
    const both = async (grant: Grant, body: Row, headers = {}) => {
      const { odata, graphql } = as(grant)
      const outcomes: Outcome[] = []
      for (const method of ['PATCH', 'PUT']) outcomes.push(await odata.change(body, headers, method))
      const { Nope: _, City: __, ...input } = body
      outcomes.push(
        await graphql.change({ ...input, City: ' ' }, 'If-Match' in headers ? 'W/"1"' : undefined),
      )
      return outcomes.map(outcome => outcome.slice(0, 3))
    }
    const three = (...outcome: Outcome) => [outcome, outcome, outcome]

    test('scope, visibility, owner, assignment, precondition, faults', async () => {
      const draft = { ...DRAFT, StandardStatus: 'Incomplete', ListAgentKey: 'M2', ListOfficeKey: 'O2' }
      await given([draft], OTHERS)
      expect(await both({ ...M1, scopes: ['listings:read'] }, BAD, STALE)).toEqual(three(403, '3003'))
      expect(await both(M1, BAD, STALE)).toEqual(three(404, '4004'))
      await given([{ ...draft, StandardStatus: 'Active' }], OTHERS)
      expect(await both(M1, BAD, STALE)).toEqual(three(403, '3003'))
      await given([DRAFT], OTHERS)
      expect(await both(M1, BAD, STALE)).toEqual(three(403, '3003', 'ListAgentKey'))
      const { ListAgentKey: _, ...faulty } = BAD
      expect(await both(M1, faulty, STALE)).toEqual([[412, '4012', 'If-Match'], [412, '4012', 'If-Match'], [412, '4012', 'ifMatch'].slice(0, 2).concat('If-Match')])
      expect((await both(M1, faulty)).map(([status, code]) => [status, code])).toEqual(three(400, '1111'))
      expect(await as(M1).odata.change(faulty)).toEqual([400, '1111', 'City', 'Nope'])
      expect(await stored()).toMatchObject(DRAFT)
    }) // biome-ignore format: one row a case

    test('of a body that is not JSON', async () => {
      const headers = { 'Content-Type': 'application/json' }
      const send = async (grant: Grant, method: string, target: string, more = {}) =>
        (await as(grant).send(target, { method, rawBody: '{', headers: { ...headers, ...more } })).status
      for (const method of ['PATCH', 'PUT']) {
        expect(await send({ ...M1, scopes: ['listings:read'] }, method, L001)).toBe(403)
        expect(await send(M1, method, "/odata/Property('nope')")).toBe(404)
        expect(await send({ ...M1, memberKey: 'M4' }, method, L001)).toBe(403)
        expect(await send(M1, method, L001, STALE)).toBe(412)
        expect(await send(M1, method, L001)).toBe(400)
      }
      expect(await send({ ...M1, scopes: ['listings:read'] }, 'POST', '/odata/Property')).toBe(403)
      expect(await send(M1, 'POST', '/odata/Property')).toBe(400)
    })

    test('of DELETE, and of a create', async () => {
      const remove = async (grant: Grant, headers = {}) =>
        (await as(grant).send(L001, { method: 'DELETE', headers })).status
      expect(await remove({ ...M1, scopes: ['listings:read'] }, STALE)).toBe(403)
      expect(await remove({ ...M1, memberKey: 'M4' }, STALE)).toBe(403)
      expect(await remove(M1, STALE)).toBe(412)
      const { odata } = as(M1)
      expect(await odata.create({ ...DRAFT, ListAgentKey: 'M3', City: null })).toEqual([403, '3003', 'ListAgentKey'])
      expect(await odata.create({ ...DRAFT, City: null, BuyerAgentKey: 'gone' })).toEqual([400, '1111', 'City', 'BuyerAgentKey'])
      expect(await odata.create({})).toEqual(expect.arrayContaining([400, '1111']))
      expect(await remove(M1)).toBe(204)
      expect(await remove(M1, STALE)).toBe(404)
    }) // biome-ignore format: one row a case

    test('in a batch, where a refused write rolls back its group', async () => {
      const patch = (id: string, body: object, more = {}) => ({ id, method: 'PATCH', url: "Property('L001')", body, atomicityGroup: 'g', ...more })
      const run = async (grant: Grant, ...requests: object[]) => {
        const answer = await as(grant).send('/odata/$batch', { method: 'POST', body: { requests } })
        const { responses } = answer.json as { responses: { status: number; body: unknown }[] } // an answer of OData
        return responses.map(({ status, body }) => outcomeOf({ status, json: body ?? {} }))
      }
      const good = patch('1', { City: 'Waco' })
      expect(await run(M1, good, patch('2', { ListAgentKey: 'M3', City: null }, { headers: STALE }))).toEqual(expect.arrayContaining([[403, '3003', 'ListAgentKey']]))
      expect(await run(M1, good, patch('2', { City: null, StreetName: 'Oak' }))).toEqual(expect.arrayContaining([[400, '1111', 'City']]))
      expect(await stored()).toMatchObject(DRAFT)
      expect(await run(M1, good, patch('2', { StreetName: 'Oak' }))).toEqual([[200], [200]])
      expect(await stored()).toMatchObject({ City: 'Waco', StreetName: 'Oak' })
    }) // biome-ignore format: one row a case
  })

  describe('without listings:read a write answers', () => {
    const SIX = ['ContractStatus', 'ListingKey', 'MlsStatus', 'ModificationTimestamp', 'OriginatingSystemName', 'StandardStatus'] // biome-ignore format: one row
    const namesOf = (body: Row) =>
      Object.keys(body)
        .filter(name => !name.includes('@'))
        .sort()

    test('the sent fields, and those that every create returns', async () => {
      const { send } = as(WRITE_ONLY)
      const created = await send('/odata/Property', { method: 'POST', body: { ...DRAFT, ListPrice: 5 } })
      expect(created.status, created.text).toBe(201)
      expect(namesOf(bodyOf(created))).toEqual([...SIX, ...Object.keys(DRAFT), 'ListPrice'].sort())
      expect(bodyOf(created)).toMatchObject({ ...DRAFT, ListPrice: 5, StandardStatus: 'Incomplete', '@odata.etag': expect.any(String) })
      expect(String(bodyOf(created)['@odata.context'])).toMatch(/#Property\([\w,]+\)\/\$entity$/)
      const body = { City: 'Waco', ChangedByMemberKey: 'M1', TaxAnnualAmount: null, OriginalListPrice: 1 }
      const changed = await send(L001, { method: 'PATCH', body })
      expect(changed.status, changed.text).toBe(200)
      // OriginalListPrice is set by the service, not by the client.
      expect(namesOf(bodyOf(changed))).toEqual([...SIX, 'City', 'TaxAnnualAmount'].sort())
      const replaced = await send(L001, { method: 'PUT', body: { ...DRAFT, ChangedByMemberKey: 'M1' } })
      expect(namesOf(bodyOf(replaced))).toEqual([...SIX, ...Object.keys(DRAFT)].sort())
      const minimal = await send(L001, { method: 'PATCH', body: { City: 'Oslo' }, headers: { Prefer: 'return=minimal' } })
      expect([minimal.status, minimal.text]).toEqual([204, ''])
    }) // biome-ignore format: one request a line

    test('a request for more fields is refused before anything is written', async () => {
      const { send, graphql } = as(WRITE_ONLY)
      const before = await stored()
      const count = (await market.send('/odata/Property/$count')).text
      for (const query of ['?$select=ListPrice', '?$select=*', '?$expand=Media', '?$select=City,TaxYear', '?$compute=ListPrice as P&$select=P'])
        for (const [method, target] of [['PATCH', L001], ['PUT', L001], ['POST', '/odata/Property']] as const)
          expect([query, method, outcomeOf(await send(target + query, { method, body: { ...DRAFT, City: 'Waco' } }))]).toEqual([query, method, [403, '3003']])
      const whole = await send(L001, { method: 'PATCH', body: { City: 'Waco' }, headers: { Prefer: 'return=representation' } })
      expect(outcomeOf(whole)).toEqual([403, '3003'])
      expect(await graphql.change({ City: 'Waco' }, undefined, 'City ListPrice')).toEqual([403, '3003'])
      expect(await graphql.change({ City: 'Waco' }, undefined, 'City Media { MediaKey }')).toEqual([403, '3003'])
      expect(await graphql.create(DRAFT, 'SoldPrice')).toEqual([403, '3003'])
      expect(await stored()).toEqual(before)
      expect((await market.send('/odata/Property/$count')).text).toBe(count)
    }) // biome-ignore format: one request a line

    test('a selection of those fields, in GraphQL also id, etag and __typename', async () => {
      const { send, graphql } = as(WRITE_ONLY)
      const selected = await send(`${L001}?$select=City,MlsStatus`, { method: 'PATCH', body: { City: 'Waco' } })
      expect([selected.status, namesOf(bodyOf(selected))], selected.text).toEqual([200, ['City', 'MlsStatus']])
      const outcome = await graphql.run(
        'mutation { updateProperty(ListingKey: "L001", input: { City: "Oslo" }) { id etag __typename City StandardStatus ModificationTimestamp } }',
        {},
      )
      expect(outcome).toEqual(['done', { data: { updateProperty: expect.objectContaining({ City: 'Oslo', __typename: 'Property', id: expect.any(String), etag: expect.any(String) }) } }])
    }) // biome-ignore format: one request a line
  })

  test('PUT leaves fields unchanged that the token cannot read', async () => {
    const put = async (grant: Grant) => {
      await given([{ ...DRAFT, PrivateRemarks: 'secret', SoldPrice: 7, ListPrice: 5, TaxYear: 2020, InternetAddressDisplayYN: false, UnitNumber: '7' }], OTHERS)
      const answer = await as(grant).send(L001, { method: 'PUT', body: { ...DRAFT, ChangedByMemberKey: 'M1' } })
      expect(answer.status, answer.text).toBe(200)
      const { PrivateRemarks, SoldPrice, ListPrice, TaxYear, UnitNumber } = await stored()
      return { PrivateRemarks, SoldPrice, ListPrice, TaxYear, UnitNumber }
    }
    const none = { PrivateRemarks: null, SoldPrice: null, ListPrice: null, TaxYear: null, UnitNumber: null }
    const any: Grant = { scopes: ['listings:read', 'listings:write:any'], audience: 'public' }
    expect(await put({ ...any, audience: 'staff' })).toEqual(none)
    expect(await put(M1)).toEqual(none)
    // SoldPrice is not disclosed to the public class.
    expect(await put({ ...M1, audience: 'public' })).toEqual({ ...none, SoldPrice: 7 })
    // It cannot read the fields of other listings that only their agents may read, and addresses that are not
    // displayed.
    expect(await put(any)).toEqual({ ...none, SoldPrice: 7, PrivateRemarks: 'secret', UnitNumber: '7' })
    expect(await put(WRITE_ONLY)).toEqual({ PrivateRemarks: 'secret', SoldPrice: 7, ListPrice: 5, TaxYear: 2020, UnitNumber: '7' })
  }) // biome-ignore format: one row a case
})
