import { stat } from 'node:fs/promises'
import { readSettings } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { IMPORTABLE_SET_NAMES, importFile } from '../data/import/import.js'
import { loadLookups } from '../data/import/lookup-seed.js'
import { migrate } from '../data/migrate.js'
import { exitWithUsage, parseCommandLine, runCommand } from './command.js'
import { startProgressBar } from './progress.js'

// npm run import: loads a JSON file of entity sets.

const USAGE = 'usage: npm run import -- FILE.json'

/** @throws Error with a sentence for the person who typed the command. */
async function readFileArgument(): Promise<{ readonly path: string; readonly size: number }> {
  const [path, ...others] = parseCommandLine(USAGE, { allowPositionals: true }).positionals
  if (path === undefined) exitWithUsage(USAGE, 'The name of the file is missing.')
  if (others.length > 0) exitWithUsage(USAGE, `One file at a time: '${others.join(' ')}' is too much.`)
  const file = await stat(path).catch(() => undefined)
  if (!file) throw new Error(`There is no file ${path}.`)
  if (!file.isFile())
    throw new Error(`${path} is ${file.isDirectory() ? 'a folder' : 'a device or a pipe'}, not a file.`)
  return { path, size: file.size }
}

const renderCounts = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([entity, records]) => `${entity} ${records}`).join(', ')

async function runImport(database: Database, path: string, size: number): Promise<void> {
  const counts = new Map<string, number>()
  const warnings: string[] = []
  const progress = startProgressBar('{bar} {percentage}% of the file | {eta_formatted} left', size)
  let passes = 0
  try {
    await importFile(database, path, {
      onSkipped: (_member, reason) => warnings.push(reason),
      onBytes: bytes => progress.update(passes * size + bytes),
      onPass: () => progress.setTotal(size * (++passes + 1)),
      onLoaded: (entity, records) => counts.set(entity, (counts.get(entity) ?? 0) + records),
    })
  } catch (error) {
    process.stderr.write(
      counts.size > 0
        ? `\nImported before this failed: ${renderCounts(counts)}\n`
        : '\nNothing was imported.\n',
    )
    throw error
  } finally {
    progress.stop()
    for (const reason of warnings) process.stderr.write(`warning: ${reason}\n`)
  }
  // Nothing but what was passed over: most likely the file is not of this form. A set may be empty.
  if (counts.size === 0 && warnings.length > 0)
    throw new Error(
      `The file holds no records. It takes lists under the names of entity sets: ${IMPORTABLE_SET_NAMES.join(', ')}.`,
    )
  process.stdout.write(
    counts.size === 0 ? 'The file holds no records.\n' : `Imported: ${renderCounts(counts)}\n`,
  )
}

async function main(): Promise<void> {
  const { path, size } = await readFileArgument()
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    await migrate(database)
    await loadLookups(database)
    await runImport(database, path, size)
  } finally {
    await database.close()
  }
}

runCommand(main)
