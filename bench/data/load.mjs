import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { psql, psqlCommand, SERVICE, SHARED, urlOf } from './cluster.mjs'
import { toListing } from './listing.mjs'
import { GENERATED, multiply } from './multiply.mjs'
import { countOf, toCopyLine, toCopyText } from './rows.mjs'
import { createTable, INDEXES, namesOf, TABLES } from './tables.mjs'

const HOME = new URL('../../', import.meta.url)
const names = Object.keys(TABLES)
const quote = name => `"${name}"`
const copyFrom = (table, columns = namesOf(table)) =>
  `COPY ${quote(table)} (${columns.map(quote).join(', ')}) FROM STDIN;\n`

/** Returns the number of listings in a loaded database, or 0 if it is missing or incomplete. */
function loadedIn(database) {
  try {
    return Number(psql('SELECT listings FROM bench_info', database))
  } catch {
    return 0
  }
}

function recreate(database) {
  psql(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`, 'postgres')
  psql(`CREATE DATABASE ${database}`, 'postgres')
}

async function copy(database, table, columns, part) {
  const [command, args] = psqlCommand(database)
  const client = spawn(command, args, { stdio: ['pipe', 'inherit', 'inherit'] })
  client.stdin.write(copyFrom(table, columns))
  for (const piece of toCopyText(table, columns, part))
    if (!client.stdin.write(piece)) await once(client.stdin, 'drain')
  client.stdin.end('\\.\n')
  const [code] = await once(client, 'exit')
  if (code !== 0) throw new Error(`Loading ${table} into ${database} failed`)
}

/**
 * Loads two halves of the listings and the small tables in parallel, because PostgreSQL uses one core per
 * connection.
 */
async function copyAll(database, listings, columnsOf) {
  const generated = Math.min(listings, GENERATED)
  const whole = table => ({ from: 0, to: countOf(table, generated) })
  const half = Math.floor(generated / 2)
  const small = async () => {
    for (const table of names.filter(name => name !== 'Property'))
      await copy(database, table, columnsOf(table), whole(table))
  }
  const halves = [{ from: 0, to: half }, { from: half, to: generated }] // biome-ignore format: one row
  await Promise.all([small(), ...halves.map(part => copy(database, 'Property', columnsOf('Property'), part))])
  multiply(database, listings)
}

const finish = (database, listings) =>
  psql(`CREATE TABLE bench_info AS SELECT ${listings} AS listings; VACUUM ANALYZE; CHECKPOINT`, database)

async function loadShared(listings) {
  recreate(SHARED)
  psql(names.map(createTable).join(''), SHARED)
  await copyAll(SHARED, listings, namesOf)
  for (const statement of INDEXES) psql(statement, SHARED)
  finish(SHARED, listings)
}

/**
 * Disables triggers and foreign keys. The rows are consistent and contain their times. The database only
 * computes generated columns.
 */
const QUIET = `${names.map(table => `ALTER TABLE ${quote(table)} DISABLE TRIGGER ALL`).join('; ')};
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tgname FROM pg_trigger WHERE tgrelid = '"Property"'::regclass AND starts_with(tgname, 'write_') LOOP
      EXECUTE format('ALTER TABLE "Property" ENABLE TRIGGER %I', name);
    END LOOP;
  END $$`
const LOUD = names.map(table => `ALTER TABLE ${quote(table)} ENABLE TRIGGER ALL`).join('; ')

/** Records of the change log: the key, the listing that determines the visibility, and the audiences. */
const LISTING_AUDIENCES =
  'listing_audiences(p."StandardStatus", p."InternetEntireListingDisplayYN", p."ListAgentKey", p."ListOfficeKey")'
const LOGGED = [
  ['Office', 'r."OfficeKey"', 'NULL', `ARRAY['public']`, ''],
  ['Member', 'r."MemberKey"', 'NULL', `ARRAY['public']`, ''],
  ['Property', 'r."ListingKey"', 'r."ListingKey"', LISTING_AUDIENCES.replaceAll('p.', 'r.'), ''],
  ['Media', 'r."MediaKey"', 'r."PropertyKey"', LISTING_AUDIENCES, 'JOIN "Property" p ON p."ListingKey" = r."PropertyKey"'],
  ['Rooms', 'r."RoomKey"', 'r."ListingKey"', LISTING_AUDIENCES, 'JOIN "Property" p USING ("ListingKey")'],
] // biome-ignore format: one table a line

/** Rows get the numbers of their events while they are copied. Copies of `multiply` have none. */
const setNumbers = initial =>
  psql(
    LOGGED.map(([table]) => `ALTER TABLE "${table}" ALTER "LastEventSequence" SET DEFAULT ${initial}`).join(
      ';',
    ),
    SERVICE,
  )

/** Writes the event of each row, as an import does. */
function writeEvents() {
  for (const [table, key, listing, audiences, join] of LOGGED)
    psql(
      `INSERT INTO "EntityEvent" ("EntityEventSequence", "EventTimestamp", "ResourceName", "ResourceRecordKey", "ResourceRecordUrl", "Audience", "EarlierAudiences", "PropertyKey")
SELECT number, timestamptz '2026-01-01' + number * interval '1 millisecond', '${table}', key, record_url('${table}', key), audiences[i], audiences[:i - 1], listing
FROM (SELECT r."LastEventSequence" AS number, ${key} AS key, ${listing} AS listing, ${audiences} AS audiences FROM "${table}" r ${join} WHERE r."LastEventSequence" > 0) e,
  generate_subscripts(audiences, 1) i`,
      SERVICE,
    )
}

/**
 * Creates the tables of the service with its migrations, and the rows and events as an import leaves them.
 * Indexes are rebuilt after loading, which is faster and fills them like those of the other servers.
 */
async function loadService(listings) {
  recreate(SERVICE)
  const { status } = spawnSync(process.execPath, ['--import', './src/typescript.mjs', 'src/cli/migrate.ts'], {
    cwd: HOME,
    env: { ...process.env, DATABASE_URL: urlOf(SERVICE) },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  if (status !== 0) throw new Error('The migrations failed')
  const indexes = psql(
    `SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND indexdef NOT LIKE 'CREATE UNIQUE%' AND tablename <> '_prisma_migrations'`,
    SERVICE,
  ).split('\n')
  for (const index of indexes) psql(`DROP INDEX ${/INDEX ("[^"]+"|\S+) ON/.exec(index)[1]}`, SERVICE)
  psql(QUIET, SERVICE)
  setNumbers(`nextval('entity_event_sequence')`)
  await copyAll(SERVICE, listings, table =>
    table === 'Media' ? [...namesOf(table), 'PropertyKey'] : namesOf(table),
  )
  setNumbers(0)
  writeEvents()
  psql(LOUD, SERVICE)
  for (const index of indexes) psql(index, SERVICE)
  finish(SERVICE, listings)
}

/** Loads databases that are not loaded. Both contain the same rows. */
export async function load(listings, say) {
  for (const [database, fill] of [
    [SHARED, loadShared],
    [SERVICE, loadService],
  ]) {
    if (loadedIn(database) === listings) continue
    say(`loading ${listings} listings into ${database}`)
    await fill(listings)
  }
}

/** Warms the cache for all servers. */
const PREWARM = `CREATE EXTENSION IF NOT EXISTS pg_prewarm; SELECT sum(pg_prewarm(oid)) FROM pg_class WHERE relkind IN ('r', 'i', 't') AND relnamespace IN ('public'::regnamespace, 'pg_toast'::regnamespace)`

/**
 * Restores the listings that writes of an earlier run have changed, in both databases. A write moves a
 * listing to the end of the order by time, so servers would otherwise be compared on different pages.
 */
export function restore(numbers) {
  const columns = namesOf('Property').map(quote)
  const rows = [...numbers].map(i => toCopyLine(toListing(i), namesOf('Property'))).join('')
  const update = `UPDATE "Property" p SET (${columns.join(', ')}) = (SELECT ${columns.map(c => `o.${c}`).join(', ')} FROM original o WHERE o."ListingKey" = p."ListingKey") FROM original o WHERE o."ListingKey" = p."ListingKey";`
  for (const database of [SHARED, SERVICE])
    psql(
      `BEGIN; SET LOCAL listing.import = 'on'; CREATE TEMP TABLE original ON COMMIT DROP AS SELECT * FROM "Property" LIMIT 0;
${copyFrom('Property').replace('"Property"', 'original')}${rows}\\.
CREATE INDEX ON original ("ListingKey"); ANALYZE original;
DELETE FROM "Property" WHERE "ListingKey" LIKE 'Draft%'; ${update} COMMIT; VACUUM ANALYZE "Property"; ${PREWARM}`,
      database,
    )
}
