import { stat } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { readSettings } from '../config.js'
import { type Database, openDatabase } from '../data/database.js'
import { importFile } from '../data/import.js'
import { loadLookups } from '../data/lookups.js'
import { migrate } from '../data/migrate.js'
import { startProgress } from './progress.js'

// npm run import: loads a JSON file of entity sets.

const USAGE = 'usage: npm run import -- FILE.json'

/** @throws Error with a sentence for the person who typed the command. */
async function readFileName(args: readonly string[]): Promise<{ readonly path: string; readonly size: number }> {
  const { positionals } = parseArgs({ args: [...args], allowPositionals: true, options: {} })
  const [path, ...others] = positionals
  if (path === undefined || others.length > 0) throw new Error(USAGE)
  const file = await stat(path).catch(() => undefined)
  if (!file?.isFile()) throw new Error(`There is no file ${path}.`)
  return { path, size: file.size }
}

const renderCounts = (counts: ReadonlyMap<string, number>): string => [...counts].map(([entity, records]) => `${entity} ${records}`).join(', ')

async function run(database: Database, path: string, size: number): Promise<void> {
  const counts = new Map<string, number>()
  const skipped: string[] = []
  const progress = startProgress('{bar} {percentage}% of the file | {eta_formatted} left', size)
  let passes = 0
  try {
    await importFile(database, path, {
      onSkipped: member => skipped.push(member),
      onBytes: bytes => progress.advance(passes * size + bytes),
      onPass: () => progress.extend(size * (++passes + 1)),
      onLoaded: (entity, records) => counts.set(entity, (counts.get(entity) ?? 0) + records),
    })
  } catch (error) {
    process.stderr.write(counts.size > 0 ? `\nImported before this failed: ${renderCounts(counts)}\n` : '\nNothing was imported.\n')
    throw error
  } finally {
    progress.stop()
    for (const member of skipped) process.stderr.write(`warning: '${member}' is no entity set and was skipped\n`)
  }
  process.stdout.write(counts.size > 0 ? `Imported: ${renderCounts(counts)}\n` : 'The file holds no records.\n')
}

async function main(): Promise<void> {
  const { path, size } = await readFileName(process.argv.slice(2))
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    await migrate(database)
    await loadLookups(database)
    await run(database, path, size)
  } finally {
    await database.close()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
