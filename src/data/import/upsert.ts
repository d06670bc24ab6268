import type { Client } from 'pg'
import { type Entity, getEntity, type Scalar } from '../../model/model.js'
import type { Database } from '../database.js'

/** What a column of a record can hold on the way in. Exact decimals may be text. */
export type ColumnValue = string | number | boolean | null | readonly string[]

/** A record by column names; a column that is left out is null (empty, for a collection). */
export type TableRow = Readonly<Record<string, ColumnValue>>

/** Records by the name of their entity. */
export type TableBatch = Readonly<Record<string, readonly TableRow[]>>

/**
 * Parents stand before what refers to them. The change log is no entity of this list: only the database
 * writes it.
 */
const ENTITIES_IN_LOAD_ORDER: readonly Entity[] = [
  'Lookup',
  'Office',
  'Member',
  'Property',
  'Media',
  'Rooms',
  'OpenHouse',
].map(getEntity)

/** Names of the entities whose records can be loaded. */
export const LOADABLE_ENTITY_NAMES: ReadonlySet<string> = new Set(
  ENTITIES_IN_LOAD_ORDER.map(({ name }) => name),
)

/** The database refused a batch; nothing of it is kept. */
export class BatchLoadError extends Error {
  constructor(
    readonly batch: TableBatch,
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
  }
}

const quoteName = (name: string) => `"${name}"`

/**
 * Columns that a record can bring: not those that the database computes or keeps for itself, but
 * ChangedByMemberKey, which nobody can read.
 */
const writableColumnsOf = (entityType: Entity): readonly Scalar[] =>
  [...entityType.fields.values()].filter(f => f.kind === 'scalar').filter(f => !f.generated)

function renderColumnValue({ name, type, collection, nullable }: Scalar): string {
  if (collection) return `coalesce(r.${quoteName(name)}, '{}')`
  return type === 'DateTimeOffset' && !nullable
    ? `coalesce(r.${quoteName(name)}, now())`
    : `r.${quoteName(name)}`
}

/**
 * `json_populate_recordset` makes rows of the table's own types out of one JSON text, numbers digit by digit;
 * a missing member is null. The same with jsonb took a third longer, since it builds a tree first.
 */
function renderUpsert(entityType: Entity): string {
  const columns = writableColumnsOf(entityType)
  const names = columns.map(({ name }) => quoteName(name))
  const assignments = names
    .filter(name => name !== quoteName(entityType.key.name))
    .map(name => `${name} = excluded.${name}`)
  return (
    `insert into ${quoteName(entityType.name)} (${names.join(', ')}) select ${columns.map(renderColumnValue).join(', ')} ` +
    `from json_populate_recordset(null::${quoteName(entityType.name)}, $1::json) r on conflict (${quoteName(entityType.key.name)}) do update set ${assignments.join(', ')}`
  )
}

/** The rows that belong to records and go when those are replaced. */
const renderDeletes = (entityType: Entity): readonly string[] =>
  entityType.navigations
    .filter(n => n.relation && n.collection)
    .map(n => `delete from ${quoteName(n.target)} where ${quoteName(n.foreign)} = any($1::text[])`)

const LOAD_STATEMENTS = ENTITIES_IN_LOAD_ORDER.map(of => ({
  name: of.name,
  key: of.key.name,
  upsert: renderUpsert(of),
  deletes: renderDeletes(of),
}))

/**
 * `listing.import` tells the triggers to keep the timestamps that the records bring. The triggers' own
 * statements are planned once, not once a row.
 */
const BEGIN_IMPORT = `begin; set local listing.import = 'on'; set local plan_cache_mode = 'force_generic_plan'`

async function writeBatch(client: Client, batch: TableBatch): Promise<void> {
  for (const { name, key, upsert, deletes } of LOAD_STATEMENTS) {
    const rows = batch[name] ?? []
    if (rows.length === 0) continue
    // Before the parents come: a new parent adopts media that were there before it, and those stay.
    for (const statement of deletes) await client.query(statement, [rows.map(row => row[key])])
    await client.query(upsert, [JSON.stringify(rows)])
  }
}

async function commitBatch(client: Client, batch: TableBatch): Promise<void> {
  await client.query(BEGIN_IMPORT)
  try {
    await writeBatch(client, batch)
    await client.query('commit')
  } catch (error) {
    // If the connection is gone, so is the transaction: the first error is the one to tell.
    await client.query('rollback').catch(() => undefined)
    throw new BatchLoadError(batch, error)
  }
}

/**
 * Writes batches in the order they come, each in one transaction, on one connection. Records with a key that
 * is there are replaced with the rows that hang on them. Within a batch no key may come twice. The next batch
 * is made while the database writes the one before.
 * @param onCommitted called when a batch is committed.
 * @throws LoadError; batches committed before stay.
 */
export async function loadBatches(
  database: Database,
  batches: Iterable<TableBatch> | AsyncIterable<TableBatch>,
  onCommitted: (batch: TableBatch) => void = () => undefined,
): Promise<void> {
  await database.withClient(async client => {
    let pendingWrite = Promise.resolve()
    try {
      for await (const batch of batches) {
        await pendingWrite
        pendingWrite = commitBatch(client, batch).then(() => onCommitted(batch))
        // Whoever waits for it above or below gets the error; until then it is not unheard.
        pendingWrite.catch(() => undefined)
      }
    } finally {
      // Also when there is no next batch because making it failed: what was begun is finished.
      await pendingWrite
    }
  })
}

/** Writes one batch in one transaction, as `loadBatches` does. */
export const loadSingleBatch = (database: Database, batch: TableBatch): Promise<void> =>
  loadBatches(database, [batch])
