import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadRecords } from '../../src/data/import/load-records.js'
import { loadLookups, readLookups } from '../../src/data/import/lookup-seed.js'
import { type FileEntry, readFileEntries } from '../../src/data/import/read-file.js'
import { JsonNumber } from '../../src/domain/json.js'
import { appendSample, loadSampleIfEmpty } from '../../src/sample/fill.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'
import { importContent, runImportCommand, writeImportFile } from '../support/import-file.js'

let database: TestDatabase

const rowsOf = async (sql: string): Promise<unknown[]> => {
  const { rows } = await database.withClient(client =>
    client.query<unknown[]>({ text: sql, rowMode: 'array' }),
  )
  return rows
}

const load = (content: unknown) => importContent(database, content)
const runImport = (content: unknown) => runImportCommand(database, content)

async function readAll(content: string | Buffer): Promise<readonly FileEntry[]> {
  const found: FileEntry[] = []
  const source = { path: await writeImportFile(content), encoding: 'utf-8' } as const
  for await (const entry of readFileEntries(source, () => true)) found.push(entry)
  return found
}

describe('a JSON file', () => {
  test('is read item by item, with all digits of numbers and the positions of the items', async () => {
    const found = await readAll(
      '\uFEFF{"model":{"a":[1,{"b":2}]},\n"X":[{"n":250000.10,"t":"\\u00e9\\n\\"","l":[true,null,[]]},\n5],"note":"x","Y":[]}\n',
    )
    const value = { n: new JsonNumber('250000.10'), t: 'é\n"', l: [true, null, []] }
    const item = { kind: 'item', member: 'X', misread: undefined }
    expect(found).toEqual([
      { kind: 'member', member: 'model', isArray: false, position: { line: 1, byte: 13 } },
      { kind: 'member', member: 'X', isArray: true, position: { line: 2, byte: 36 } },
      { ...item, index: 0, ordinal: 1, json: value, position: { line: 2, byte: 37 } },
      { ...item, index: 1, ordinal: 2, json: new JsonNumber('5'), position: { line: 3, byte: 90 } },
      { kind: 'member', member: 'note', isArray: false, position: { line: 3, byte: 100 } },
      { kind: 'member', member: 'Y', isArray: true, position: { line: 3, byte: 108 } },
    ])
  })

  test('may be larger than a chunk of the stream', async () => {
    const items = Array.from({ length: 3000 }, (_, i) => ({ i, text: 'ÿ🌲'.repeat(200) }))
    const found = await readAll(JSON.stringify({ X: items }))
    expect(found).toHaveLength(3001)
    expect(found.at(-1)).toMatchObject({
      index: 2999,
      json: { i: new JsonNumber('2999'), text: 'ÿ🌲'.repeat(200) },
    })
  })

  test.each<[string, string, number, number]>([
    ['', 'The file: the JSON is incomplete', 1, 0],
    [' ', 'The file: the JSON is incomplete', 1, 1],
    ['[]', 'The file: is not a JSON object', 1, 1],
    ['5', 'The file: is not a JSON object', 1, 1],
    ['{"X":[{"a":1}', 'The file: the JSON is incomplete', 1, 13],
    ['{"X":[1,]}', 'The file: a value is missing', 1, 9],
    ['{"X":[1,,2]}', 'The file: a value is missing', 1, 9],
    ['{"X":[1],}', 'The file: a member name is missing', 1, 10],
    ['{"X":[1]} x', 'The file: there is text after the end of the object', 1, 11],
    ['{"X":[01]}', 'X[0]: is not JSON: unexpected text after the value', 1, 8],
    ['{"X":[1,{"a":1 "b":2}]}', "X[1]: is not JSON: expected ',' or '}'", 1, 16],
    ['{"X":[{"a":1]]}', "X[0]: is not JSON: expected ',' or '}'", 1, 13],
    [
      '{"X":[\n{"a":"x\n"},{"a":2}]}',
      'X[0]: is not JSON: a string contains a control character or an invalid escape',
      2,
      13,
    ],
    ['{"X":[{"a":1,"a":2}]}', 'X[0]: is not JSON: a member name is specified more than once', 1, 17],
    ['{"X":{"a":nope}}', 'X: is not JSON: expected a value', 1, 11],
    ["{'X':[]}", 'The file: a member name is missing', 1, 2],
    ['{"X\n":[]}', 'The file: the member name is incomplete', 1, 2],
    ['{"\\x":[]}', 'The file: a member name contains a control character or an invalid escape', 1, 2],
  ])('that is not JSON is refused with the place: %j', async (text, message, line, byte) => {
    const faults = (await readAll(text)).flatMap(entry => (entry.kind === 'fault' ? [entry] : []))
    expect(faults.map(({ label, reason, position }) => [`${label}: ${reason}`, position])).toEqual([
      [message, { line, byte }],
    ])
  })

  test('that ends inside an item is refused with the fault of the item first', async () => {
    const found = await readAll('{"X":[\n{"a":"x,\n{"b":1}]}')
    const faults = found.flatMap(entry => (entry.kind === 'fault' ? [entry] : []))
    expect(faults.map(({ label, position }) => [label, position.line])).toEqual([
      ['X[0]', 2],
      ['The file', 3],
    ])
  })

  test('reading continues after an item that is not JSON', async () => {
    const found = await readAll('{"X":[{"a":},{"b":"\n"},[1,2},7]}')
    expect(found.map(entry => (entry.kind === 'item' ? entry.json : entry.kind))).toEqual([
      'member',
      'fault',
      'fault',
      'fault',
      new JsonNumber('7'),
    ])
  })

  test.each(['utf16le', 'utf-16 with mark', 'utf-16be'])('in %s is refused', async name => {
    const little = Buffer.from('{"X":[]}', 'utf16le')
    const content = {
      utf16le: little,
      'utf-16 with mark': Buffer.concat([Buffer.from([0xff, 0xfe]), little]),
    }[name]
    const [fault] = await readAll(content ?? Buffer.from(little).swap16())
    expect(fault).toMatchObject({ kind: 'fault', reason: expect.stringContaining('is encoded in UTF-16') })
  })
})

describe.each(DATABASE_KINDS)('with the %s database', kind => {
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })

  afterAll(() => database.close())

  const listing = (fields: object) => ({ ListingKey: 'P1', ...fields })

  describe('a record that does not fit is refused, with its place and field', () => {
    test.each<[unknown, string]>([
      [{ Property: [listing({}), 5] }, 'Property[1]: must be an object, not 5'],
      [{ Property: [{ City: 'X' }] }, 'Property[0] ListingKey: a key is required'],
      [{ Property: [{ ListingKey: 7 }] }, 'Property[0] ListingKey: must be a string, not 7'],
      [{ Property: { ListingKey: 'P' } }, 'Property: must be a list of records'],
      [{ Property: [listing({ Citty: 'X' })] }, "Property[0] 'P1' Citty: Property has no such field"],
      [
        { Property: [listing({ RecordVersion: 1 })] },
        "Property[0] 'P1' RecordVersion: Property has no such field",
      ],
      [{ Property: [listing({ City: 5 })] }, "Property[0] 'P1' City: must be a string, not 5"],
      [{ Property: [listing({ City: 'a\0b' })] }, "Property[0] 'P1' City: must be a string"],
      ['{"Property":[{"ListingKey":"P1","City":"\\ud800"}]}', "Property[0] 'P1' City: must be a string"],
      [
        { Property: [listing({ ListPrice: 'cheap' })] },
        "Property[0] 'P1' ListPrice: must be a decimal number, not 'cheap'",
      ],
      [{ Property: [listing({ ListPrice: '1e9999' })] }, "Property[0] 'P1' ListPrice"],
      [
        { Property: [listing({ TaxYear: 2020.5 })] },
        "Property[0] 'P1' TaxYear: must be a 32-bit integer, not 2020.5",
      ],
      [{ Property: [listing({ TaxYear: 2147483648 })] }, "Property[0] 'P1' TaxYear"],
      [
        { Property: [listing({ GarageYN: 'true' })] },
        "Property[0] 'P1' GarageYN: must be true or false, not 'true'",
      ],
      [
        { Property: [listing({ CloseDate: '2024-02-30' })] },
        "Property[0] 'P1' CloseDate: must be a date (YYYY-MM-DD), not '2024-02-30'",
      ],
      [{ Property: [listing({ CloseDate: '0000-01-01' })] }, "Property[0] 'P1' CloseDate"],
      [
        { Property: [listing({ ModificationTimestamp: '2024-05-01' })] },
        "Property[0] 'P1' ModificationTimestamp: must be a timestamp",
      ],
      [
        { Property: [listing({ ModificationTimestamp: '2024-05-01T25:00:00Z' })] },
        "Property[0] 'P1' ModificationTimestamp",
      ],
      [
        { Property: [listing({ Roof: 'Metal' })] },
        "Property[0] 'P1' Roof: must be a list, each item a string, not 'Metal'",
      ],
      [{ Property: [listing({ Roof: ['Metal', null] })] }, "Property[0] 'P1' Roof"],
      [
        { Property: [listing({ Rooms: {} })] },
        "Property[0] 'P1' Rooms: must be a list of records, not an object",
      ],
      [
        { Property: [listing({ Rooms: [{ RoomType: 'Den' }] })] },
        "Property[0] 'P1' Rooms[0] RoomKey: a key is required",
      ],
      [
        { Property: [listing({ Media: [{ MediaKey: 'X', Order: true }] })] },
        "Property[0] 'P1' Media[0] 'X' Order: must be a 32-bit integer, not true",
      ],
      [
        { Property: [listing({ ListAgent: { MemberKey: 'M' } })] },
        "Property[0] 'P1' ListAgent: cannot contain nested records: list them under their own entity set",
      ],
      [
        { Property: [listing({ GeoLocation: { type: 'Point', coordinates: [1] } })] },
        "Property[0] 'P1' GeoLocation: must be a GeoJSON point",
      ],
      [
        { Property: [listing({ GeoLocation: { type: 'Point', coordinates: [190, 1] } })] },
        "Property[0] 'P1' GeoLocation",
      ],
      [
        {
          Property: [
            listing({
              GeoLocation: {
                type: 'Point',
                coordinates: [1, 1],
                crs: { type: 'name', properties: { name: 'EPSG:3857' } },
              },
            }),
          ],
        },
        "Property[0] 'P1' GeoLocation",
      ],
      [
        {
          Property: [listing({ Latitude: 39.7, GeoLocation: { type: 'Point', coordinates: [-105, 39.8] } })],
        },
        "Property[0] 'P1' Latitude: 39.7 and GeoLocation 39.8 are not the same place",
      ],
      [
        { Rooms: [{ RoomKey: 'R9', ListingKey: 'nowhere' }] },
        "Rooms[0] 'R9' ListingKey: there is no Property 'nowhere' (line 1, byte 11)",
      ],
    ])('%j', async (content, message) => {
      await expect(load(content)).rejects.toThrow(message)
      expect(await rowsOf('select 1 from "Property"')).toEqual([])
    })
  })

  describe('an import', () => {
    test('stores records unchanged: keys, exact numbers, timestamps, points', async () => {
      const { counts, skipped } = await load(`{ "note": "x", "Property": [{
      "ListingKey": "P'/00", "ListPrice": 12345678901234567890.10, "SoldPrice": "0.1", "TaxYear": "2020", "DaysOnMarket": -3.0, "City": " \\u00e9 ", "@odata.etag": "W/1",
      "ModificationTimestamp": "2023-12-31T23:59:59.9996Z", "StandardStatus": "Odd", "Roof": null, "GeoLocation":
      { "type": "Point", "coordinates": [-105.10, 39.70], "crs": { "type": "name", "properties": { "name": "EPSG:4326" } } } }, { "ListingKey": "P02", "Latitude": 1.50, "Longitude": "2",
      "GeoLocation": { "type": "Point", "coordinates": [2.0, 1.5] } }] }`)
      expect({ counts, skipped }).toEqual({ counts: { Property: 2 }, skipped: ['note'] })
      const columns = `"ListingKey", "ListPrice"::text, "SoldPrice"::text, "TaxYear", "DaysOnMarket", "City", "StandardStatus", "Roof", "Longitude"::text, "Latitude"::text`
      expect(
        await rowsOf(
          `select ${columns}, to_char("ModificationTimestamp" at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS') from "Property" where "ListingKey" like 'P''%'`,
        ),
      ).toEqual([
        [
          "P'/00",
          '12345678901234567890.10',
          '0.1',
          2020,
          -3,
          ' é ',
          'Odd',
          [],
          '-105.10',
          '39.70',
          '2023-12-31T23:59:59.999',
        ],
      ])
      expect(
        await rowsOf(
          `select "Longitude" = 2, "ModificationTimestamp" > now() - interval '1 minute' from "Property" where "ListingKey" = 'P02'`,
        ),
      ).toEqual([[true, true]])
    })

    test('gives nested records the key of their parent, and replaces them with it', async () => {
      const nested = {
        Media: [{ MediaKey: 'A1' }, { MediaKey: 'A2' }],
        Rooms: [{ RoomKey: 'B1', ListingKey: 'other' }],
        OpenHouses: [{ OpenHouseKey: 'C1' }],
      }
      expect(
        (await load({ Property: [{ ListingKey: 'N1', City: 'Old', TaxYear: 1, ...nested }] })).counts,
      ).toEqual({
        Property: 1,
        Media: 2,
        Rooms: 1,
        OpenHouse: 1,
      })
      expect(
        await rowsOf(
          `select "MediaKey", "ResourceName", "ResourceRecordKey", "PropertyKey" from "Media" order by 1`,
        ),
      ).toEqual([
        ['A1', 'Property', 'N1', 'N1'],
        ['A2', 'Property', 'N1', 'N1'],
      ])
      expect(
        await rowsOf(
          `select "RoomKey", "ListingKey" from "Rooms" union all select "OpenHouseKey", "ListingKey" from "OpenHouse"`,
        ),
      ).toEqual([
        ['B1', 'N1'],
        ['C1', 'N1'],
      ])
      await load({ Property: [{ ListingKey: 'N1', City: 'New', Media: [{ MediaKey: 'A2', Order: 2 }] }] })
      expect(await rowsOf(`select "City", "TaxYear" from "Property" where "ListingKey" = 'N1'`)).toEqual([
        ['New', null],
      ])
      expect(await rowsOf(`select "MediaKey", "Order" from "Media"`)).toEqual([['A2', 2]])
      expect(
        await rowsOf(`select "RoomKey" from "Rooms" union all select "OpenHouseKey" from "OpenHouse"`),
      ).toEqual([])
    })

    test('accepts the sets in any order, and their alternative names', async () => {
      const media = { MediaKey: 'MM', ResourceName: 'Property', ResourceRecordKey: 'S1' }
      const faces = { MediaKey: 'MF', ResourceName: 'Member', ResourceRecordKey: 'SM' }
      const sets = {
        OpenHouse: [{ OpenHouseKey: 'SO', ListingKey: 'S1' }],
        PropertyRooms: [{ RoomKey: 'SR', ListingKey: 'S1' }],
        Media: [media, faces],
        Member: [{ MemberKey: 'SM' }],
        Property: [{ ListingKey: 'S1' }],
      }
      // Twice: the second time the listing replaces itself, and its content in the file must be stored all
      // the same.
      for (let i = 0; i < 2; i++) {
        expect((await load(sets)).counts).toEqual({
          Member: 1,
          Property: 1,
          Media: 2,
          Rooms: 1,
          OpenHouse: 1,
        })
        expect(
          await rowsOf(
            `select "PropertyKey", "MemberKey" from "Media" where "MediaKey" in ('MM', 'MF') order by "MediaKey"`,
          ),
        ).toEqual([
          [null, 'SM'],
          ['S1', null],
        ])
        expect(
          await rowsOf(`select "RoomKey" from "Rooms" union all select "OpenHouseKey" from "OpenHouse"`),
        ).toEqual([['SR'], ['SO']])
      }
    })

    test('attaches media that precede their listing', async () => {
      await load({ Media: [{ MediaKey: 'E1', ResourceName: 'Property', ResourceRecordKey: 'LATE' }] })
      await load({ Property: [{ ListingKey: 'LATE' }] })
      expect(await rowsOf(`select "PropertyKey" from "Media" where "MediaKey" = 'E1'`)).toEqual([['LATE']])
    })

    test('stores the last of two records with the same key, with its nested records', async () => {
      await load({
        Property: [
          { ListingKey: 'D1', City: 'A', Rooms: [{ RoomKey: 'DA' }] },
          { ListingKey: 'D1', City: 'B', Rooms: [{ RoomKey: 'DB' }] },
        ],
      })
      expect(await rowsOf(`select "City" from "Property" where "ListingKey" = 'D1'`)).toEqual([['B']])
      expect(await rowsOf(`select "RoomKey" from "Rooms" where "ListingKey" = 'D1'`)).toEqual([['DB']])
    })

    test('logs an event for every record', async () => {
      const [[before]] = (await rowsOf(
        `select coalesce(max("EntityEventSequence"), 0) from "EntityEvent"`,
      )) as [[string]]
      await load({
        Property: [{ ListingKey: 'EV', Rooms: [{ RoomKey: 'EVR' }] }],
        Office: [{ OfficeKey: 'EVO' }],
      })
      expect(
        await rowsOf(
          `select "ResourceName", "ResourceRecordKey" from "EntityEvent" where "EntityEventSequence" > ${before} order by 1`,
        ),
      ).toEqual([
        ['Office', 'EVO'],
        ['Property', 'EV'],
        ['Rooms', 'EVR'],
      ])
    })

    test.each<[string, unknown, readonly string[]]>([
      [
        'a set under a wrong name',
        { Properties: [listing({})] },
        ["'Properties' is not an entity set and was skipped; did you mean 'Property'?"],
      ],
      ['a saved answer of OData', { value: [listing({})] }, ["'value' is not an entity set and was skipped"]],
      [
        'the log of changes',
        { EntityEvent: [{ EntityEventSequence: 1 }] },
        ["'EntityEvent' is written only by the service and was skipped"],
      ],
    ])(
      'refuses a file without known entity sets, and lists the known ones and the reasons: %s',
      async (_name, content, warnings) => {
        const hint =
          'The file contains no records. It must have arrays named after entity sets: Property, Member, Office, Media, Rooms, OpenHouse, Lookup.'
        expect(await runImport(content)).toEqual([
          1,
          '',
          [...warnings.map(warning => `warning: ${warning}`), hint, ''].join('\n'),
        ])
      },
      60_000,
    )

    test('a set may be empty', { timeout: 60_000 }, async () => {
      expect(await runImport({ Property: [] })).toEqual([0, 'The file contains no records.\n', ''])
    })
  })

  describe('the lookups', () => {
    const versions = () =>
      rowsOf(
        `select count(*)::int, max("RecordVersion")::int, min("ModificationTimestamp")::text from "Lookup"`,
      )

    test('are loaded once, and changes of others are preserved', async () => {
      await loadLookups(database)
      const first = await versions()
      expect(first).toEqual([[(await readLookups()).length, expect.any(Number), '2026-11-01 00:00:00+00']])
      await loadLookups(database)
      expect(await versions()).toEqual(first)
      await rowsOf(`update "Lookup" set "LookupValue" = 'Vendu' where "LookupKey" = 'StandardStatus-Sold'`)
      await loadLookups(database)
      expect(
        await rowsOf(
          `select "LookupValue", "StandardLookupValue" from "Lookup" where "LookupKey" = 'StandardStatus-Sold'`,
        ),
      ).toEqual([['Vendu', 'Closed']])
    })
  })

  describe('the sample', () => {
    const count = () =>
      rowsOf(
        `select count(*)::int, max("ListingKey"), min("ModificationTimestamp")::text < '2026' from "Property" where "ListingKey" ~ '^L[0-9]{9}$'`,
      )

    test('fills only an empty database, and resumes after an interruption', async () => {
      expect(await loadSampleIfEmpty(database, 5)).toBe(false)
      await database.withClient(client => client.query('truncate "Property", "Member", "Office" cascade'))
      expect(await loadSampleIfEmpty(database, 60)).toBe(true)
      expect(await count()).toEqual([[60, 'L000000060', true]])
      let added = 0
      await appendSample(database, 190, listings => {
        added += listings
      })
      expect([added, await count()]).toEqual([190, [[250, 'L000000250', true]]])
      expect(await rowsOf(`select count(*)::int from "Media" where "PropertyKey" is null`)).toEqual([[0]])
      expect(
        await rowsOf(
          `select count(*)::int from "Property" p where not exists (select from "Member" where "MemberKey" = p."ListAgentKey")`,
        ),
      ).toEqual([[0]])
    }, 60_000)

    test('fits every column of the model', async () => {
      await loadRecords(database, [
        [{ entity: 'Office', key: 'last', row: { OfficeKey: 'last' }, nested: [] }],
      ])
      expect(await rowsOf(`select "SyndicateTo" from "Office" where "OfficeKey" = 'last'`)).toEqual([[[]]])
    })
  })
})
