import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KeyRange } from '../../src/data/read/digest.js'
import type { Grant } from '../../src/http/auth/sign-token.js'
import { FULL_GRANT, startTestApp, type TestApp } from '../support/app.js'
import { DATABASE_KINDS } from '../support/database.js'
import {
  type Copy,
  type CopyRecord,
  type DigestAnswer,
  digestOf,
  findDifferences,
  inKeyOrder,
} from '../support/digest-client.js'
import { importContent } from '../support/import-file.js'

/** The keys of trap EXP-31, in the order of their code points. */
const KEYS = ['A1', 'K10', 'K9', 'a-1', 'a1', 'a_1', 'z', 'ä1', '\uFFFD', '\u{1F600}']

const GRANTS: Readonly<Record<string, Partial<Grant>>> = {
  staff: FULL_GRANT,
  public: { scopes: ['listings:read'], audience: 'public' },
  member: { scopes: ['listings:read'], audience: 'member' },
  agent: { scopes: ['listings:read', 'listings:write'], audience: 'member', memberKey: 'M1' },
}
const SETS = {
  Property: 'ListingKey', Member: 'MemberKey', Office: 'OfficeKey', Media: 'MediaKey', Rooms: 'RoomKey', OpenHouse: 'OpenHouseKey', Lookup: 'LookupKey',
} as const // biome-ignore format: table

describe.each(DATABASE_KINDS)('digests on the %s database', kind => {
  let app: TestApp
  beforeAll(async () => {
    app = await startTestApp({ kind, fixture: 'fixture.json', env: { PAGE_SIZE_MAX: '10000' } })
    await importContent(app.database, {
      Office: KEYS.map(key => ({ OfficeKey: key, OfficeName: 'An office' })),
      Property: [
        { ListingKey: 'D1', StandardStatus: 'Incomplete', ListAgentKey: 'M1' },
        { ListingKey: 'D2', StandardStatus: 'Incomplete', ListAgentKey: 'M2' },
        { ListingKey: 'H1', StandardStatus: 'Active', InternetEntireListingDisplayYN: false },
      ],
      Rooms: [{ RoomKey: 'R-H1', ListingKey: 'H1' }],
      OpenHouse: [{ OpenHouseKey: 'O-P05', ListingKey: 'P05' }],
      Media: ['D1', 'D2', 'H1', 'none'].map(key => ({
        MediaKey: `P-${key}`,
        ResourceName: 'Property',
        ResourceRecordKey: key,
      })),
    })
  })
  afterAll(() => app?.close())

  const headersOf = (grant: Partial<Grant>) => ({ Authorization: `Bearer ${app.tokenFor(grant)}` })

  const callDigest = async (parameters: string, options: string, grant: Partial<Grant> = FULL_GRANT) =>
    app.send(`/odata/Digest(${parameters})${options}`, { headers: headersOf(grant) })

  async function readDigest(
    set: string,
    ranges: readonly KeyRange[],
    buckets: number,
    grant: Partial<Grant> = FULL_GRANT,
  ): Promise<DigestAnswer> {
    const list = ranges.map(({ from, to }) => ({ From: from, To: to ?? null }))
    const { status, json } = await app.send(
      `/odata/Digest(ResourceName='${set}',Ranges=@r,Buckets=${buckets})/$query`,
      {
        method: 'POST',
        headers: { ...headersOf(grant), 'Content-Type': 'text/plain' },
        rawBody: `@r=${encodeURIComponent(JSON.stringify(list))}`,
      },
    )
    expect(status).toBe(200)
    return json as DigestAnswer
  }

  async function readCopy(set: keyof typeof SETS, grant: Partial<Grant> = FULL_GRANT): Promise<Copy> {
    const { json } = await app.send(`/odata/${set}?$select=${SETS[set]},LastEventSequence&$top=10000`, {
      headers: headersOf(grant),
    })
    const { value } = json as { readonly value: readonly Readonly<Record<string, string | number>>[] }
    return new Map(value.map(r => [String(r[SETS[set]]), Number(r['LastEventSequence'])]))
  }

  const inOrder = (copy: Copy): readonly CopyRecord[] => [...copy].sort(([a], [b]) => inKeyOrder(a, b))

  test('EXP-31: ranges go by code point, in the service and in a replica', async () => {
    const copy = await readCopy('Office')
    const keys = [...copy.keys()].filter(key => KEYS.includes(key))
    expect(keys).toEqual(KEYS)
    for (const parts of [1, 2, 4, 8]) {
      const {
        Ranges: [range],
      } = await readDigest('Office', [{ from: '', to: undefined }], parts)
      const counts = range?.Buckets.map(({ Count }) => Count) ?? []
      expect(counts.reduce((a, b) => a + b)).toBe(copy.size)
      let start = 0
      for (const { First, Count, Hash } of range?.Buckets ?? []) {
        const records = inOrder(copy).slice(start, start + Count)
        expect([First, Hash]).toEqual([records[0]?.[0], digestOf(records)])
        start += Count
      }
    }
    const half: KeyRange[] = [{ from: 'a1', to: '\uFFFD' }]
    const {
      Ranges: [range],
    } = await readDigest('Office', half, 1)
    const records = inOrder(copy).filter(([key]) => ['a1', 'a_1', 'z', 'ä1'].includes(key))
    expect(range?.Buckets).toEqual([{ First: 'a1', Count: 4, Hash: digestOf(records) }])
  })

  test('EXP-32: exchanged positions, a doubled record and joined keys change the hash', async () => {
    const records = inOrder(await readCopy('Office'))
    const [[firstKey, first] = ['', 0], [secondKey, second] = ['', 0], ...others] = records
    const {
      Ranges: [range],
    } = await readDigest('Office', [{ from: '', to: undefined }], 1)
    const hash = range?.Buckets[0]?.Hash
    expect(hash).toMatch(/^[0-9a-f]{64}$/)
    expect(hash).toBe(digestOf(records))
    expect(hash).not.toBe(digestOf([[firstKey, second], [secondKey, first], ...others]))
    expect(hash).not.toBe(digestOf([[firstKey, first], ...records]))
    expect(digestOf([['a', 11]])).not.toBe(digestOf([['a1', 1]]))
    const {
      Ranges: [empty, one],
    } = await readDigest(
      'Office',
      [
        { from: '~', to: '\u007F' },
        { from: 'z', to: 'z\u0001' },
      ],
      5,
    )
    expect(empty?.Buckets).toEqual([])
    expect(one?.Buckets).toEqual([
      { First: 'z', Count: 1, Hash: digestOf(records.filter(([key]) => key === 'z')) },
    ])
  })

  test.each(Object.keys(GRANTS))(
    'a digest covers exactly the records that a token of %s sees',
    async name => {
      const grant = GRANTS[name]
      for (const set of Object.keys(SETS) as readonly (keyof typeof SETS)[]) {
        const records = inOrder(await readCopy(set, grant))
        const {
          Ranges: [range],
        } = await readDigest(set, [{ from: '', to: undefined }], 1, grant)
        const [bucket] = range?.Buckets ?? []
        expect([set, bucket?.Count, bucket?.Hash]).toEqual([set, records.length, digestOf(records)])
      }
    },
  )

  test('digests of audiences differ if their records differ', async () => {
    const keys = async (set: keyof typeof SETS, name: string) =>
      new Set((await readCopy(set, GRANTS[name])).keys())
    const [agent, member, open] = [
      await keys('Property', 'agent'),
      await keys('Property', 'member'),
      await keys('Property', 'public'),
    ]
    expect(['D1', 'D2', 'H1'].map(key => agent.has(key))).toEqual([true, false, true])
    expect(['D1', 'D2', 'H1'].map(key => member.has(key))).toEqual([false, false, true])
    expect(['D1', 'D2', 'H1'].map(key => open.has(key))).toEqual([false, false, false])
    expect((await keys('Media', 'staff')).has('P-none')).toBe(true)
    expect((await keys('Media', 'member')).has('P-none')).toBe(false)
  })

  test('EXP-34: a replica finds 3 missing, 2 extra and 4 stale records', async () => {
    const copy = new Map(await readCopy('Lookup'))
    const keys = [...copy.keys()]
    const missing = keys.filter((_, i) => [0, 50, keys.length - 1].includes(i)).sort(inKeyOrder)
    const stale = keys.filter((_, i) => [3, 51, 90, 91].includes(i)).sort(inKeyOrder)
    for (const key of missing) copy.delete(key)
    for (const key of stale) copy.set(key, 1)
    for (const key of ['\u0001', '~~']) copy.set(key, 7)
    const found = await findDifferences(copy, (ranges, buckets) => readDigest('Lookup', ranges, buckets))
    const sorted = [found.missing, found.extra, found.stale].map(list => [...list].sort(inKeyOrder))
    expect(sorted).toEqual([missing, ['\u0001', '~~'], stale])
    expect(found.requests).toBeLessThan(10)
  })

  test('EXP-34: a digest has the position of its snapshot', async () => {
    const before = await readDigest('Office', [{ from: '', to: undefined }], 1)
    await importContent(app.database, { Office: [{ OfficeKey: 'z', OfficeName: 'Another name' }] })
    const after = await readDigest('Office', [{ from: '', to: undefined }], 1)
    expect(after.LastEventSequence).toBe(before.LastEventSequence + 1)
    expect((await readCopy('Office')).get('z')).toBe(after.LastEventSequence)
    expect(after.Ranges[0]?.Buckets[0]?.Hash).not.toBe(before.Ranges[0]?.Buckets[0]?.Hash)
  })

  test('a filter selects the records', async () => {
    const { json, status } = await callDigest(
      "ResourceName='Office',Filter=@f",
      "?@f='OfficeKey in (''z'',''K9'') and OfficeName ne null'",
    )
    expect(status).toBe(200)
    expect((json as DigestAnswer).Ranges[0]?.Buckets.map(({ First }) => First)).toEqual(['K9', 'z'])
  })

  test('a restricted field in the filter excludes records', async () => {
    const { json } = await callDigest(
      "ResourceName='Property',Filter='PrivateRemarks ne ''x'''",
      '',
      GRANTS['public'],
    )
    expect((json as DigestAnswer).Ranges).toEqual([{ From: '', To: null, Buckets: [] }])
  })

  test('GraphQL answers with the same members, in the requested shape', async () => {
    const query = `query ($ranges: [KeyRange!]) {
      digest(resourceName: "Office", ranges: $ranges, buckets: 2, where: "OfficeKey ne 'K9'") {
        __typename LastEventSequence parts: Ranges { From ...rest }
      }
    }
    fragment rest on DigestRange { To Buckets { First Count Hash } }`
    const ranges = [{ To: 'a1' }, { From: 'z', To: null }]
    const answer = await app.send('/graphql', { method: 'POST', body: { query, variables: { ranges } } })
    const { json } = await callDigest(
      "ResourceName='Office',Buckets=2,Filter='OfficeKey ne ''K9''',Ranges=@r",
      `?@r=${encodeURIComponent(JSON.stringify(ranges))}`,
    )
    const { LastEventSequence, Ranges } = json as DigestAnswer
    expect(answer.json).toEqual({
      data: { digest: { __typename: 'Digest', LastEventSequence, parts: Ranges } },
    })
  })

  test('GraphQL refuses bad arguments by name, and more digests than an operation may cost', async () => {
    const send = async (query: string) =>
      (await app.send('/graphql', { method: 'POST', body: { query } })).json as {
        readonly errors: readonly { readonly extensions: Readonly<Record<string, unknown>> }[]
      }
    const badRange = await send(
      '{ digest(resourceName: "Office", ranges: [{ From: "b", To: "a" }]) { LastEventSequence } }',
    )
    expect(badRange.errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', target: 'ranges' })
    const badSet = await send('{ digest(resourceName: "office") { LastEventSequence } }')
    expect(badSet.errors[0]?.extensions).toMatchObject({ code: 'BAD_USER_INPUT', target: 'resourceName' })
    const fields = [1, 2, 3, 4, 5].map(n => `d${n}: digest(resourceName: "Office") { LastEventSequence }`)
    const costly = await send(`{ ${fields.join(' ')} }`)
    expect(costly.errors[0]?.extensions).toMatchObject({ serviceCode: '2018' })
  })

  test('positions are strings for clients that request it, and the context names the type', async () => {
    const { json } = await app.send("/odata/Digest(ResourceName='Office')", {
      headers: { Accept: 'application/json;IEEE754Compatible=true' },
    })
    expect(json).toMatchObject({
      '@odata.context': expect.stringContaining('/odata/$metadata#org.reso.metadata.DigestResult'),
      LastEventSequence: expect.stringMatching(/^\d+$/),
    })
  })

  test.each([
    ['', '', 'ResourceName'],
    ["ResourceName='EntityEvent'", '', 'ResourceName'],
    ["ResourceName='property'", '', 'ResourceName'],
    ["ResourceName='Office',Buckets=0", '', 'Buckets'],
    ["ResourceName='Office',Buckets=10001", '', 'Buckets'],
    ["ResourceName='Office',Buckets=many", '', 'Buckets'],
    ['ResourceName=@n', '', 'ResourceName'],
    ["ResourceName='Office',Buckets=2,", '', 'Digest'],
    ["ResourceName='Office',Ranges=@r", '?@r=[]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[1]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"b","To":"a"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"a","To":"a"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"a"},{"From":"b"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"b","To":"d"},{"From":"a","To":"c"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"a","To":"b"},{"From":"a","To":"b"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"from":"a"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"a\\u0000"}]', 'Ranges'],
    ["ResourceName='Office',Ranges=@r", '?@r=[{"From":"\\ud800"}]', 'Ranges'],
    [
      "ResourceName='Office',Ranges=@r",
      `?@r=${encodeURIComponent(JSON.stringify(Array.from({ length: 1001 }, () => ({}))))}`,
      'Ranges',
    ],
    ["ResourceName='Office',Filter='Nothing eq 1'", '', 'Nothing'],
    ["ResourceName='Office',Filter='OfficeKey eq'", '', 'Filter'],
    ["ResourceName='Office',Sieve='x'", '', 'Sieve'],
    ["ResourceName='Office',ResourceName='Office'", '', 'ResourceName'],
    ["ResourceName=Office'", '', 'Digest'],
    ["ResourceName='Office'", '?$top=1', '$top'],
  ])('Digest(%s)%s is refused with its parameter', async (parameters, options, target) => {
    const { status, json } = await callDigest(parameters, options)
    expect([status, (json as { error: { target: string } }).error.target]).toEqual([400, target])
  })

  test('a digest needs listings:read and allows only GET', async () => {
    const { status } = await callDigest("ResourceName='Office'", '', { scopes: ['listings:write'] })
    expect(status).toBe(403)
    const posted = await app.send("/odata/Digest(ResourceName='Office')", { method: 'POST', body: {} })
    expect([posted.status, posted.headers['allow']]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

const GUIDE = readFileSync(new URL('../../docs/replication.md', import.meta.url), 'utf8')
const codeOf = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(GUIDE)?.[1] ?? ''

describe('the hash of docs/replication.md', () => {
  const records = KEYS.map((key, i) => [key, i + 1] as const)
  const documented = /it is `([0-9a-f]{64})`/.exec(GUIDE)?.[1]

  test('is that of the example in JavaScript', async () => {
    const source = `data:text/javascript,${encodeURIComponent(codeOf('js'))}`
    const { hashOf } = (await import(/* @vite-ignore */ source)) as {
      hashOf: (r: readonly CopyRecord[]) => string
    }
    expect(hashOf([...records].reverse())).toBe(documented)
    expect(digestOf(records)).toBe(documented)
  })

  test('is that of the example in Python', () => {
    const program = `${codeOf('python')}\nimport json, sys\nprint(hash_of([tuple(r) for r in json.load(sys.stdin)]))`
    const { stdout, error } = spawnSync('python3', ['-c', program], {
      input: JSON.stringify([...records].reverse()),
      encoding: 'utf8',
      env: { ...process.env, PYTHONIOENCODING: 'utf-8' },
    })
    // A machine without Python checks the JavaScript alone.
    if (!error) expect(stdout.trim()).toBe(documented)
  })
})
