import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestResponse } from '../support/app.js'
import { bodyOf, type Row } from '../support/assertions.js'
import { ChangeLogReplica, PositionReplica, TimestampReplica } from '../support/clients/replica.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import { importContent } from '../support/import-file.js'
import { startTestService, type TestService } from '../support/test-service.js'

const CHANGES = 500
const CLIENTS = 8
const COLUMNS = 'ListingKey,City,ModificationTimestamp,LastEventSequence'
const HOLD_S = 0.05
const PAUSE_MS = 100

describe.each(DATABASE_KINDS)('many concurrent clients on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, rows, read, patch }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, rows, read, patch } = market)
  })
  afterAll(() => market.close())

  /** Sends a change, and repeats it after Retry-After while the service is busy. */
  const persist = async (send: () => Promise<TestResponse>): Promise<TestResponse> => {
    for (;;) {
      const answer = await send()
      if (answer.status !== 503) return answer
      await wait(500)
    }
  }

  test('none of several concurrent changes of one record is lost', { timeout: 60_000 }, async () => {
    await given([{}])
    // One field for each, and one that all of them change.
    const names = [
      'StreetDirPrefix',
      'StreetSuffix',
      'UnitNumber',
      'CountyOrParish',
      'PostalCode',
      'SubdivisionName',
      'Directions',
      'ParcelNumber',
    ]
    const numbers = [
      'ListPrice',
      'TaxYear',
      'YearBuilt',
      'BedroomsTotal',
      'BathroomsFull',
      'BathroomsHalf',
      'LivingArea',
      'LotSizeArea',
      'GarageSpaces',
    ]
    const bodies: readonly Row[] = [
      ...names.map(name => ({ [name]: 'x' })),
      ...numbers.map(name => ({ [name]: 7 })),
    ]
    const answers = await Promise.all(
      bodies.map((body, i) => persist(() => patch('L001', { ...body, StreetNumber: String(i) }))),
    )
    expect(answers.map(answer => answer.status)).toEqual(bodies.map(() => 200))
    expect(new Set(answers.map(answer => answer.headers['etag'])).size).toBe(bodies.length)
    expect(await read('L001')).toMatchObject(Object.assign({}, ...bodies))
  })

  test('REP-01, REP2-07 pollers by time, log and position end with an equal copy of what many clients have changed', {
    timeout: 180_000,
  }, async () => {
    await given(Array.from({ length: 40 }, () => ({})))
    // Pollers wait while the service is busy, too.
    const send: typeof market.send = (...request) => persist(() => market.send(...request))
    const [byTime, byLog] = [new TimestampReplica({ send }), new ChangeLogReplica({ send })]
    const byPosition = new PositionReplica({ send }, COLUMNS)
    const removed = new Set<string>()
    let left = CHANGES
    const change = async (n: number): Promise<void> => {
      const key = `L${String((n % 40) + 1).padStart(3, '0')}`
      const isRemoved = n % 60 === 7 && n % 25 !== 0
      if (isRemoved) removed.add(key)
      const { status } = await persist(() => {
        if (n % 25 === 0) return market.post({ ...DRAFT, City: `New ${n}` })
        return isRemoved ? market.remove(key) : patch(key, { City: `City ${n}` })
      })
      expect(n % 25 === 0 ? [201] : isRemoved ? [204, 404] : [200, 404]).toContain(status)
    }
    const client = async () => {
      while (left > 0) await change(left--)
    }
    // Statements of other programs, whose transactions stay open for a time, and files. The embedded database has one connection.
    const sqlWriter = async () => {
      for (let n = 0; left > 0; n++)
        await market.database
          .withClient(async client => {
            await client.query('begin')
            await client.query(`update "Property" set "City" = $1 where "ListingKey" in ('L002', 'L003')`, [
              `SQL ${n}`,
            ])
            await client.query(`select pg_sleep(${HOLD_S})`)
            await client.query('commit')
          })
          .then(() => wait(PAUSE_MS))
    }
    const importer = async () => {
      for (let n = 0; left > 0; n++)
        await importContent(market.database, {
          Property: [n, n + 1].map(i => ({ ListingKey: `I${i % 5}`, City: `File ${n}` })),
        }).then(() => wait(PAUSE_MS))
    }
    const poll = async (poller: TimestampReplica | ChangeLogReplica | PositionReplica) => {
      while (left > 0) await poller.poll()
    }
    const pollers = [byTime, byLog, byPosition]
    await Promise.all([
      ...Array.from({ length: CLIENTS }, client),
      ...(kind === 'server' ? [sqlWriter(), importer()] : []),
      ...pollers.map(poll),
    ])
    await Promise.all(pollers.map(poller => poller.poll()))
    const positioned = await rows(`$select=${COLUMNS}`)
    const isThere = (row: Row) => !removed.has(String(row['ListingKey']))
    expect(byPosition.records().filter(isThere)).toEqual(positioned)
    const positions = positioned.map(row => String(row['LastEventSequence']))
    expect(new Set(positions).size).toBe(positions.length)
    const everything = await rows('$select=ListingKey,City,ModificationTimestamp')
    expect(byLog.records()).toEqual(everything)
    // Imported records can have the time of others, and a time before the last one that a poller has read.
    const isWritten = (row: Row) => !String(row['ListingKey']).startsWith('I')
    const collection = everything.filter(isWritten)
    // Polling by time does not find deletions.
    expect(byTime.records().filter(row => isThere(row) && isWritten(row))).toEqual(collection)
    const times = collection.map(row => String(row['ModificationTimestamp']))
    expect(new Set(times).size).toBe(times.length)
    expect(bodyOf(await market.list('$count=true&$top=0'))['@odata.count']).toBe(everything.length)
  })
})
