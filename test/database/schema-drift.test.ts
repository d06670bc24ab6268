import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { renderIndexList } from '../../src/cli/index-list.js'
import { ENTITIES, type Entity, type Scalar } from '../../src/model/model.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The migrations and schema.prisma must agree as far as Prisma can express. The lists below contain
// everything else.

const PG_TYPES: Readonly<Record<Scalar['type'], string>> = {
  Boolean: 'boolean', Int32: 'integer', Int64: 'bigint', Decimal: 'numeric', String: 'text', DateTimeOffset: 'timestamp(3) with time zone', Date: 'date', GeographyPoint: 'jsonb',
} // biome-ignore format: table

/** Columns that Prisma has no type for, or need not know. */
const BEYOND_PRISMA = [
  { table: 'ChangeLog', column: 'LogId', type: 'text', nullable: false },
  { table: 'ChangeLog', column: 'Floor', type: 'bigint', nullable: false },
  { table: 'Property', column: 'Document', type: 'text', nullable: true },
  { table: 'PropertyText', column: 'ListingKey', type: 'text', nullable: false },
  { table: 'PropertyText', column: 'SearchText', type: 'tsvector', nullable: true },
]

/** Indexes that Prisma cannot declare: NULLS FIRST, expressions, GIN and GiST. */
// biome-ignore format: table
const INDEXES_BEYOND_PRISMA = [
  'EntityEvent_record_idx', 'Lookup_LastEventSequence_idx', 'Lookup_ModificationTimestamp_idx', 'Media_LastEventSequence_idx', 'Member_LastEventSequence_idx',
  'Office_LastEventSequence_idx', 'OpenHouse_LastEventSequence_idx', 'Property_LastEventSequence_idx', 'Rooms_LastEventSequence_idx', 'Media_ModificationTimestamp_idx', 'Media_PropertyKey_Order_idx',
  'Media_ResourceRecordKey_idx', 'Member_ModificationTimestamp_idx', 'Office_ModificationTimestamp_idx', 'OpenHouse_ModificationTimestamp_idx',
  'OpenHouse_OpenHouseDate_idx', 'Property_City_ListPrice_idx', 'Property_ConstructionMaterials_idx', 'Property_ListAgentKey_ModificationTimestamp_idx', 'Property_ListOfficeKey_idx',
  'Member_OfficeKey_idx', 'Property_BedroomsTotal_ListPrice_idx', 'Property_City_ModificationTimestamp_idx', 'Property_City_lower_idx', 'Property_CloseDate_idx', 'Property_digest_idx',
  'Property_ListAgentMlsId_idx', 'Property_SubdivisionName_idx', 'Property_YearBuilt_idx', 'Property_active_OnMarketDate_idx', 'Property_active_price_per_area_idx',
  'Property_waterfront_ListPrice_idx',
  'Property_ListPrice_idx', 'Property_ListingId_idx', 'Property_OriginatingSystemKey_idx', 'Property_PostalCode_idx', 'Property_SearchText_idx',
  'Property_StandardStatus_ModificationTimestamp_idx', 'Property_StreetName_trigram_idx',
  'Property_UnparsedAddress_trigram_idx', 'Property_Latitude_Longitude_StandardStatus_idx', 'Property_without_position_idx', 'Rooms_ModificationTimestamp_idx',
]

const LOGGED = ['Property', 'Member', 'Office', 'Media', 'Rooms', 'OpenHouse', 'Lookup']
const TRIGGERS = [
  ...LOGGED.flatMap(table =>
    [
      'audit_change',
      'audit_truncate',
      'lock_change_log_first',
      'log_change',
      'log_delete',
      'log_old_key',
      'log_truncate',
      'stamp_record',
    ].map(name => `${table}.${name}`),
  ),
  ...['delete_children', 'hide_children', 'rename_media', 'show_children'].map(name => `Property.${name}`),
  ...['Property', 'Member', 'Office'].map(table => `${table}.adopt_media`),
  ...['write_document', 'assign_position', 'write_search_text'].map(name => `Property.${name}`),
  ...['attach_media', 'photos_delete', 'photos_insert', 'photos_update'].map(name => `Media.${name}`),
  ...['OpenHouse', 'Rooms'].map(table => `${table}.touch_listings`),
  'PropertyText.keep_search_text',
  'EntityEvent.begin_log',
]

const SCHEMA = readFileSync(new URL('../../prisma/schema.prisma', import.meta.url), 'utf8')

/** The indexes of `@@index`, under the names that Prisma gives them. */
const declaredIndexes = [...SCHEMA.matchAll(/^model (\w+) \{\n([\s\S]*?)^\}/gm)].flatMap(
  ([, table = '', body = '']) =>
    [...body.matchAll(/@@index\(\[(.*)\]\)/g)].map(
      ([, columns = '']) => `${table}_${columns.split(', ').join('_')}_idx`,
    ),
)

const scalarsOf = ({ fields, hidden }: Entity) =>
  [...fields.values(), ...hidden.values()].filter(f => f.kind === 'scalar')

const declaredColumns = [...ENTITIES.values()].flatMap(of =>
  scalarsOf(of).map(s => ({
    table: of.name,
    column: s.name,
    type: s.collection ? 'text[]' : PG_TYPES[s.type],
    nullable: s.nullable,
  })),
)

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await openTestDatabase(kind)
  })
  afterAll(() => database?.close())

  const names = async (sql: string) =>
    (await database.prisma.$queryRawUnsafe<{ name: string }[]>(sql)).map(r => r.name).sort()

  test('tables, columns, types and nullability are those of the model', async () => {
    const columns = await database.prisma.$queryRaw<
      { table: string; column: string; type: string; nullable: boolean }[]
    >`
      select c.relname as "table", a.attname as "column", format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable
      from pg_attribute a join pg_class c on c.oid = a.attrelid
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like '\\_prisma%' and a.attnum > 0 and not a.attisdropped`
    const key = (c: { table: string; column: string }) => `${c.table}.${c.column}`
    const expected = [...declaredColumns, ...BEYOND_PRISMA]
    expect(Object.fromEntries(columns.map(c => [key(c), c]))).toEqual(
      Object.fromEntries(expected.map(c => [key(c), c])),
    )
  })

  test('every text is compared by code point', async () => {
    const others =
      await names(`select c.relname || '.' || a.attname as name from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_collation l on l.oid = a.attcollation
      where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and c.relname not like '\\_prisma%' and l.collname <> 'C'`)
    expect(others).toEqual([])
  })

  test('keys and foreign keys are those of the model', async () => {
    const found =
      await names(`select conrelid::regclass || ' ' || pg_get_constraintdef(oid) as name from pg_constraint
      where connamespace = 'public'::regnamespace and contype in ('p', 'f') and conrelid::regclass::text not like '%\\_prisma%'`)
    const primary = [...ENTITIES.values()].map(
      e => `"${e.name}" PRIMARY KEY ("${e.key.name}"${e.name === 'EntityEvent' ? ', "Audience"' : ''})`,
    )
    const foreign = [...ENTITIES.values()].flatMap(e =>
      [...e.fields.values(), ...e.hidden.values()]
        .filter(f => f.kind === 'navigation' && f.relation && !f.collection)
        .map(f =>
          f.kind === 'navigation'
            ? `"${e.name}" FOREIGN KEY ("${f.local}") REFERENCES "${f.target}"("${f.foreign}") ON UPDATE CASCADE ON DELETE CASCADE`
            : '',
        ),
    )
    const ofTexts = [
      '"ChangeLog" PRIMARY KEY ("LogId")',
      '"PropertyText" PRIMARY KEY ("ListingKey")',
      `"PropertyText" FOREIGN KEY ("ListingKey") REFERENCES "Property"("ListingKey") ON UPDATE CASCADE ON DELETE CASCADE`,
    ]
    expect(found).toEqual([...primary, ...foreign, ...ofTexts].sort())
  })

  test('indexes are those of schema.prisma, the keys, and the list above', async () => {
    const found = await names(
      `select indexname as name from pg_indexes where schemaname = 'public' and tablename not like '\\_prisma%'`,
    )
    expect(found).toEqual(
      [
        ...declaredIndexes,
        ...INDEXES_BEYOND_PRISMA,
        ...[...ENTITIES.keys(), 'PropertyText', 'ChangeLog'].map(name => `${name}_pkey`),
      ].sort(),
    )
  })

  test('the list of indexes is that of `npm run schema -- --indexes`', async () => {
    const list = readFileSync(new URL('../../src/data/sql/indexes.ts', import.meta.url), 'utf8')
    expect(list).toBe(await database.withClient(renderIndexList))
  })

  test('OBS-08 the audit log has each column that the service does not derive', async () => {
    const derived =
      /^(?:RecordVersion|LastEventSequence|ModificationTimestamp|Document|GeoLocation|ChangedByMemberKey|SearchText)$/
    for (const table of LOGGED) {
      const [text = ''] = await names(
        `select pg_get_functiondef('admin.audit_${table.toLowerCase()}'::regproc) as name`,
      )
      const missing = declaredColumns.filter(
        ({ table: of, column }) => of === table && !derived.test(column) && !text.includes(`OLD."${column}"`),
      )
      expect(missing).toEqual([])
    }
  })

  test('triggers are those of the change log, of media and of stored documents', async () => {
    const found = await names(
      `select c.relname || '.' || t.tgname as name from pg_trigger t join pg_class c on c.oid = t.tgrelid where not t.tgisinternal and c.relnamespace = 'public'::regnamespace`,
    )
    expect(found).toEqual([...TRIGGERS].sort())
  })
})
