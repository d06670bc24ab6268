import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { bodyOf, nextLinkOf, type Row, rowsOf } from '../../support/assertions.js'
import {
  DeltaReplica,
  deltaLinkOf,
  keyOfId,
  summaryOf,
  TRACK_CHANGES,
} from '../../support/clients/delta-replica.js'
import { LogReader } from '../../support/clients/log-reader.js'
import { DATABASE_KINDS } from '../../support/database.js'
import { startTestService, type TestService } from '../../support/test-service.js'

const OWNERS = { ListAgentKey: 'M1', ListOfficeKey: 'O1' }
const OTHERS = { ListAgentKey: 'M3', ListOfficeKey: 'M3' }
const TIME = '2024-05-01T00:00:00.000Z'
/** A multiple of 100. Trap DEL-06 has 5,000: PENDING_CHANGES=5000. */
const PENDING_CHANGES = Number(process.env['PENDING_CHANGES'] ?? 500)
const listings = (count: number, fields: Row = {}) => Array.from({ length: count }, () => fields)
const photo = (listing: string, n: number, fields: Row = {}) => ({
  MediaKey: `${listing}-P${n}`,
  ResourceName: 'Property',
  ResourceRecordKey: listing,
  MediaCategory: 'Photo',
  MediaURL: `https://photos.example/${listing}/${n}`,
  Order: n,
  ModificationTimestamp: TIME,
  ...fields,
})

describe.each(DATABASE_KINDS)('traps of delta links on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, patch, remove }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, patch, remove } = market)
  })
  afterAll(() => market.close())

  const sql = (...statements: readonly string[]) =>
    market.database.withClient(async client => {
      for (const statement of statements) await client.query(statement)
    })
  const readerOf = (name: string) => new LogReader(market, name)
  const track = (query: string, reader: Pick<LogReader, 'send'> = market) =>
    reader.send(`/odata/${query}`, { headers: TRACK_CHANGES })

  /** Returns the link of the first and only page of a query. */
  async function linkOf(query: string, reader: Pick<LogReader, 'send'> = market): Promise<string> {
    const answer = await track(query, reader)
    expect([query, answer.status], answer.text.slice(0, 300)).toEqual([query, 200])
    expect(answer.headers['preference-applied']).toBe('odata.track-changes')
    return deltaLinkOf(answer) ?? ''
  }
  async function follow(link: string, reader: Pick<LogReader, 'send'> = market): Promise<readonly Row[]> {
    const answer = await reader.send(link)
    expect([link, answer.status], answer.text.slice(0, 300)).toEqual([link, 200])
    return rowsOf(answer)
  }
  const summary = (rows: readonly Row[], keyField?: string) =>
    rows.map(row => summaryOf(row, keyField)).sort()
  /** A fresh read and a replica must have the same records. */
  async function expectEqual(replica: DeltaReplica, reader: LogReader, query: string): Promise<void> {
    const fresh = await reader.rows(query)
    const byKey = new DeltaReplica(reader, query, 'ListingKey')
    for (const row of fresh) byKey.records.set(String(row['ListingKey']), row)
    expect(replica.market()).toEqual(byKey.market())
  }

  test('DEL-01 only the last page has the delta link, if the first request asked for tracking', async () => {
    await given(listings(25))
    for (const name of ['odata.track-changes', 'track-changes']) {
      const prefer = `${name}, odata.maxpagesize=10`
      const first = await market.send('/odata/Property', { headers: { Prefer: prefer } })
      expect(first.headers['preference-applied']).toContain(name)
      expect(first.headers['vary']).toContain('Prefer')
      const second = await market.send(nextLinkOf(first) ?? '', { headers: { Prefer: 'maxpagesize=10' } })
      const third = await market.send(nextLinkOf(second) ?? '', { headers: { Prefer: 'maxpagesize=10' } })
      expect([first, second, third].map(deltaLinkOf).map(link => link !== undefined)).toEqual([
        false,
        false,
        true,
      ])
      expect([first, second, third].map(nextLinkOf).map(link => link !== undefined)).toEqual([
        true,
        true,
        false,
      ])
      expect(rowsOf(third)).toHaveLength(5)
      expect(await follow(deltaLinkOf(third) ?? '')).toEqual([])
    }
    let late = await market.send('/odata/Property', { headers: { Prefer: 'maxpagesize=10' } })
    while (nextLinkOf(late) !== undefined)
      late = await market.send(nextLinkOf(late) ?? '', {
        headers: { Prefer: 'track-changes, maxpagesize=10' },
      })
    expect(deltaLinkOf(late)).toBeUndefined()
    expect(late.headers['preference-applied'] ?? '').not.toContain('track-changes')
  })

  test('DEL-02 changes during the first copy are in the first delta of each reader', async () => {
    await given(listings(100, { ...OWNERS, City: 'Austin' }))
    const query = `Property?$filter=City eq 'Austin'`
    const change = async () => {
      await patch('L001', { ListPrice: 1 })
      await patch('L085', { ListPrice: 2 })
      await sql(
        `insert into "Property" select (p).* from (select jsonb_populate_record(p, '{"ListingKey": "L015a", "ListingId": "new"}') as p from "Property" p where "ListingKey" = 'L015') new`,
      )
      await remove('L005')
      await patch('L011', { InternetEntireListingDisplayYN: false })
      await patch('L003', { City: 'Waco' })
    }
    // All have read three pages when the first of them changes the market, and none a fourth one.
    let waiting = 0
    let begin = (): unknown => undefined
    const changed = new Promise<void>((resolve, reject) => {
      begin = () => change().then(resolve, reject)
    })
    const replicas = ['public', 'member', 'agent', 'staff'].map(name => {
      const reader = readerOf(name)
      let page = 0
      const afterPage = async () => {
        if (++page !== 3) return
        if (++waiting === 4) begin()
        await changed
      }
      return {
        name,
        reader,
        replica: new DeltaReplica(reader, query, 'ListingKey', 'maxpagesize=10', afterPage),
      }
    })
    expect(await Promise.all(replicas.map(({ replica }) => replica.poll()))).toEqual([10, 10, 10, 10])
    for (const { name, reader, replica } of replicas) {
      expect(replica.records.has('L005')).toBe(true)
      await replica.poll()
      await expectEqual(replica, reader, query)
      expect([...replica.records.keys()]).toEqual(expect.arrayContaining(['L015a', 'L001', 'L085']))
      for (const gone of ['L005', 'L003']) expect(replica.records.has(gone)).toBe(false)
      expect([name, replica.records.has('L011')]).toEqual([
        name,
        name === 'agent' || name === 'staff' || name === 'member',
      ])
    }
  })

  test('DEL-03 records that leave and enter the filter', async () => {
    await given([...listings(2), { City: 'Waco' }, ...listings(3)])
    const reader = readerOf('public')
    const query = `Property?$filter=City eq 'Austin' and StandardStatus eq 'Active'`
    const link = await linkOf(query, reader)
    await patch('L001', { StandardStatus: 'Sold', SoldPrice: 7 })
    await patch('L002', { City: 'Waco' })
    await patch('L002', { City: 'Austin' })
    await patch('L003', { City: 'Austin' })
    await remove('L004')
    await patch('L005', { ListPrice: 5 })
    await patch('L006', { InternetEntireListingDisplayYN: false })
    const rows = await follow(link, reader)
    expect(summary(rows)).toEqual(['L002', 'L003', 'L005', 'changed L001', 'changed L006', 'deleted L004'])
    const [entered] = await reader.rows(`Property?$filter=ListingKey eq 'L003'`)
    expect(rows.find(row => row['ListingKey'] === 'L003')).toEqual(entered)
    for (const row of rows.filter(entry => entry['@removed'])) {
      expect(keyOfId(row['@odata.id'])).toBe(row['ListingKey'])
      expect(Object.keys(row)).toEqual(['@removed', '@odata.id', 'ListingKey'])
    }
  })

  test('DEL-06 the pages end at the event that was the last at their beginning, while changes continue', async () => {
    await given(listings(100))
    const reader = readerOf('public')
    const seen = new Map<string, number>()
    const replica = new DeltaReplica(reader, 'Property', 'ListingKey', 'maxpagesize=20', async () => {
      // A record can be newer than the end of the run, but no page sets it back.
      for (const [key, row] of replica.records) {
        const sequence = Number(row['LastEventSequence'])
        expect([key, sequence >= (seen.get(key) ?? 0)]).toEqual([key, true])
        seen.set(key, sequence)
      }
    })
    await replica.poll()
    await sql(
      ...Array.from({ length: PENDING_CHANGES / 100 }, (_, n) => `update "Property" set "ListPrice" = ${n}`),
    )
    let isOver = false
    const writing = (async () => {
      for (let n = 0; !isOver; n++)
        await sql(
          `update "Property" set "TaxYear" = ${1900 + (n % 100)} where "ListingKey" like 'L0${n % 10}%'`,
        )
    })()
    const pages = await replica.poll().finally(() => {
      isOver = true
    })
    await writing
    expect(pages).toBeGreaterThanOrEqual(PENDING_CHANGES / 20)
    expect(pages).toBeLessThanOrEqual(PENDING_CHANGES / 20 + 3)
    await replica.poll()
    await replica.poll()
    await expectEqual(replica, reader, 'Property')
  })

  test('DEL-07 without the key in $select each entry has its id', async () => {
    await given([{}, {}, { ConstructionMaterials: ['Brick', 'Stone'] }, {}])
    const link = await linkOf('Property?$select=City,ConstructionMaterials')
    await patch('L001', { City: 'Waco' })
    await patch('L002', { ListPrice: 4 })
    await patch('L003', { ConstructionMaterials: ['Brick', 'Wood'] })
    await remove('L004')
    const answer = await market.send(link)
    expect(String(bodyOf(answer)['@odata.context'])).toBe(
      `${market.base}/odata/$metadata#Property(City,ConstructionMaterials)/$delta`,
    )
    const rows = rowsOf(answer)
    expect(summary(rows)).toEqual(['L001', 'L002', 'L003', 'deleted L004'])
    expect(rows.find(row => keyOfId(row['@odata.id']) === 'L003')?.['ConstructionMaterials']).toEqual([
      'Brick',
      'Wood',
    ])
    const id = String(rows.find(row => keyOfId(row['@odata.id']) === 'L001')?.['@odata.id'])
    expect(bodyOf(await market.send(id))['ListingKey']).toBe('L001')
  })

  test('DEL-08 a change of an expanded record returns its listing again', async () => {
    const query = 'Property?$expand=Media($filter=Order le 5;$select=MediaURL),ListAgent'
    const steps: Readonly<Record<string, readonly [statement: string, ...keys: string[]]>> = {
      added: [`insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "Order") values ('N', 'Property', 'L001', 4)`, 'L001'],
      deleted: [`delete from "Media" where "MediaKey" = 'L001-P1'`, 'L001'],
      reordered: [`update "Media" set "Order" = 9 where "MediaKey" = 'L001-P2'`, 'L001'],
      moved: [`update "Media" set "ResourceRecordKey" = 'L002' where "MediaKey" = 'L001-P3'`, 'L001', 'L002'],
      room: [`update "Rooms" set "RoomType" = 'Attic' where "RoomKey" = 'R1'`],
      renamed: [`update "Member" set "MemberLastName" = 'New' where "MemberKey" = 'M2'`, 'L003'],
      dismissed: [`delete from "Member" where "MemberKey" = 'M2'`, 'L003'],
    } // biome-ignore format: one step a line
    await given([OWNERS, OWNERS, { ...OWNERS, ListAgentKey: 'M2' }], {
      Media: [1, 2, 3].map(n => photo('L001', n)),
      Rooms: [{ RoomKey: 'R1', ListingKey: 'L003', ModificationTimestamp: TIME }],
    })
    const reader = readerOf('public')
    const replica = new DeltaReplica(reader, query, 'ListingKey')
    await replica.poll()
    for (const [step, [statement, ...keys]] of Object.entries(steps)) {
      const { link } = replica
      await sql(statement)
      expect([step, ...summary(await follow(link, reader))]).toEqual([step, ...keys])
      await replica.poll()
      await expectEqual(replica, reader, query)
    }
    for (const untracked of [
      'CoListAgent',
      'ListAgent($expand=Office)',
      'Media($filter=Order lt 2),BuyerAgent',
    ])
      expect(await appliedOf(`Property?$expand=${untracked}`)).toEqual([undefined, undefined])
  })

  test.each(['Rooms', 'OpenHouse'])('DEL-08 a moved record of %s brings both of its listings', async set => {
    const keyField = set === 'Rooms' ? 'RoomKey' : 'OpenHouseKey'
    await given(listings(3), {
      [set]: [{ [keyField]: 'X', ListingKey: 'L001', ModificationTimestamp: TIME }],
    })
    const link = await linkOf('Property?$expand=Rooms,OpenHouses', readerOf('public'))
    await sql(`update "${set}" set "ListingKey" = 'L003'`)
    expect(summary(await follow(link, readerOf('public')))).toEqual(['L001', 'L003'])
  })

  /** Returns the applied preferences and the delta link. */
  async function appliedOf(query: string): Promise<readonly (string | undefined)[]> {
    const answer = await track(query)
    expect([query, answer.status], answer.text.slice(0, 300)).toEqual([query, 200])
    return [answer.headers['preference-applied'], deltaLinkOf(answer)]
  }

  test('DEL-10 $top, $skip, $orderby and $count when tracking', async () => {
    await given(listings(30, { ListPrice: 3 }))
    const replica = new DeltaReplica(
      market,
      'Property?$top=5&$count=true&$orderby=ListPrice desc',
      'ListingKey',
    )
    expect(await replica.poll()).toBe(6)
    expect(replica.records.size).toBe(30)
    expect(decodeURIComponent(replica.link)).not.toMatch(/\$(top|count|orderby|skip)/)
    for (let n = 1; n <= 20; n++) await patch(`L0${String(n).padStart(2, '0')}`, { ListPrice: 100 - n })
    const answer = await market.send(replica.link)
    expect(rowsOf(answer).map(row => row['ListingKey'])).toEqual(
      Array.from({ length: 20 }, (_, n) => `L0${String(n + 1).padStart(2, '0')}`),
    )
    expect(bodyOf(answer)).not.toHaveProperty(['@odata.count'])
    expect(await appliedOf('Property?$skip=10')).toEqual([undefined, undefined])
    const total = await startTestService({ kind, env: { TOP_IS_TOTAL: 'true' } })
    const limited = await total.send('/odata/Property?$top=5', { headers: TRACK_CHANGES })
    expect([limited.status, limited.headers['preference-applied']]).toEqual([200, undefined])
    const whole = await total.send('/odata/Property', { headers: TRACK_CHANGES })
    expect(deltaLinkOf(whole)).toBeDefined()
    await total.close()
  })

  test('DEL-11 options added to a delta link are refused, and formats are honoured', async () => {
    await given(listings(5))
    const link = await linkOf(`Property?$filter=TaxYear eq null`)
    await sql(`update "Property" set "ListPrice" = 8`)
    for (const added of [
      `$filter=City eq 'Waco'`,
      `$select=City`,
      `$top=3`,
      `$expand=Media`,
      `$orderby=City`,
      `$search=pool`,
      `$count=true`,
      `$skip=1`,
    ])
      expect([added, (await market.send(`${link}&${added}`)).status]).toEqual([added, 400])
    expect((await market.send(link.replace('$filter=TaxYear%20eq%20null&', ''))).status).toBe(400)
    expect(rowsOf(await market.send(`${link}&$format=json`))).toHaveLength(5)
    const paged = await market.send(link, { headers: { Prefer: 'maxpagesize=3' } })
    expect(paged.headers['preference-applied']).toBe('maxpagesize=3')
    expect([rowsOf(paged).length, deltaLinkOf(paged)]).toEqual([3, undefined])
    const rest = await market.send(nextLinkOf(paged) ?? '')
    expect([rowsOf(rest).length, nextLinkOf(rest)]).toEqual([2, undefined])
    for (const Accept of ['application/x-ndjson', 'text/csv'])
      expect((await market.send(link, { headers: { Accept } })).status).toBe(406)
    expect((await market.send(link.replace('/Property?', '/Property/$count?'))).status).toBe(501)
  })

  type TokenGrant = Parameters<typeof market.tokenFor>[0]
  const WRITER = { scopes: ['listings:read', 'listings:write'], memberKey: 'M1' } as const
  const GRANTS: Readonly<Record<string, TokenGrant>> = {
    public: { scopes: ['listings:read'], audience: 'public' },
    member: { scopes: ['listings:read'], audience: 'member' },
    staff: { scopes: ['listings:read'], audience: 'staff' },
    agent: { ...WRITER, audience: 'public' },
    'other agent': { ...WRITER, audience: 'public', memberKey: 'M2' },
    office: { ...WRITER, audience: 'public', officeKey: 'O1' },
    'agent for all': { ...WRITER, audience: 'public', scopes: [...WRITER.scopes, 'listings:write:any'] },
  }
  const bearer = (grant: TokenGrant) => ({ Authorization: `Bearer ${market.tokenFor(grant)}` })
  async function linkFor(grant: TokenGrant): Promise<string> {
    const answer = await market.send('/odata/Property', { headers: { ...TRACK_CHANGES, ...bearer(grant) } })
    return deltaLinkOf(answer) ?? ''
  }

  test('DEL-12 a delta link is 410 for a token with other rights', async () => {
    await given([OWNERS, { ...OWNERS, StandardStatus: 'Incomplete' }, OTHERS])
    const links = new Map<string, string>()
    for (const [name, grant] of Object.entries(GRANTS)) links.set(name, await linkFor(grant))
    await sql(`update "Property" set "TaxYear" = 2001`, `delete from "Property"`)
    const location = `${market.base}/odata/Property`
    for (const [maker, link] of links)
      for (const [user, grant] of Object.entries(GRANTS)) {
        const { status, headers, text } = await market.send(link, { headers: bearer(grant) })
        const answer = [maker, user, status, headers['location'], /L00\d/.test(text)]
        expect(answer).toEqual(
          maker === user ? [maker, user, 200, undefined, true] : [maker, user, 410, location, false],
        )
      }
    await given(listings(3))
    const page = await market.send('/odata/Property', {
      headers: { Prefer: 'track-changes, maxpagesize=2', ...bearer(GRANTS['public']) },
    })
    const next = await market.send(nextLinkOf(page) ?? '', { headers: bearer(GRANTS['staff']) })
    expect([next.status, next.headers['location']]).toEqual([410, location])
  })

  test('DEL-12 a renewed token and one with a scope that reads nothing follow the link', async () => {
    await given([
      OWNERS,
      { ...OWNERS, StandardStatus: 'Incomplete' },
      { ...OTHERS, InternetEntireListingDisplayYN: false },
    ])
    const link = await linkFor(GRANTS['agent'])
    await sql(`update "Property" set "TaxYear" = 2001`, `delete from "Property"`)
    const readAs = (grant: TokenGrant) =>
      market.send(link, { headers: bearer({ ...GRANTS['agent'], ...grant }) })
    const renewed = await readAs({ expiresIn: 99 })
    expect([renewed.status, ...summary(rowsOf(renewed))]).toEqual([200, 'deleted L001', 'deleted L002'])
    expect((await readAs({ scopes: [...WRITER.scopes, 'admin'] })).status).toBe(200)
    expect((await readAs({ scopes: ['listings:write'] })).status).toBe(403)
  })

  test('DEL-13 links that are too old, foreign or broken', async () => {
    await given([{ City: 'Austin' }, {}])
    const query = `Property?$filter=City eq 'Austin'&$select=City`
    const link = await linkOf(query)
    const token = link.slice(link.lastIndexOf('=') + 1)
    const flipped = `${token.slice(0, 9)}${token[9] === 'A' ? 'B' : 'A'}${token.slice(10)}`
    const broken = [
      link.replace(token, flipped),
      link.replace(token, token.slice(0, -2)),
      link.replace('/Property?', '/Member?').replace(/\$filter[^&]*&\$select=City&/, ''),
      `/odata/Media?$deltatoken=${token}`,
      `/odata/Property?$deltatoken=${token}`,
      `/odata/Property?$skiptoken=${token}`,
      `/odata/Property?$filter=City eq 'Austin'&$select=City,ListingKey&$deltatoken=${token}`,
    ]
    for (const wrong of broken) expect([wrong, (await market.send(wrong)).status]).toEqual([wrong, 400])
    const other = await startTestService({
      kind,
      env: { TOKEN_KEY: 'another key of at least thirty-two bytes' },
    })
    expect((await other.send(link.replace(market.base, ''))).status).toBe(400)
    await other.close()
    expect((await market.send(link)).status).toBe(200)

    await remove('L001')
    await patch('L002', { ListPrice: 3 })
    const expectGone = async () => {
      const gone = await market.send(link)
      expect([gone.status, gone.text]).toEqual([410, expect.stringContaining('"4010"')])
      const location = String(gone.headers['location'])
      expect(decodeURIComponent(location)).toBe(`${market.base}/odata/${query}`)
      const again = await market.send(location, { headers: TRACK_CHANGES })
      expect(await follow(deltaLinkOf(again) ?? '')).toEqual([])
    }
    await sql(`update "EntityEvent" set "EventTimestamp" = "EventTimestamp" - interval '2 days'`)
    await sql(`select prune_log(now() - interval '1 day', 1000000, 0)`)
    await expectGone()
    await sql('truncate "EntityEvent"')
    await expectGone()
  })

  test('DEL-13 a link begins at the end of a pruned log whose last events are deletions', async () => {
    await given(listings(3))
    await remove('L003')
    await sql(`update "EntityEvent" set "EventTimestamp" = "EventTimestamp" - interval '2 days'`)
    await sql(`select prune_log(now() - interval '1 day', 1000000, 0)`)
    const link = await linkOf('Property')
    expect(await follow(link)).toEqual([])
    await remove('L002')
    expect(summary(await follow(link))).toEqual(['deleted L002'])
  })

  test('DEL-15 $deltatoken=latest is a link without records, while others write', async () => {
    await given(listings(20))
    const query = `Property?$filter=City eq 'Austin'&$expand=Media`
    const reader = readerOf('public')
    const writing = Promise.all(
      [1, 2, 3, 4].map(async n => {
        for (let year = 2000; year < 2010; year++) await patch(`L00${n}`, { TaxYear: year })
      }),
    )
    const answer = await reader.send(`/odata/${query}&$deltatoken=latest`, { headers: TRACK_CHANGES })
    expect(answer.headers['preference-applied']).toBe('odata.track-changes')
    expect(rowsOf(answer)).toEqual([])
    const copy = await reader.rows(query)
    await writing
    const replica = new DeltaReplica(reader, query, 'ListingKey')
    for (const row of [...copy, ...(await follow(deltaLinkOf(answer) ?? '', reader))])
      replica.records.set(summaryOf(row), row)
    await expectEqual(replica, reader, query)
  })

  test('DEL-15 options beside $deltatoken=latest', async () => {
    const reader = readerOf('public')
    const latest = (rest: string) => reader.send(`/odata/Property?${rest}`)
    const windowed = await latest('$top=10&$count=true&$deltatoken=latest')
    expect([rowsOf(windowed).length, deltaLinkOf(windowed)]).toEqual([
      0,
      expect.stringMatching(/Property\?\$deltatoken=/),
    ])
    expect(windowed.headers['preference-applied']).toBeUndefined()
    for (const wrong of [
      '$deltatoken=LATEST',
      '$deltatoken=',
      '$deltatoken=oldest',
      '$skiptoken=x&$deltatoken=latest',
    ])
      expect([wrong, (await latest(wrong)).status]).toEqual([wrong, 400])
    expect((await latest(`$filter=ListAgent/MemberLastName eq 'Lee'&$deltatoken=latest`)).status).toBe(501)
  })

  test('DEL-19 filters on related records', async () => {
    await given([{ PublicRemarks: 'with a pool' }, {}, {}], { Media: [1, 2].map(n => photo('L002', n)) })
    const reader = readerOf('public')
    const steps = [
      [`Property?$filter=Media/any(m:m/MediaCategory eq 'Video')`, `update "Media" set "MediaCategory" = 'Video' where "MediaKey" = 'L002-P1'`, 'L002'],
      [`Property?$filter=Media/any(m:m/MediaCategory eq 'Video')`, `update "Media" set "MediaCategory" = 'Photo' where "MediaKey" = 'L002-P1'`, 'changed L002'],
      [`Property?$filter=Media/$count gt 1`, `delete from "Media" where "MediaKey" = 'L002-P1'`, 'changed L002'],
      [`Property?$search=pool`, `update "Property" set "PublicRemarks" = 'with a garden' where "ListingKey" = 'L001'`, 'changed L001'],
      [`Property?$search=pool`, `update "Property" set "PublicRemarks" = 'one pool' where "ListingKey" = 'L003'`, 'L003'],
    ] as const // biome-ignore format: one step a line
    for (const [query, statement, expected] of steps) {
      const link = await linkOf(query, reader)
      await sql(statement)
      expect([query, ...summary(await follow(link, reader))]).toEqual([query, expected])
    }
    for (const untracked of [
      `$filter=ListAgent/MemberLastName eq 'Lee'`,
      '$orderby=ListAgent/MemberLastName',
      '$filter=ModificationTimestamp lt now()',
      `$expand=Media($filter=ModificationTimestamp lt now())`,
    ])
      expect(await appliedOf(`Property?${untracked}`)).toEqual([undefined, undefined])
  })

  test('DEL-20 a preference is never an error where tracking makes no sense', async () => {
    await given(listings(2))
    const refused = [
      `Property('L001')`,
      `Property('L001')/Media`,
      'Property?$apply=groupby((City))',
      'Property/$ref',
      'EntityEvent',
      '$metadata',
      'Property/$count',
    ]
    for (const target of refused) {
      const answer = await track(target)
      expect([target, answer.status, answer.headers['preference-applied'], answer.text]).toEqual([
        target, 200, undefined, expect.not.stringContaining('deltaLink'),
      ]) // biome-ignore format: one line
    }
    const works = [
      `Lookup?$filter=LookupName eq 'StandardStatus'`,
      'Member',
      'PropertyRooms',
      'Property?$compute=length(City) as Size&$select=ListingKey,Size',
      `Property/$filter(@f)?@f=City eq 'Austin'`,
      'Property?$apply=filter(TaxYear eq null)',
    ]
    for (const target of works) {
      const link = await linkOf(target)
      await patch('L001', { ListPrice: 1 })
      const rows = await follow(link)
      expect([target, rows.length]).toEqual([
        target,
        target.startsWith('Property?') || target.startsWith('Property/') ? 1 : 0,
      ])
    }
    const posted = await market.send('/odata/Property/$query', {
      method: 'POST', rawBody: `$filter=City eq 'Austin'`, headers: { 'Content-Type': 'text/plain', ...TRACK_CHANGES },
    }) // biome-ignore format: one line
    await patch('L001', { City: 'Waco' })
    expect(summary(await follow(deltaLinkOf(posted) ?? ''))).toEqual(['changed L001'])
    const batch = await market.send('/odata/$batch', {
      method: 'POST',
      headers: TRACK_CHANGES,
      body: {
        requests: [
          { id: '1', method: 'GET', url: 'Property', headers: TRACK_CHANGES },
          { id: '2', method: 'GET', url: 'Property' },
        ],
      },
    })
    const { responses } = batch.json as { readonly responses: readonly { readonly body: Row }[] }
    expect(responses.map(({ body }) => typeof body['@odata.deltaLink'])).toEqual(['string', 'undefined'])
    for (const [method, target] of [['POST', 'Property'], ['PATCH', `Property('L001')`]] as const) {
      const body = method === 'POST' ? { ...OWNERS, ListOfficeKey: 'M1', PropertyType: 'Residential', StreetNumber: '1', StreetName: 'Elm', City: 'Waco' } : { ListPrice: 2, ChangedByMemberKey: 'M1' }
      const answer = await market.send(`/odata/${target}`, { method, body, headers: TRACK_CHANGES })
      expect([answer.status < 300, answer.headers['preference-applied']]).toEqual([true, undefined])
    } // biome-ignore format: one line
  })

  test('DEL-21 deltas of media, rooms and open houses follow their listing', async () => {
    await given([OWNERS, { ...OWNERS, StandardStatus: 'Incomplete' }], {
      Media: [...[1, 2, 3].map(n => photo('L001', n)), ...[1, 2].map(n => photo('L002', n)), { ...photo('M1', 1), ResourceName: 'Member' }],
      Rooms: ['L001', 'L002'].map(key => ({ RoomKey: `${key}-R`, ListingKey: key, ModificationTimestamp: TIME })),
      OpenHouse: ['L001', 'L002'].map(key => ({ OpenHouseKey: `${key}-H`, ListingKey: key, ModificationTimestamp: TIME })),
    }) // biome-ignore format: one set a line
    const reader = readerOf('public')
    const sets = { Media: 'MediaKey', Rooms: 'RoomKey', OpenHouse: 'OpenHouseKey' }
    const links = new Map<string, string>()
    for (const set of Object.keys(sets)) links.set(set, await linkOf(set, reader))
    const changes = async () => {
      const found: string[] = []
      for (const [set, keyField] of Object.entries(sets)) {
        const answer = await reader.send(links.get(set) ?? '')
        found.push(...summary(rowsOf(answer), keyField))
        links.set(set, deltaLinkOf(answer) ?? '')
      }
      return found
    }
    const childrenOf = (key: string, count: number, prefix = '') =>
      [...Array.from({ length: count }, (_, n) => `P${n + 1}`), 'R', 'H'].map(
        child => `${prefix}${key}-${child}`,
      )
    await patch('L001', { InternetEntireListingDisplayYN: false })
    expect(await changes()).toEqual(childrenOf('L001', 3, 'changed '))
    await patch('L001', { ListPrice: 5 })
    expect(await changes()).toEqual([])
    await patch('L001', { InternetEntireListingDisplayYN: true })
    await patch('L002', { StandardStatus: 'Active' })
    expect((await changes()).sort()).toEqual([...childrenOf('L001', 3), ...childrenOf('L002', 2)].sort())
    await remove('L001')
    expect(await changes()).toEqual(childrenOf('L001', 3, 'deleted '))
    await sql(`update "Media" set "Order" = 7 where "MediaKey" = 'M1-P1'`)
    expect(await changes()).toEqual(['M1-P1'])
  })

  test('DEL-23 a link can always be followed', async () => {
    await given(listings(3))
    const filterOf = (length: number) => `City ne '${'x'.repeat(length)}'`
    const { maxQueryLength } = market.config
    for (const length of [100, maxQueryLength - 900, maxQueryLength - 300]) {
      const answer = await track(`Property?$filter=${filterOf(length)}`)
      expect(answer.status).toBe(200)
      const link = deltaLinkOf(answer)
      expect([length, link !== undefined]).toEqual([length, length < maxQueryLength - 800])
      expect(answer.headers['preference-applied'] !== undefined).toBe(link !== undefined)
      if (link === undefined) continue
      await patch('L001', { ListPrice: length })
      expect(summary(await follow(link))).toEqual(['L001'])
    }
    const posted = await market.send('/odata/Property/$query', {
      method: 'POST', rawBody: `$filter=${filterOf(60_000)}`, headers: { 'Content-Type': 'text/plain', ...TRACK_CHANGES },
    }) // biome-ignore format: one line
    expect([posted.status, posted.headers['preference-applied'], deltaLinkOf(posted)]).toEqual([
      200,
      undefined,
      undefined,
    ])
  })

  test('DEL-24 a record occurs once in a page', async () => {
    await given(listings(9), { Media: [1, 2, 3].map(n => photo('L007', n)) })
    const reader = readerOf('public')
    const link = await linkOf('Property?$expand=Media', reader)
    for (let n = 1; n <= 30; n++) await patch('L007', { ListPrice: n })
    await sql(`update "Media" set "Order" = 5 where "MediaKey" in ('L007-P1', 'L007-P2')`)
    expect((await follow(link, reader)).map(row => [row['ListingKey'], row['ListPrice']])).toEqual([
      ['L007', 30],
    ])
  })

  test('DEL-25 metadata levels and formats of deltas', async () => {
    await given(listings(3))
    const query = 'Property?$select=City,ListPrice,LastEventSequence&$count=true'
    const link = await linkOf(query)
    await patch('L001', { ListPrice: 12.5 })
    await remove('L002')
    const read = async (Accept: string) => {
      const answer = await market.send(link, { headers: { Accept } })
      const [changed = {}, removed = {}] = rowsOf(answer)
      expect([keyOfId(changed['@odata.id']), keyOfId(removed['@odata.id'])]).toEqual(['L001', 'L002'])
      expect(removed['@removed']).toEqual({ reason: 'deleted' })
      expect(deltaLinkOf(answer)).toMatch(/deltatoken/)
      return { changed, removed, answer }
    }
    const none = await read('application/json;odata.metadata=none')
    expect(bodyOf(none.answer)).not.toHaveProperty(['@odata.context'])
    const minimal = await read('application/json')
    expect(typeof minimal.changed['LastEventSequence']).toBe('number')
    const full = await read('application/json;odata.metadata=full')
    expect(String(full.removed['@odata.context'])).toMatch(/\$metadata#Property\/\$deletedEntity$/)
    const texts = await read('application/json;IEEE754Compatible=true')
    expect(texts.changed).toMatchObject({
      ListPrice: '12.5',
      LastEventSequence: expect.stringMatching(/^\d+$/),
    })
    const old = await market.send(link, { headers: { 'OData-MaxVersion': '4.0' } })
    expect(rowsOf(old)[1]).toEqual({
      '@odata.context': `${market.base}/odata/$metadata#Property/$deletedEntity`,
      id: `${market.base}/odata/Property('L002')`,
      reason: 'deleted',
    })
    const expanded = await market.send('/odata/Property?$expand=Media', {
      headers: { ...TRACK_CHANGES, 'OData-MaxVersion': '4.0' },
    })
    expect([expanded.status, deltaLinkOf(expanded)]).toEqual([200, undefined])
    const withMedia = await linkOf('Property?$expand=Media')
    expect((await market.send(withMedia, { headers: { 'OData-MaxVersion': '4.0' } })).status).toBe(400)
    await patch('L001', { ListPrice: null })
    const omitting = await market.send(link, { headers: { Prefer: 'omit-values=nulls' } })
    expect([rowsOf(omitting)[1]?.['ListPrice'], omitting.headers['preference-applied']]).toEqual([
      null,
      undefined,
    ])
  })
})
