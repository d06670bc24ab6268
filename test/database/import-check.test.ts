import { randomBytes } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { FileRefusedError } from '../../src/data/import/import.js'
import { RecordRefusedError } from '../../src/data/import/load-records.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { importContent, runImportCommand } from '../support/import-file.js'

/** Bytes of a text in Windows-1252, as far as the tests need them. */
const toWindows1252 = (text: string): Buffer =>
  Buffer.from([...text].map(letter => ({ '€': 0x80, '’': 0x92 })[letter] ?? letter.codePointAt(0) ?? 0))

const FRENCH =
  '{"Property":[\n{"ListingKey":"F1","City":"Vail"},\n{"ListingKey":"F2","City":"Montréal","PublicRemarks":"l’été: 5 €"}]}'

/** Four records with faults between two good ones. */
const FOUR_FAULTS = `{"Member":[{"MemberKey":"M1"}],
"Property":[
{"ListingKey":"A","City":"Vail"},
{"ListingKey":"B","ListPrice":"cheap","TaxYear":2020.5},
{"City":"Vail"},
{"ListingKey":"D","Media":[{"MediaKey":"D1","Order":"first"}]},
{"ListingKey":"E","City":"Vail",},
{"ListingKey":"F","City":"Vail"}]}`
const FAULTS = [
  "Property[1] 'B' ListPrice: must be a decimal number, not 'cheap' (line 4, byte 80)",
  "Property[1] 'B' TaxYear: must be a 32-bit integer, not 2020.5 (line 4, byte 80)",
  'Property[2] ListingKey: a key is required (line 5, byte 137)',
  "Property[3] 'D' Media[0] 'D1' Order: must be a 32-bit integer, not 'first' (line 6, byte 154)",
  'Property[4]: is not JSON: expected a string in double quotes (line 7, byte 250)',
]

describe.each(DATABASE_KINDS)('the check of a file before an import, on the %s database', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database?.close())
  afterEach(async () => {
    await database.withClient(client => client.query('truncate "Property", "Member", "Office" cascade'))
  })

  const load = (content: unknown, options = {}) => importContent(database, content, options)
  const faultsOf = (content: unknown, options = {}): Promise<readonly string[]> =>
    load(content, options).then(
      () => [],
      (error: unknown) => {
        if (error instanceof FileRefusedError) return error.result.faults
        throw error
      },
    )
  const warningsOf = async (content: unknown) =>
    (await load(content)).result.warnings.map(({ text, cases, first }) => [cases, text, first])
  const listings = () => database.prisma.property.findMany({ orderBy: { ListingKey: 'asc' } })
  const eventCount = () => database.prisma.entityEvent.count()

  test('NEW-28 refuses a file in Windows-1252 with the records named, and imports it with --encoding', async () => {
    const file = toWindows1252(FRENCH)
    const hint =
      'contains bytes that are not valid UTF-8; use --encoding windows-1252 if that is its encoding'
    expect(await faultsOf(file)).toEqual([
      `Property[1] 'F2' City: ${hint} (line 3, byte 50)`,
      `Property[1] 'F2' PublicRemarks: ${hint} (line 3, byte 50)`,
    ])
    expect(await listings()).toEqual([])
    await load(file, { encoding: 'windows-1252' })
    expect(await listings()).toMatchObject([
      { City: 'Vail' },
      { City: 'Montréal', PublicRemarks: 'l’été: 5 €' },
    ])
  })

  test('refuses a file that is not in the encoding of --encoding', async () => {
    const options = { encoding: 'windows-1252' } as const
    const hint = 'is UTF-8, not Windows-1252; omit --encoding'
    expect(await faultsOf(FRENCH, options)).toEqual([
      `Property[1] 'F2' City: ${hint} (line 3, byte 50)`,
      `Property[1] 'F2' PublicRemarks: ${hint} (line 3, byte 50)`,
    ])
    expect(await faultsOf(`\uFEFF{"Member":[]}`, options)).toEqual([
      'The file: is UTF-8, not Windows-1252; omit --encoding (line 1, byte 1)',
    ])
    const undefinedByte = Buffer.from('{"Property":[{"ListingKey":"X","City":"a\x81"}]}', 'latin1')
    expect(await faultsOf(undefinedByte, options)).toEqual([
      "Property[0] 'X' City: contains bytes that are undefined in Windows-1252 (line 1, byte 14)",
    ])
  })

  test('names bytes outside of the fields too', async () => {
    const file = Buffer.from('{"Property":[{"ListingKey":"X","@odata.é":1}]}', 'latin1')
    expect(await faultsOf(file)).toEqual([
      expect.stringMatching(/^Property\[0\]: contains bytes that are not valid UTF-8/),
    ])
  })

  test('reports every fault in one run, with set, key, place, field and reason, and imports nothing', async () => {
    expect(await faultsOf(FOUR_FAULTS)).toEqual(FAULTS)
    expect([await listings(), await database.prisma.member.count()]).toEqual([[], 0])
  })

  test('describes up to --max-faults faults, and counts the others', async () => {
    const error: unknown = await load(FOUR_FAULTS, { maxFaults: 2 }).catch((e: unknown) => e)
    expect(error instanceof FileRefusedError && error.message.split('\n')).toEqual([
      ...FAULTS.slice(0, 2),
      'and 3 more faults',
    ])
  })

  test('--skip-faults omits records with faults, and their nested records', async () => {
    const { result } = await load(FOUR_FAULTS, { skipFaults: true })
    expect([result.faults, result.leftOut]).toEqual([FAULTS, 4])
    expect((await listings()).map(({ ListingKey }) => ListingKey)).toEqual(['A', 'F'])
    expect(await database.prisma.media.count()).toBe(0)
  })

  test('with --dry-run writes nothing', async () => {
    const before = await eventCount()
    const { result, counts } = await load({ Property: [{ ListingKey: 'A' }] }, { isDryRun: true })
    expect([[...result.counts], counts]).toEqual([[['Property', 1]], {}])
    expect([await listings(), await eventCount()]).toEqual([[], before])
    expect(await faultsOf(FOUR_FAULTS, { isDryRun: true })).toEqual(FAULTS)
  })

  const doubtful = {
    Property: [
      { ListingKey: 'A', StandardStatus: 'Sould', ListPrice: -5, PreviousListPrice: '-1', Longitude: -105 },
      { ListingKey: 'B', StandardStatus: 'Closed', CloseDate: '2204-05-01' },
      { ListingKey: 'C', PublicRemarks: 'caf\uFFFD', ExpirationDate: '9999-12-31' },
      { ListingKey: 'B', StandardStatus: 'Active' },
    ],
  }

  test('imports doubtful values, with warnings counted by kind', async () => {
    expect(await warningsOf(doubtful)).toEqual([
      [
        2,
        'the StandardStatus is not one of the service',
        "Property[0] 'A' StandardStatus: 'Sould' is not a status (line 1, byte 14)",
      ],
      [
        2,
        'a price, fee or amount is negative',
        "Property[0] 'A' ListPrice: -5 is negative (line 1, byte 14)",
      ],
      [
        2,
        'a date is more than ten years ahead',
        "Property[1] 'B' CloseDate: 2204-05-01 is more than 10 years ahead (line 1, byte 115)",
      ],
      [
        1,
        'a text contains U+FFFD: characters were lost before the file was written',
        "Property[2] 'C' PublicRemarks: contains U+FFFD (line 1, byte 185)",
      ],
      [
        1,
        'a key occurs more than once in the file; the last record counts',
        "Property[3] 'B': an earlier record in the file has the same key (line 1, byte 259)",
      ],
    ])
    expect((await listings()).map(({ StandardStatus }) => StandardStatus)).toEqual(['Sould', 'Active', null])
  })

  test('with --strict treats warnings as faults', async () => {
    expect(await faultsOf(doubtful, { isStrict: true })).toHaveLength(7)
    expect(await listings()).toEqual([])
  })

  test('replaces a missing time, and one that is ahead of the clock, by the time of the clock', async () => {
    const start = Date.now()
    const warnings = await warningsOf({
      Property: [
        { ListingKey: 'A', ModificationTimestamp: new Date(start + 3_600_000).toISOString() },
        { ListingKey: 'B', Media: [{ MediaKey: 'B1' }] },
        { ListingKey: 'C', ModificationTimestamp: '2020-01-01T00:00:00.9999999Z' },
        { ListingKey: 'D', ModificationTimestamp: '2199-01-01T00:00:00Z' },
      ],
    })
    expect(warnings.map(([cases, text]) => [cases, text])).toEqual([
      [1, 'the ModificationTimestamp is later than the system clock, so the time of the import is stored'],
      [1, 'a date is more than ten years ahead'],
    ])
    const [later, none, earlier, farFuture] = await listings()
    expect(farFuture?.ModificationTimestamp.toISOString()).toBe('2199-01-01T00:00:00.000Z')
    const [media] = await database.prisma.media.findMany()
    for (const record of [later, none, media]) {
      const time = record?.ModificationTimestamp?.getTime() ?? 0
      expect(time).toBeGreaterThanOrEqual(start)
      expect(time).toBeLessThan(Date.now() + 10_000)
    }
    // Digits beyond milliseconds are truncated, not rounded.
    expect(earlier?.ModificationTimestamp.toISOString()).toBe('2020-01-01T00:00:00.999Z')
  })

  test('refuses rooms and open houses of a listing that is neither in the file nor stored', async () => {
    await load({ Property: [{ ListingKey: 'STORED' }] })
    const file = {
      Rooms: ['STORED', 'A', 'B', 'nowhere'].map(key => ({ RoomKey: `R${key}`, ListingKey: key })),
      OpenHouse: [{ OpenHouseKey: 'O' }],
      Property: [{ ListingKey: 'A' }, { ListingKey: 'B', TaxYear: 'x' }],
    }
    expect((await faultsOf(file)).map(fault => fault.replace(/ \(line.*/, ''))).toEqual([
      "OpenHouse[0] 'O' ListingKey: a value is required",
      "Property[1] 'B' TaxYear: must be a 32-bit integer, not 'x'",
      "Rooms[2] 'RB' ListingKey: there is no Property 'B'",
      "Rooms[3] 'Rnowhere' ListingKey: there is no Property 'nowhere'",
    ])
    await load(file, { skipFaults: true })
    expect((await database.prisma.rooms.findMany()).map(({ RoomKey }) => RoomKey).sort()).toEqual([
      'RA',
      'RSTORED',
    ])
  })

  test('refuses values that the columns or their indexes cannot hold', async () => {
    const file = {
      Property: [
        { ListingKey: 'A', City: randomBytes(4000).toString('hex'), StreetName: 'x'.repeat(5000) },
        { ListingKey: 'B', OnMarketTimestamp: '0001-01-01T00:00:00+14:00' },
        { ListingKey: 'C', OnMarketTimestamp: '9999-12-31T23:59:59-14:00' },
      ],
    }
    expect((await faultsOf(file)).map(fault => fault.replace(/ \(line.*/, ''))).toEqual([
      "Property[0] 'A' City: must have at most 2704 bytes when compressed, because it is indexed",
      "Property[1] 'B' OnMarketTimestamp: must be a timestamp (YYYY-MM-DDThh:mm:ss.sssZ), not '0001-01-01T00:00:00+14:00'",
      "Property[2] 'C' OnMarketTimestamp: must be a timestamp (YYYY-MM-DDThh:mm:ss.sssZ), not '9999-12-31T23:59:59-14:00'",
    ])
  })

  /** More words than a search text can contain, which the check does not detect. */
  const words = Array.from({ length: 100_000 }, (_, i) => `word${i}`).join(' ')
  const refused = {
    Property: [
      ...Array.from({ length: 30 }, (_, i) => ({ ListingKey: `G${i}` })),
      { ListingKey: 'H', PublicRemarks: words },
      { ListingKey: 'I' },
    ],
  }

  test('a value that the database refuses is reported, and its record is not stored', async () => {
    await expect(load(refused)).rejects.toThrow(RecordRefusedError)
    await expect(load(refused)).rejects.toThrow(/^Property 'H': the database rejected it: /)
    expect(await database.prisma.property.count({ where: { ListingKey: 'H' } })).toBe(0)
    const { result } = await load(refused, { skipFaults: true })
    expect([result.leftOut, result.faults]).toEqual([1, [expect.stringMatching(/^Property 'H': /)]])
    expect(await database.prisma.property.count()).toBe(31)
  })

  test('the command lists faults and warnings, and exits with 1 if nothing was imported', async () => {
    const [code, out, err] = await runImportCommand(database, FOUR_FAULTS, '--max-faults', '1')
    expect([code, out, err]).toEqual([
      1,
      '',
      [FAULTS[0], 'and 4 more (--max-faults)', 'Nothing was imported: 5 faults.', ''].join('\n'),
    ])
    const skipped = await runImportCommand(database, FOUR_FAULTS, '--skip-faults')
    expect(skipped).toEqual([
      0,
      'Imported: Member 1 (1 new), Property 2 (2 new)\n',
      [...FAULTS, 'Skipped: 4 records with 5 faults.', ''].join('\n'),
    ])
    const strict = await runImportCommand(database, doubtful, '--dry-run', '--strict')
    expect([strict[0], strict[2].split('\n').at(-2)]).toEqual([1, 'Nothing was imported: 7 faults.'])
    const [dryCode, dryOut, dryErr] = await runImportCommand(database, doubtful, '--dry-run')
    expect([dryCode, dryOut]).toEqual([0, 'Checked without writing: Property 4\n'])
    expect(dryErr).toContain(
      "warning: 2 cases: the StandardStatus is not one of the service. The first: Property[0] 'A' StandardStatus: 'Sould'",
    )
  }, 120_000)
})
