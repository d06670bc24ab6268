import { execFile } from 'node:child_process'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadRecords } from '../../src/data/import/load-records.js'
import { generateSampleBatches } from '../../src/sample/market.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

describe.each(DATABASE_KINDS)('npm run prune on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await loadRecords(database, generateSampleBatches({ listings: 3 }), { areNew: true })
  })
  afterAll(() => database?.close())

  const prune = (): Promise<readonly [code: unknown, out: string]> => {
    const { dataDir, databaseUrl = '' } = database.settings
    const env = { ...process.env, DATA_DIR: dataDir, DATABASE_URL: databaseUrl, LOG_KEEP_DAYS: '30' }
    const program = ['--import', './src/typescript.mjs', 'src/cli/prune.ts']
    return new Promise(resolve => {
      execFile(process.execPath, program, { env }, (error, out) => resolve([error?.code ?? 0, out]))
    })
  }
  /** The events of listings, each counted once. */
  const eventsOf = async (key: string): Promise<number> =>
    database.prisma.entityEvent.count({
      where: { ResourceRecordKey: key, ResourceName: 'Property', EarlierAudiences: { isEmpty: true } },
    })

  test('drops old events that no reader needs, while the service has the database open', async () => {
    const [changed = '', deleted = ''] = (
      await database.prisma.property.findMany({
        select: { ListingKey: true },
        orderBy: { ListingKey: 'asc' },
      })
    ).map(({ ListingKey }) => ListingKey)
    for (const TaxYear of [2001, 2002, 2003])
      await database.prisma.property.update({ where: { ListingKey: changed }, data: { TaxYear } })
    await database.prisma.property.update({ where: { ListingKey: deleted }, data: { TaxYear: 2001 } })
    await database.prisma.property.delete({ where: { ListingKey: deleted } })
    await database.prisma.property.update({ where: { ListingKey: changed }, data: { TaxYear: 2004 } })
    expect((await prune())[1]).toMatch(/^dropped 0 events .* and 0 of deleted records/)
    await database.prisma
      .$executeRaw`update "EntityEvent" set "EventTimestamp" = "EventTimestamp" - interval '31 days'`
    const before = [await eventsOf(changed), await eventsOf(deleted)]
    expect(before[0]).toBeGreaterThan(2)
    const [code, out] = await prune()
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^dropped [1-9]\d* events .* and [1-9]\d* of deleted/),
    ])
    expect([await eventsOf(changed), await eventsOf(deleted)]).toEqual([1, 0])
  })
})
