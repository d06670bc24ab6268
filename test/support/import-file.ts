import { execFile } from 'node:child_process'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from '../../src/data/database.js'
import { type ImportOptions, type ImportResult, importFile } from '../../src/data/import/import.js'
import type { RowCounts } from '../../src/data/import/load-records.js'
import type { TestDatabase } from './database.js'

export type RowChangeCounts = Omit<RowCounts, 'loaded'>

/** An import as its listener saw it. */
export interface ImportedFile {
  /** Rows that were written or equal to those stored, by entity. */
  readonly counts: Readonly<Record<string, number>>
  readonly changes: Readonly<Record<string, RowChangeCounts>>
  readonly skipped: readonly string[]
  readonly result: ImportResult
}

/** Writes a file with the content, which is JSON unless it is a text or bytes. Returns its path. */
export async function writeImportFile(content: unknown): Promise<string> {
  const path = join(await mkdtemp(join(tmpdir(), 'listing-import-')), 'file.json')
  const isRaw = typeof content === 'string' || Buffer.isBuffer(content)
  await writeFile(path, isRaw ? content : JSON.stringify(content))
  return path
}

/** Imports content as `writeImportFile` takes it. */
export async function importContent(
  database: Database,
  content: unknown,
  options: ImportOptions = {},
): Promise<ImportedFile> {
  const counts: Record<string, number> = {}
  const changes: Record<string, RowChangeCounts> = {}
  const skipped: string[] = []
  const result = await importFile(database, await writeImportFile(content), {
    ...options,
    onSkipped: member => skipped.push(member),
    onLoaded: (entity, { loaded, ...more }) => {
      counts[entity] = (counts[entity] ?? 0) + loaded
      const known = changes[entity] ?? { new: 0, changed: 0, removed: 0 }
      changes[entity] = {
        new: known.new + more.new,
        changed: known.changed + more.changed,
        removed: known.removed + more.removed,
      }
    },
  })
  return { counts, changes, skipped, result }
}

/**
 * Imports on the command line; returns the exit code and what was printed. The database of the test is open, as
 * it is while the service runs, and the command connects to it.
 */
export async function runImportCommand(
  database: TestDatabase,
  content: unknown,
  ...options: readonly string[]
): Promise<readonly [code: unknown, out: string, err: string]> {
  const path = await writeImportFile(content)
  const { dataDir, databaseUrl = '' } = database.settings
  const env = { ...process.env, DATA_DIR: dataDir, DATABASE_URL: databaseUrl }
  const program = ['--import', './src/typescript.mjs', 'src/cli/import.ts', path, ...options]
  return new Promise(resolve => {
    execFile(process.execPath, program, { env }, (error, out, err) => resolve([error?.code ?? 0, out, err]))
  })
}
