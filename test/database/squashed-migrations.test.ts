import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Migration, migrate, readMigrations, readSupersededMigrations } from '../../src/data/migrate.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// Databases of earlier versions, with all or some of the migrations that were squashed, become equal to a new
// one and keep their records.

/** The definition of every object that migrations create. Columns have their positions. */
const CATALOG = {
  columns: `select c.relname, row_number() over (partition by c.relname order by attnum)::int as place, attname, format_type(atttypid, atttypmod) as type, attnotnull,
    attstorage, attcollation::regcollation::text as collation, pg_get_expr(adbin, adrelid) as initial
    from pg_attribute a join pg_class c on c.oid = attrelid left join pg_attrdef on adrelid = attrelid and adnum = attnum
    where relnamespace = 'public'::regnamespace and relkind = 'r' and attnum > 0 and not attisdropped order by 1, 2`,
  parameters: `select relname, relkind, reloptions from pg_class where relnamespace = 'public'::regnamespace order by 1`,
  sequences: `select sequencename, start_value, min_value, max_value, increment_by, cache_size from pg_sequences order by 1`,
  constraints: `select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as text from pg_constraint where connamespace = 'public'::regnamespace order by 1, 2`,
  indexes: `select indexname, indexdef from pg_indexes where schemaname = 'public' order by 1`,
  triggers: `select pg_get_triggerdef(oid) as text, tgenabled from pg_trigger where not tgisinternal order by 1`,
  functions: `select p.oid::regprocedure::text as name, pg_get_functiondef(p.oid) as text from pg_proc p
    where pronamespace = 'public'::regnamespace and prokind = 'f' and not exists (select from pg_depend where objid = p.oid and deptype = 'e') order by 1`,
  extensions: `select extname from pg_extension order by 1`,
}

/** Everything that an upgrade must preserve or derive, without times of the upgrade. */
const RECORDS = {
  listings: `select "ListingKey", "City", "Document", "GeoLocation", "PhotosCount", "RecordVersion"::text, "ModificationTimestamp" from "Property" order by 1`,
  texts: `select "ListingKey", "SearchText"::text from "PropertyText" order by 1`,
  events: `select "EntityEventSequence"::text, "ResourceName", "ResourceRecordKey" from "EntityEvent" order by "EntityEventSequence"`,
}

/** Records that the first version could have had. */
const INSERT_RECORDS = `
  insert into "Property" ("ListingKey", "StandardStatus", "City", "PublicRemarks", "Longitude", "Latitude") values
    ('L1', 'Active', 'Montréal', 'A "quoted" home', -73.5, 45.5), ('L2', 'Closed', 'Vail', null, null, null);
  insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory") values ('M1', 'Property', 'L1', 'Photo');
  delete from "Property" where "ListingKey" = 'L2'`

/** The number of migrations at commit 5fc73f9. */
const FIRST_VERSION = 14

describe.each(DATABASE_KINDS)('squashed migrations on the %s database', kind => {
  let database: TestDatabase
  let superseded: readonly Migration[]
  let known: readonly Migration[]
  let expected: unknown
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    superseded = await readSupersededMigrations()
    known = await readMigrations()
    expected = await readAll(CATALOG)
  })
  afterAll(() => database?.close())

  const readAll = (queries: Readonly<Record<string, string>>) =>
    database.withClient(async client => {
      const results: Record<string, unknown> = {}
      for (const [name, query] of Object.entries(queries)) results[name] = (await client.query(query)).rows
      return results
    })

  /** Empties the database and applies migrations as an earlier version of the service did. */
  async function createDatabaseOf(migrations: readonly Migration[]): Promise<void> {
    await database.withClient(client =>
      client.query('drop schema if exists admin cascade; drop schema public cascade; create schema public'),
    )
    await migrate(database, [])
    await database.withClient(async client => {
      for (const { name, sql, checksum } of migrations) {
        await client.query(`begin; ${sql}; commit`)
        await client.query(
          `insert into "_prisma_migrations" (id, checksum, migration_name, finished_at, applied_steps_count) values ($1, $2, $3, now(), 1)`,
          [name.slice(0, 36), checksum, name],
        )
        if (name === superseded[Math.min(FIRST_VERSION, migrations.length) - 1]?.name)
          await client.query(INSERT_RECORDS)
      }
    })
  }

  const readHistory = () =>
    database.prisma.$queryRawUnsafe(
      `select migration_name as name, checksum from "_prisma_migrations" where finished_at is not null order by 1`,
    )
  const namesOf = (migrations: readonly Migration[]) => migrations.map(m => m.name)
  const laterMigrations = () => known.filter(m => m.name > (superseded.at(-1)?.name ?? ''))

  /** Upgrades the database and compares it with a new one. */
  async function expectUpgrade(applied: readonly Migration[]): Promise<void> {
    const result = await migrate(database)
    expect(result.applied).toEqual(namesOf(applied))
    expect(await readHistory()).toEqual(known.map(({ name, checksum }) => ({ name, checksum })))
    expect(await readAll(CATALOG)).toEqual(expected)
    expect(await migrate(database)).toEqual({ applied: [] })
    expect(await readAll(RECORDS)).toMatchObject({
      listings: [
        { ListingKey: 'L1', City: 'Montréal', Document: expect.stringContaining('A \\"quoted\\" home') },
      ],
      texts: [{ ListingKey: 'L1', SearchText: expect.stringContaining("'montreal'") }],
    })
  }

  test.each([FIRST_VERSION, 17])('a database with the first %i of the superseded ones', async count => {
    await createDatabaseOf(superseded.slice(0, count))
    const before = await readAll({ events: RECORDS.events })
    expect(before['events']).not.toEqual([])
    await expectUpgrade([...superseded.slice(count), ...laterMigrations()])
    const { events } = await readAll({
      events: `select distinct "EntityEventSequence"::text, "ResourceName", "ResourceRecordKey" from "EntityEvent" order by 1`,
    })
    expect(events).toEqual(expect.arrayContaining(before['events'] as unknown[]))
  })

  test('a database with all superseded ones and later ones', async () => {
    await createDatabaseOf([...superseded, ...laterMigrations()])
    const before = await readAll(RECORDS)
    await expectUpgrade([])
    expect(await readAll(RECORDS)).toEqual(before)
  })

  test('a new database', async () => {
    await createDatabaseOf([])
    expect((await migrate(database)).applied).toEqual(namesOf(known))
    expect(await readAll(CATALOG)).toEqual(expected)
  })

  test('a superseded migration that another program left unfinished is named', async () => {
    await createDatabaseOf([])
    await database.withClient(client =>
      client.query(
        `insert into "_prisma_migrations" (id, checksum, migration_name) values ('1', '', '20261127000000_model')`,
      ),
    )
    await expect(migrate(database)).rejects.toThrow(/20261127000000_model failed in another program/)
  })
})
