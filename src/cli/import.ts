import { stat } from 'node:fs/promises'
import { readSettings } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { FILE_ENCODINGS, type FileEncoding } from '../data/import/decode-text.js'
import {
  FileRefusedError,
  IMPORTABLE_SET_NAMES,
  type ImportOptions,
  type ImportResult,
  importFile,
} from '../data/import/import.js'
import type { RowCounts } from '../data/import/load-records.js'
import { loadLookups } from '../data/import/lookup-seed.js'
import { migrate } from '../data/migrate.js'
import { commandWriter, exitWithUsage, parseCommandLine, printWarning, runCommand } from './command.js'
import { startProgressBar } from './progress.js'

// npm run import: loads a JSON file of entity sets.

const USAGE = `usage: npm run import -- FILE.json [--encoding windows-1252] [--dry-run] [--skip-faults] [--strict] [--max-faults N]

Loads a JSON object of entity sets, such as {"Property":[...],"Member":[...]}. The whole file is checked before
anything is written. A record replaces the one with the same key; an equal record changes nothing.

  --dry-run         only checks the file
  --skip-faults     imports the records without faults and lists the others
  --strict          treats warnings as faults
  --max-faults N    prints at most N faults (default 100) and counts the others
  --encoding NAME   utf-8 (default) or windows-1252`

interface ImportArguments {
  readonly path: string
  readonly size: number
  readonly options: Pick<ImportOptions, 'encoding' | 'isDryRun' | 'skipFaults' | 'isStrict' | 'maxFaults'>
}

/**
 * Reads and checks the arguments.
 * @throws Error with a message for the user
 */
async function readArguments(): Promise<ImportArguments> {
  const { positionals, values } = parseCommandLine(USAGE, {
    allowPositionals: true,
    options: {
      encoding: { type: 'string', default: 'utf-8' },
      'dry-run': { type: 'boolean', default: false },
      'skip-faults': { type: 'boolean', default: false },
      strict: { type: 'boolean', default: false },
      'max-faults': { type: 'string', default: '100' },
    },
  })
  const [path, ...others] = positionals
  if (path === undefined) exitWithUsage(USAGE, 'The file name is missing.')
  if (others.length > 0)
    exitWithUsage(USAGE, `Only one file can be imported at a time; unexpected: '${others.join(' ')}'.`)
  const options = {
    encoding: readEncoding(values.encoding),
    isDryRun: values['dry-run'],
    skipFaults: values['skip-faults'],
    isStrict: values.strict,
    maxFaults: readMaxFaults(values['max-faults']),
  }
  const file = await stat(path).catch(() => undefined)
  if (!file) throw new Error(`There is no file ${path}.`)
  if (!file.isFile())
    throw new Error(`${path} is ${file.isDirectory() ? 'a folder' : 'a device or a pipe'}, not a file.`)
  return { path, size: file.size, options }
}

function readEncoding(name: string): FileEncoding {
  const encoding = FILE_ENCODINGS.find(known => known === name.toLowerCase())
  return encoding ?? exitWithUsage(USAGE, `--encoding is '${name}'; expected ${FILE_ENCODINGS.join(' or ')}.`)
}

function readMaxFaults(text: string): number {
  if (/^\d{1,7}$/.test(text)) return Number(text)
  return exitWithUsage(USAGE, `--max-faults is '${text}'; expected a number from 0 to 9999999.`)
}

/** Sums the loaded records by entity. */
class LoadedCounts {
  readonly #counts = new Map<string, RowCounts>()

  add(entity: string, more: RowCounts): void {
    const known = this.#counts.get(entity)
    this.#counts.set(entity, {
      loaded: (known?.loaded ?? 0) + more.loaded,
      new: (known?.new ?? 0) + more.new,
      changed: (known?.changed ?? 0) + more.changed,
      removed: (known?.removed ?? 0) + more.removed,
    })
  }

  get isEmpty(): boolean {
    return this.#counts.size === 0
  }

  /** `Property 200 (3 new, 197 unchanged), Media 900 (900 unchanged)` */
  render(): string {
    const entities = [...this.#counts].map(([entity, counts]) => {
      const unchanged = counts.loaded - counts.new - counts.changed
      const parts = { new: counts.new, changed: counts.changed, unchanged, removed: counts.removed }
      const words = Object.entries(parts).flatMap(([word, count]) => (count > 0 ? [`${count} ${word}`] : []))
      return `${entity} ${counts.loaded} (${words.join(', ')})`
    })
    return entities.join(', ')
  }
}

const writeError = (line: string): void => {
  process.stderr.write(`${line}\n`)
}

function printWarnings(result: ImportResult | undefined, skipped: readonly string[]): void {
  for (const reason of skipped) writeError(`warning: ${reason}`)
  for (const { text, cases, first } of result?.warnings ?? [])
    writeError(`warning: ${cases} ${cases === 1 ? 'case' : 'cases'}: ${text}. The first: ${first}`)
}

function printFaults({ faults, faultCount }: ImportResult): void {
  for (const fault of faults) writeError(fault)
  const others = faultCount - faults.length
  if (others > 0) writeError(`and ${others} more (--max-faults)`)
}

async function runImport(database: Database, { path, size, options }: ImportArguments): Promise<void> {
  const loaded = new LoadedCounts()
  const skipped: string[] = []
  const progress = startProgressBar({ step: 'Checking', total: size, unit: 'bytes' })
  try {
    const result = await importFile(database, path, {
      ...options,
      actor: commandWriter(),
      onSkipped: (_member, reason) => skipped.push(reason),
      onPass: pass => {
        if (pass === 'load') progress.restart('Loading')
      },
      onBytes: bytes => progress.update(bytes),
      onLoaded: (entity, counts) => loaded.add(entity, counts),
    })
    printWarnings(result, skipped)
    printFaults(result)
    // True if every member was skipped: the file most likely has another format. An empty entity set is not
    // skipped.
    const isForeign = skipped.length > 0 && result.counts.size === 0 && result.faultCount === 0
    return isForeign ? failWithoutRecords() : printCounts(result, loaded, options.isDryRun === true)
  } catch (error) {
    if (!(error instanceof FileRefusedError)) {
      if (!loaded.isEmpty) writeError(`Imported before this failed: ${loaded.render()}`)
      throw error
    }
    printWarnings(error.result, skipped)
    printFaults(error.result)
    throw new Error(`Nothing was imported: ${countFaults(error.result.faultCount)}.`)
  } finally {
    progress.stop()
  }
}

function failWithoutRecords(): never {
  throw new Error(
    `The file contains no records. It must have arrays named after entity sets: ${IMPORTABLE_SET_NAMES.join(', ')}.`,
  )
}

const countFaults = (faults: number): string => `${faults} ${faults === 1 ? 'fault' : 'faults'}`

function printCounts(result: ImportResult, loaded: LoadedCounts, isDryRun: boolean): void {
  const { counts, faultCount, leftOut } = result
  if (faultCount > 0) writeError(`Skipped: ${leftOut} records with ${countFaults(faultCount)}.`)
  const checked = [...counts].map(([entity, count]) => `${entity} ${count}`)
  const written = loaded.isEmpty ? 'The file contains no records.' : `Imported: ${loaded.render()}`
  const isChecked = isDryRun && checked.length > 0
  process.stdout.write(`${isChecked ? `Checked without writing: ${checked.join(', ')}` : written}\n`)
}

async function main(): Promise<void> {
  const parsed = await readArguments()
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    if (!parsed.options.isDryRun) {
      await migrate(database, undefined, { onWarning: printWarning })
      await loadLookups(database)
    }
    await runImport(database, parsed)
  } finally {
    await database.close()
  }
}

runCommand(main)
