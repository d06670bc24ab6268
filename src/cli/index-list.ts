import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Client } from 'pg'
import { openDatabase } from '../data/database.js'
import { migrate } from '../data/migrate.js'
import type { Index } from '../data/sql/indexes.js'
import { ENTITIES } from '../model/model.js'

interface IndexRow extends Index {
  readonly table: string
  readonly isTrigram: boolean
}

/**
 * Selects the B-tree indexes of plain columns, without partial ones, and the columns with a trigram index.
 */
const SELECT_INDEXES = `
  select t.relname as "table", false as "isTrigram",
    array(select a.attname::text from unnest(i.indkey) with ordinality k(number, place)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number where k.place <= i.indnkeyatts order by k.place) as "keyColumns",
    array(select a.attname::text from unnest(i.indkey) with ordinality k(number, place)
      join pg_attribute a on a.attrelid = t.oid and a.attnum = k.number where k.place > i.indnkeyatts order by k.place) as "includedColumns"
  from pg_index i join pg_class t on t.oid = i.indrelid join pg_class x on x.oid = i.indexrelid join pg_am m on m.oid = x.relam
  where t.relnamespace = 'public'::regnamespace and t.relname = any ($1) and m.amname = 'btree' and i.indexprs is null and i.indpred is null
  union all
  select t.relname, true, array(select a.attname::text from pg_depend d join pg_attribute a on a.attrelid = t.oid and a.attnum = d.refobjsubid
      where d.objid = i.indexrelid and d.refobjid = t.oid), '{}'
  from pg_index i join pg_class t on t.oid = i.indrelid join pg_opclass o on o.oid = i.indclass[0]
  where t.relnamespace = 'public'::regnamespace and t.relname = any ($1) and o.opcname = 'gin_trgm_ops'`

const HEADER = `// Generated from the migrations by \`npm run schema -- --indexes\`. Do not edit.

/** The key columns of an index in their order, and the columns that it includes. */
export interface Index {
  readonly keyColumns: readonly string[]
  readonly includedColumns: readonly string[]
}
`

const renderList = (names: readonly string[]) => `[${names.map(name => `'${name}'`).join(', ')}]`

function renderTable(name: string, items: readonly string[]): string {
  return `  ${name}: [\n${items.map(item => `    ${item},\n`).join('')}  ],\n`
}

/** Renders src/data/sql/indexes.ts from the catalog of a migrated database. */
export async function renderIndexList(client: Client): Promise<string> {
  const { rows } = await client.query<IndexRow>(SELECT_INDEXES, [[...ENTITIES.keys()]])
  const keyOf = ({ keyColumns, includedColumns }: IndexRow) =>
    `${keyColumns.join()} ${includedColumns.join()}`
  rows.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))
  const tablesOf = (isTrigram: boolean, render: (row: IndexRow) => string) =>
    [...ENTITIES.keys()]
      .map(name => ({ name, own: rows.filter(row => row.table === name && row.isTrigram === isTrigram) }))
      .filter(({ own }) => own.length > 0)
      .map(({ name, own }) => renderTable(name, own.map(render)))
      .join('')
  const ordered = tablesOf(
    false,
    ({ keyColumns, includedColumns }) =>
      `{ keyColumns: ${renderList(keyColumns)}, includedColumns: ${renderList(includedColumns)} }`,
  )
  const trigram = tablesOf(true, ({ keyColumns }) => renderList(keyColumns).slice(1, -1))
  return `${HEADER}
/** The ordered indexes of all rows of the tables. */
export const INDEXES: Readonly<Record<string, readonly Index[]>> = {
${ordered}}

/** The columns whose lower-case text has an index of its trigrams. */
export const TRIGRAM_INDEXES: Readonly<Record<string, readonly string[]>> = {
${trigram}}
`
}

/** Migrates a new embedded database and renders the list of its indexes. */
export async function renderIndexListOfMigrations(): Promise<string> {
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-indexes-'))
  try {
    const settings = { dataDir, poolSize: 1, poolWaitMs: 10_000, statementTimeoutMs: 60_000 }
    const database = await openDatabase(settings, 'command')
    try {
      await migrate(database)
      return await database.withClient(renderIndexList)
    } finally {
      await database.close()
    }
  } finally {
    await rm(dataDir, { recursive: true, force: true })
  }
}
