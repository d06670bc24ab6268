import type { Client } from 'pg'
import { type Entity, entity, type Scalar } from '../../model/model.js'
import type { Database } from '../database.js'

/** What a column of a record can hold on the way in. Exact decimals may be text. */
export type Value = string | number | boolean | null | readonly string[]

/** A record by column names; a column that is left out is null (empty, for a collection). */
export type Row = Readonly<Record<string, Value>>

/** Records by the name of their entity. */
export type Batch = Readonly<Record<string, readonly Row[]>>

/**
 * Parents stand before what refers to them. The change log is no entity of this list: only the database
 * writes it.
 */
const LOADED: readonly Entity[] = [
  'Lookup',
  'Office',
  'Member',
  'Property',
  'Media',
  'Rooms',
  'OpenHouse',
].map(entity)

/** Names of the entities whose records can be loaded. */
export const LOADABLE: ReadonlySet<string> = new Set(LOADED.map(({ name }) => name))

/** The database refused a batch; nothing of it is kept. */
export class LoadError extends Error {
  constructor(
    readonly batch: Batch,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

const quote = (name: string) => `"${name}"`

/**
 * Columns that a record can bring: not those that the database computes or keeps for itself, but
 * ChangedByMemberKey, which nobody can read.
 */
const toColumns = (of: Entity): readonly Scalar[] =>
  [...of.fields.values()].filter(f => f.kind === 'scalar').filter(f => !f.generated)

function renderValue({ name, type, collection, nullable }: Scalar): string {
  if (collection) return `coalesce(r.${quote(name)}, '{}')`
  return type === 'DateTimeOffset' && !nullable ? `coalesce(r.${quote(name)}, now())` : `r.${quote(name)}`
}

/**
 * `json_populate_recordset` makes rows of the table's own types out of one JSON text, numbers digit by digit;
 * a missing member is null. The same with jsonb took a third longer, since it builds a tree first.
 */
function renderUpsert(of: Entity): string {
  const columns = toColumns(of)
  const names = columns.map(({ name }) => quote(name))
  const changes = names.filter(name => name !== quote(of.key.name)).map(name => `${name} = excluded.${name}`)
  return (
    `insert into ${quote(of.name)} (${names.join(', ')}) select ${columns.map(renderValue).join(', ')} ` +
    `from json_populate_recordset(null::${quote(of.name)}, $1::json) r on conflict (${quote(of.key.name)}) do update set ${changes.join(', ')}`
  )
}

/** The rows that belong to records and go when those are replaced. */
const renderDeletes = (of: Entity): readonly string[] =>
  of.navigations
    .filter(n => n.relation && n.collection)
    .map(n => `delete from ${quote(n.target)} where ${quote(n.foreign)} = any($1::text[])`)

const STATEMENTS = LOADED.map(of => ({
  name: of.name,
  key: of.key.name,
  upsert: renderUpsert(of),
  deletes: renderDeletes(of),
}))

/**
 * `listing.import` tells the triggers to keep the timestamps that the records bring. The triggers' own
 * statements are planned once, not once a row.
 */
const BEGIN = `begin; set local listing.import = 'on'; set local plan_cache_mode = 'force_generic_plan'`

async function writeBatch(client: Client, batch: Batch): Promise<void> {
  for (const { name, key, upsert, deletes } of STATEMENTS) {
    const rows = batch[name] ?? []
    if (rows.length === 0) continue
    // Before the parents come: a new parent adopts media that were there before it, and those stay.
    for (const statement of deletes) await client.query(statement, [rows.map(row => row[key])])
    await client.query(upsert, [JSON.stringify(rows)])
  }
}

async function loadBatch(client: Client, batch: Batch): Promise<void> {
  await client.query(BEGIN)
  try {
    await writeBatch(client, batch)
    await client.query('commit')
  } catch (error) {
    // If the connection is gone, so is the transaction: the first error is the one to tell.
    await client.query('rollback').catch(() => undefined)
    throw new LoadError(batch, error)
  }
}

/**
 * Writes batches in the order they come, each in one transaction, on one connection. Records with a key that
 * is there are replaced with the rows that hang on them. Within a batch no key may come twice. The next batch
 * is made while the database writes the one before.
 * @param onLoaded called when a batch is committed.
 * @throws LoadError; batches committed before stay.
 */
export async function loadBatches(
  database: Database,
  batches: Iterable<Batch> | AsyncIterable<Batch>,
  onLoaded: (batch: Batch) => void = () => undefined,
): Promise<void> {
  await database.withClient(async client => {
    let writing = Promise.resolve()
    try {
      for await (const batch of batches) {
        await writing
        writing = loadBatch(client, batch).then(() => onLoaded(batch))
        // Whoever waits for it above or below gets the error; until then it is not unheard.
        writing.catch(() => undefined)
      }
    } finally {
      // Also when there is no next batch because making it failed: what was begun is finished.
      await writing
    }
  })
}

/** Writes one batch in one transaction, as `loadBatches` does. */
export const loadRecords = (database: Database, batch: Batch): Promise<void> => loadBatches(database, [batch])
