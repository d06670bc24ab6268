import type { Client } from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readMigrations } from '../../src/data/migrate.js'
import { fillSample } from '../../src/data/sample.js'
import { DATABASE_KINDS, openTestDatabase, type TestDatabase } from '../support/database.js'

// The migration that writes the table of listings anew, to move columns: nothing but their order may change. It can be run again, on a table that has records.

const MIGRATION = '20261129000004_columns_in_reading_order'
const TABLE = `'"Property"'::regclass`

/** What the catalog knows of the table, without its number and the places of its columns. */
const CATALOG = {
  columns: `select attname, format_type(atttypid, atttypmod) as type, attnotnull, attstorage, attcollation::regcollation::text as collation, pg_get_expr(adbin, adrelid) as initial, col_description(attrelid, attnum) as comment
    from pg_attribute left join pg_attrdef on adrelid = attrelid and adnum = attnum where attrelid = ${TABLE} and attnum > 0 and not attisdropped order by attname`,
  constraints: `select conrelid::regclass::text as of, conname, pg_get_constraintdef(oid) as text from pg_constraint where ${TABLE} in (conrelid, confrelid) order by 1, 2`,
  indexes: `select pg_get_indexdef(indexrelid) as text from pg_index where indrelid = ${TABLE} order by 1`,
  triggers: `select pg_get_triggerdef(oid) as text, tgenabled from pg_trigger where tgrelid = ${TABLE} and not tgisinternal order by 1`,
  functions: `select pg_get_functiondef(p.oid) as text from pg_proc p where pronamespace = 'public'::regnamespace and prokind = 'f' order by 1`,
  privileges: `select grantee::regrole::text as role, privilege_type, is_grantable from pg_class, aclexplode(relacl) where oid = ${TABLE} and grantee <> relowner and grantee > 0 order by 1, 2`,
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
    await fillSample(database, 20)
    sql = (await readMigrations()).find(({ name }) => name === MIGRATION)?.sql ?? ''
  })
  afterAll(() => database?.close())

  test('keeps all that belongs to the table, and every record', async () => {
    await database.withClient(async client => {
      await client.query(`grant select, update on "Property" to pg_monitor with grant option; comment on column "Property"."City" is 'it''s a place'`)
      const before = await look(client)
      await client.query(`begin; ${sql}; commit`)
      expect(await look(client)).toEqual(before)
      expect(before['records']).toHaveLength(20)
      expect(before['privileges']).toHaveLength(2)
      expect(before['triggers']).not.toHaveLength(0)
    })
  })

  test('puts first what pages read', async () => {
    const rows = await database.prisma.$queryRawUnsafe<{ name: string }[]>(
      `select attname::text as name from pg_attribute where attrelid = ${TABLE} and attnum > 0 and not attisdropped order by attnum limit 3`,
    )
    expect(rows.map(({ name }) => name)).toEqual(['RecordVersion', 'ModificationTimestamp', 'ListingKey'])
  })

  test('refuses to drop what others have built on the table', async () => {
    await database.withClient(async client => {
      await client.query('create view others as select "City" from "Property"')
      await expect(client.query(`begin; ${sql}; commit`)).rejects.toThrow(/other objects depend on it/)
      await client.query('rollback')
      expect((await client.query('select count(*)::int as number from others')).rows).toEqual([{ number: 20 }])
    })
  })
})
