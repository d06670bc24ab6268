import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readSupersededMigrations } from '../../src/data/migrate.js'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The migration that rewrites the table of listings to move columns. Only the order of the columns may change.
// It can be run again, on a table that has records.

const MIGRATION = '20261129000004_columns_in_reading_order'
const TABLE = `'"Property"'::regclass`

/** Queries for the catalog entries of the table, without its object id and column positions. */
const CATALOG = {
  columns: `select attname, format_type(atttypid, atttypmod) as type, attnotnull, attstorage, attcollation::regcollation::text as collation, pg_get_expr(adbin, adrelid) as initial, col_description(attrelid, attnum) as comment
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = ${TABLE} and attnum > 0 and not attisdropped order by attname`,
  constraints: `select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as text from pg_constraint where ${TABLE} in (conrelid, confrelid) order by 1, 2`,
  indexes: `select pg_get_indexdef(indexrelid) as text from pg_index where indrelid = ${TABLE} order by 1`,
  // Without parentheses: PostgreSQL prints those of a condition differently after it was parsed again.
  triggers: `select translate(pg_get_triggerdef(oid), '()', '') as text, tgenabled from pg_trigger where tgrelid = ${TABLE} and not tgisinternal order by 1`,
  functions: `select pg_get_functiondef(p.oid) as text from pg_proc p where pronamespace = 'public'::regnamespace and prokind = 'f' order by 1`,
  privileges: `select grantee::regrole::text as role, privilege_type, is_grantable from pg_class, aclexplode(relacl) where oid = ${TABLE} and grantee <> relowner and grantee > 0 order by 1, 2`,
  ofColumns: `select attname, grantee::regrole::text as role, privilege_type from pg_attribute, aclexplode(attacl) where attrelid = ${TABLE} and grantee > 0 order by 1, 2, 3`,
  owner: `select relowner::regrole::text as owner, obj_description(oid, 'pg_class') as comment from pg_class where oid = ${TABLE}`,
  records: `select to_jsonb(p) as record from "Property" p order by "ListingKey"`,
  media: `select count(*)::int as number from "Media"`,
}

const look = async (client: Client): Promise<Readonly<Record<string, unknown>>> => {
  const seen: Record<string, unknown> = {}
  for (const [name, query] of Object.entries(CATALOG)) seen[name] = (await client.query(query)).rows
  return seen
}

describe.each(DATABASE_KINDS)('%s', kind => {
  let database: TestDatabase
  let sql: string
  beforeAll(async () => {
    database = await openTestDatabase(kind)
    await loadSampleIfEmpty(database, 20)
    sql = (await readSupersededMigrations()).find(({ name }) => name === MIGRATION)?.sql ?? ''
  })
  afterAll(() => database?.close())

  /** As it was before the migration, which sets them. */
  const RESET =
    'alter table "Property" reset (autovacuum_vacuum_scale_factor, autovacuum_analyze_scale_factor)'
  const run = (client: Client) =>
    client.query(`begin isolation level read committed; ${RESET}; ${sql}; commit`)

  test('preserves all objects that depend on the table, and every record', async () => {
    await database.withClient(async client => {
      await client.query(`grant select, update on "Property" to pg_monitor with grant option; grant update ("City") on "Property" to pg_monitor;
        comment on column "Property"."City" is 'it''s a place'; comment on table "Property" is 'all'; alter table "Property" disable trigger adopt_media;
        alter default privileges grant delete on tables to pg_monitor`)
      const before = await look(client)
      await run(client)
      expect(await look(client)).toEqual(before)
      expect(before['records']).toHaveLength(20)
      expect(before['privileges']).toHaveLength(2)
      expect(before['ofColumns']).toHaveLength(1)
      expect(before['triggers']).toEqual(
        expect.arrayContaining([expect.objectContaining({ tgenabled: 'D' })]),
      )
      await client.query(
        'alter default privileges revoke delete on tables from pg_monitor; alter table "Property" enable trigger adopt_media',
      )
    })
  })

  test.each([
    [
      'row security',
      'alter table "Property" enable row level security',
      'alter table "Property" disable row level security',
    ],
    ['publication heard', 'create publication heard for table "Property"', 'drop publication heard'],
    [
      'replica identity',
      'alter table "Property" replica identity full',
      'alter table "Property" replica identity default',
    ],
    [
      'statistics places',
      'create statistics places on "City", "PostalCode" from "Property"',
      'drop statistics places',
    ],
    [
      'storage parameters',
      `alter table "Property" set (fillfactor = 90)`,
      'alter table "Property" reset (fillfactor)',
    ],
  ])('refuses an object that it cannot recreate: %s', async (name, set, unset) => {
    await database.withClient(async client => {
      await client.query(set)
      await expect(run(client)).rejects.toThrow(`cannot carry over: ${name}`)
      await client.query('rollback')
      await client.query(unset)
    })
  })

  test('refuses a transaction whose snapshot could lack commits of others', async () => {
    await database.withClient(async client => {
      await expect(
        client.query(`begin isolation level repeatable read; ${RESET}; ${sql}; commit`),
      ).rejects.toThrow(/read committed/)
      await client.query('rollback')
    })
  })

  test('puts the columns that pages read first', async () => {
    const rows = await database.prisma.$queryRawUnsafe<{ name: string }[]>(
      `select attname::text as name from pg_attribute where attrelid = ${TABLE} and attnum > 0 and not attisdropped order by attnum limit 3`,
    )
    expect(rows.map(({ name }) => name)).toEqual(['RecordVersion', 'ModificationTimestamp', 'ListingKey'])
  })

  test('refuses to drop objects of others that depend on the table', async () => {
    await database.withClient(async client => {
      await client.query('create view others as select "City" from "Property"')
      await expect(run(client)).rejects.toThrow(/other objects depend on it/)
      await client.query('rollback')
      expect((await client.query('select count(*)::int as number from others')).rows).toEqual([
        { number: 20 },
      ])
    })
  })
})
