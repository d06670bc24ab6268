import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// Columns that triggers maintain: they follow their sources after every write, and cannot be written
// themselves.

const CHANGES = [
  { of: 'a new text', change: `"PublicRemarks" = 'Quiet lagoon'`, text: `'lagoon'`, place: null },
  {
    of: 'a new position',
    change: `"Longitude" = -106.370, "Latitude" = 39.5`,
    text: `'harbour'`,
    place: [-106.37, 39.5],
  },
  { of: 'half a position', change: `"Latitude" = null`, text: `'harbour'`, place: null },
  { of: 'neither', change: `"ListPrice" = 5`, text: `'harbour'`, place: [1, 2] },
  { of: 'the position itself', change: `"GeoLocation" = '{}'`, text: `'harbour'`, place: [1, 2] },
  { of: 'the position itself, emptied', change: `"GeoLocation" = null`, text: `'harbour'`, place: [1, 2] },
  {
    of: 'the key',
    change: `"ListingKey" = "ListingKey" || '+'`,
    text: `'harbour'`,
    place: [1, 2],
    newKey: '+',
  },
]

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database?.close())

  const read = async (key: string) => {
    const [row] = await database.prisma.$queryRawUnsafe<{ text: string; place: unknown }[]>(
      `select "SearchText"::text as text, "GeoLocation" -> 'coordinates' as place from "Property" join "PropertyText" using ("ListingKey") where "ListingKey" = $1`,
      key,
    )
    return row
  }

  test.each(CHANGES.map((row, i) => ({ ...row, key: `K${i}` })))(
    'a change of $of',
    async ({ key, change, text, place, newKey = '' }) => {
      const remarks = change.includes('PublicRemarks') ? {} : { Longitude: '1', Latitude: '2' }
      await database.prisma.property.create({
        data: { ListingKey: key, PublicRemarks: 'Old harbour', ...remarks },
      })
      await database.prisma.$executeRawUnsafe(`update "Property" set ${change} where "ListingKey" = $1`, key)
      expect(await read(key + newKey)).toEqual({ text: expect.stringContaining(text), place })
    },
  )

  test.each(['forged', null])('the search text itself: %s', async text => {
    await database.prisma.property.upsert({
      where: { ListingKey: 'T' },
      create: { ListingKey: 'T', PublicRemarks: 'Old harbour' },
      update: {},
    })
    await database.prisma
      .$executeRaw`update "PropertyText" set "SearchText" = ${text}::tsvector where "ListingKey" = 'T'`
    expect(await read('T')).toMatchObject({ text: expect.stringContaining(`'harbour'`) })
  })

  test('a search text that was left by a writer without triggers is rebuilt with a listing of its key', async () => {
    await database.prisma.$transaction([
      database.prisma.$executeRaw`set local session_replication_role = 'replica'`,
      database.prisma
        .$executeRaw`insert into "PropertyText" ("ListingKey", "SearchText") values ('L', 'left')`,
    ])
    await database.prisma.property.create({ data: { ListingKey: 'L', PublicRemarks: 'Old harbour' } })
    expect(await read('L')).toMatchObject({ text: expect.stringContaining(`'harbour'`) })
  })

  test('the search text is rebuilt after a change of each of its columns', async () => {
    const [row] = await database.prisma.$queryRaw<{ source: string; columns: readonly string[] }[]>`
      select prosrc as source, array(select attname::text from pg_trigger, unnest(tgattr) number join pg_attribute on attnum = number and attrelid = '"Property"'::regclass
        where tgrelid = '"Property"'::regclass and tgname = 'write_search_text') as columns from pg_proc where proname = 'keep_search_text'`
    const read = [...(row?.source ?? '').matchAll(/p\."(\w+)"/g)]
      .map(([, name]) => name)
      .filter(name => name !== 'ListingKey')
    expect(read).toHaveLength(16)
    expect([...(row?.columns ?? [])].sort()).toEqual(read.sort())
  })

  test('media that were there before their listing become its own, those of others stay', async () => {
    const media = (MediaKey: string, ResourceRecordKey: string, ResourceName: string) =>
      database.prisma.media.create({
        data: { MediaKey, ResourceName, ResourceRecordKey, MediaCategory: 'Photo' },
      })
    for (const [key, of, name] of [
      ['m1', 'W', 'Property'],
      ['m2', 'W', 'Member'],
      ['m3', 'V', 'Property'],
    ] as const)
      await media(key, of, name)
    await database.prisma.property.create({ data: { ListingKey: 'W' } })
    const of = await database.prisma.media.findMany({
      select: { MediaKey: true, PropertyKey: true },
      orderBy: { MediaKey: 'asc' },
    })
    expect(of.map(({ PropertyKey }) => PropertyKey)).toEqual(['W', null, null])
    expect(await database.prisma.property.findUnique({ where: { ListingKey: 'W' } })).toMatchObject({
      PhotosCount: 1,
    })
  })

  test.each(['Property', 'Member', 'Office', 'Media', 'Rooms', 'OpenHouse'])(
    'a statement that changes no %s logs nothing',
    async table => {
      const before = await database.prisma.entityEvent.count()
      for (const statement of [
        `update "${table}" set "ModificationTimestamp" = now() where false`,
        `delete from "${table}" where false`,
      ])
        await database.prisma.$executeRawUnsafe(statement)
      expect(await database.prisma.entityEvent.count()).toBe(before)
    },
  )

  test('the search text is deleted with its listing', async () => {
    await database.prisma.property.create({ data: { ListingKey: 'G', PublicRemarks: 'Old harbour' } })
    await database.prisma.property.delete({ where: { ListingKey: 'G' } })
    expect(await database.prisma.$queryRaw`select from "PropertyText" where "ListingKey" = 'G'`).toEqual([])
  })
})
