import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestResponse } from '../support/app.js'
import { bodyOf, type Row } from '../support/assertions.js'
import { ChangeLogReplica, TimestampReplica } from '../support/clients/replica.js'
import { DATABASE_KINDS } from '../support/database.js'
import { DRAFT } from '../support/drafts.js'
import { startTestService, type TestService } from '../support/test-service.js'

const CHANGES = 500
const CLIENTS = 8

describe.each(DATABASE_KINDS)('many clients at once on the %s database', kind => {
  let market: Awaited<ReturnType<typeof startTestService>>
  let { given, rows, read, patch }: TestService = {} as TestService // set before the first test
  beforeAll(async () => {
    market = await startTestService({ kind })
    ;({ given, rows, read, patch } = market)
  })
  afterAll(() => market.close())

  /** Sends a change, and repeats it after Retry-After while the service is busy. */
  const persist = async (body: Row): Promise<TestResponse> => {
    for (;;) {
      const answer = await patch('L001', body)
      if (answer.status !== 503) return answer
      await wait(500)
    }
  }

  test('of changes of one record at the same time none is lost', { timeout: 60_000 }, async () => {
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
    const answers = await Promise.all(bodies.map((body, i) => persist({ ...body, StreetNumber: String(i) })))
    expect(answers.map(answer => answer.status)).toEqual(bodies.map(() => 200))
    expect(new Set(answers.map(answer => answer.headers['etag'])).size).toBe(bodies.length)
    expect(await read('L001')).toMatchObject(Object.assign({}, ...bodies))
  })

  test('REP-01 pollers end with an equal copy of what many clients have changed', {
    timeout: 180_000,
  }, async () => {
    await given(Array.from({ length: 40 }, () => ({})))
    const [byTime, byLog] = [new TimestampReplica(market), new ChangeLogReplica(market)]
    const removed = new Set<string>()
    let left = CHANGES
    const change = async (n: number): Promise<void> => {
      const key = `L${String((n % 40) + 1).padStart(3, '0')}`
      if (n % 25 === 0) expect((await market.post({ ...DRAFT, City: `New ${n}` })).status).toBe(201)
      else if (n % 60 === 7)
        removed.add(key) && expect([204, 404]).toContain((await market.remove(key)).status)
      else expect([200, 404]).toContain((await patch(key, { City: `City ${n}` })).status)
    }
    const client = async () => {
      while (left > 0) await change(left--)
    }
    const poll = async (poller: TimestampReplica | ChangeLogReplica) => {
      while (left > 0) await poller.poll()
    }
    await Promise.all([...Array.from({ length: CLIENTS }, client), poll(byTime), poll(byLog)])
    await Promise.all([byTime.poll(), byLog.poll()])
    const collection = await rows('$select=ListingKey,City,ModificationTimestamp')
    expect(byLog.records()).toEqual(collection)
    // Polling by time does not find deletions.
    expect(byTime.records().filter(row => !removed.has(String(row['ListingKey'])))).toEqual(collection)
    const times = collection.map(row => String(row['ModificationTimestamp']))
    expect(new Set(times).size).toBe(times.length)
    expect(bodyOf(await market.list('$count=true&$top=0'))['@odata.count']).toBe(collection.length)
  })
})
