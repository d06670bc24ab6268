import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DuckDBInstance } from '@duckdb/node-api'
import { Client } from 'pg'
import type { TestApp } from '../support/app.js'
import { REPLICATED_SETS } from '../support/clients/replicated-sets.js'

/** Reads a set as NDJSON lines. */
export async function readSourceLines(app: TestApp, token: string, set: string): Promise<readonly string[]> {
  const headers = { Authorization: `Bearer ${token}`, Accept: 'application/x-ndjson' }
  const { text } = await app.send(`/odata/${set}`, { headers })
  return text.trimEnd().split('\n').slice(0, -1)
}

/** Returns the numbers of rows that are only in the copy and only in the source. All columns count. */
type CopyComparison = (
  set: string,
  lines: readonly string[],
) => Promise<readonly [copy: number, source: number]>

async function comparePostgres(url: string): Promise<readonly [CopyComparison, () => Promise<void>]> {
  const client = new Client({ connectionString: url })
  await client.connect()
  const compare: CopyComparison = async (set, lines) => {
    const { rows } = await client.query<{ name: string }>(
      `select quote_ident(column_name) as name from information_schema.columns where table_schema = 'replica' and table_name = $1 and column_name <> '_generation'`,
      [set],
    )
    const columns = rows.map(({ name }) => name).join(', ')
    const source = `select ${columns} from json_populate_recordset(null::replica."${set}", $1::json)`
    const copy = `select ${columns} from replica."${set}"`
    const count = await client.query<{ copy: number; source: number }>(
      `select (select count(*)::int from (${copy} except all ${source}) x) as copy, (select count(*)::int from (${source} except all ${copy}) x) as source`,
      [`[${lines.join(',')}]`],
    )
    return [count.rows[0]?.copy ?? -1, count.rows[0]?.source ?? -1]
  }
  return [compare, () => client.end()]
}

/** Opens a DuckDB file for the duration of a callback. */
export async function queryDuckDB(path: string, ...statements: readonly string[]): Promise<unknown[][]> {
  const instance = await DuckDBInstance.create(path)
  const connection = await instance.connect()
  let rows: unknown[][] = []
  for (const sql of statements) rows = (await connection.runAndReadAll(sql)).getRowsJson()
  connection.closeSync()
  instance.closeSync()
  return rows
}

const compareDuckDB =
  (path: string): CopyComparison =>
  async (set, lines) => {
    const rows = await queryDuckDB(path, `select * exclude (_generation) from "${set}"`)
    const names = await queryDuckDB(
      path,
      `select column_name, data_type from information_schema.columns where table_name = '${set}' and column_name <> '_generation' order by ordinal_position`,
    )
    const toText = (value: unknown, type: unknown): string => {
      if (value === null || value === undefined) return 'null'
      if (String(type).startsWith('TIMESTAMP')) return String(Date.parse(String(value).replace(/\+00$/, 'Z')))
      if (String(type).startsWith('DECIMAL')) return String(Number(value))
      return typeof value === 'string' ? value : JSON.stringify(value)
    }
    const source = lines.map(line => {
      const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a record
      return names.map(([name, type]) => toText(record[String(name)], type)).join('|')
    })
    const copy = rows.map(row => row.map((value, i) => toText(value, names[i]?.[1])).join('|'))
    const [inSource, inCopy] = [new Set(source), new Set(copy)]
    return [
      copy.filter(row => !inSource.has(row)).length + copy.length - inCopy.size,
      source.filter(row => !inCopy.has(row)).length,
    ]
  }

/** Reads the valid lines of a copy in a folder, by key. */
export async function readFolder(folder: string, set: string): Promise<ReadonlyMap<string, string>> {
  const state = JSON.parse(await readFile(join(folder, 'state.json'), 'utf8')) as {
    files: Readonly<Record<string, { name: string; bytes: number }>>
  } // as docs/replication.md has it
  const file = state.files[set]
  if (!file) throw new Error(`No file of ${set}`)
  const bytes = (await readFile(join(folder, file.name))).subarray(0, file.bytes)
  const records = new Map<string, string>()
  for (const line of bytes.toString('utf8').split('\n').filter(Boolean)) {
    const record = JSON.parse(line) as Readonly<Record<string, unknown>> // a record or a removal
    if ('@removed' in record) records.delete(String(record['@removed']))
    else records.set(String(record[REPLICATED_SETS[set] ?? '']), line)
  }
  return records
}

const compareFolder =
  (folder: string): CopyComparison =>
  async (set, lines) => {
    const copy = [...(await readFolder(folder, set)).values()]
    const [inCopy, inSource] = [new Set(copy), new Set(lines)]
    return [copy.filter(line => !inSource.has(line)).length, lines.filter(line => !inCopy.has(line)).length]
  }

/** Compares a copy with everything that a token can see. Returns differences by set. */
export async function compareCopy(
  app: TestApp,
  token: string,
  to: string,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const [compare, close] = to.startsWith('postgres')
    ? await comparePostgres(to)
    : [to.endsWith('.duckdb') ? compareDuckDB(to) : compareFolder(to), async () => undefined]
  const differences: Record<string, readonly number[]> = {}
  try {
    for (const set of Object.keys(REPLICATED_SETS)) {
      const lines = await readSourceLines(app, token, set)
      const counts = await compare(set, lines)
      if (counts.some(count => count !== 0)) differences[set] = counts
    }
  } finally {
    await close()
  }
  return differences
}

/** Counts the records of a set in a copy. */
export async function countCopied(to: string, set: string): Promise<number> {
  if (to.endsWith('.duckdb')) return Number((await queryDuckDB(to, `select count(*) from "${set}"`))[0]?.[0])
  if (!to.startsWith('postgres')) return (await readFolder(to, set).catch(() => new Map())).size
  const client = new Client({ connectionString: to })
  await client.connect()
  const { rows } = await client.query<{ count: number }>(
    `select count(*)::int as count from replica."${set}"`,
  )
  await client.end()
  return rows[0]?.count ?? -1
}
