import { readSettings } from '../config/config.js'
import { beginLog } from '../data/changes/begin-log.js'
import { openDatabase } from '../data/database.js'
import { migrate } from '../data/migrate.js'
import { parseCommandLine, printWarning, runCommand } from './command.js'

// npm run migrate: migrates the database and prints the applied migrations. With --new-log it begins a new change log.

const USAGE = `usage: npm run migrate [-- --new-log]

Applies the migrations that the database does not have, and prints their names. The service, import and seed do
this at their start.
  --new-log  begins a new change log, after a backup was restored: positions of the old one get 410, and clients
             copy again`

async function main(): Promise<void> {
  const { values } = parseCommandLine(USAGE, { options: { 'new-log': { type: 'boolean', default: false } } })
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    const { applied } = await migrate(database, undefined, { onWarning: printWarning })
    const lines =
      applied.length === 0 ? ['The database is up to date.'] : applied.map(name => `applied ${name}`)
    process.stdout.write(`${lines.join('\n')}\n`)
    if (!values['new-log']) return
    await beginLog(database)
    process.stdout.write('The change log is new. Clients copy again.\n')
  } finally {
    await database.close()
  }
}

runCommand(main)
