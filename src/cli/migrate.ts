import { readSettings } from '../config/config.js'
import { openDatabase } from '../data/database.js'
import { migrate } from '../data/migrate.js'
import { parseCommandLine, printWarning, runCommand } from './command.js'

// npm run migrate: migrates the database and prints the applied migrations.

const USAGE = `usage: npm run migrate

Applies the migrations that the database does not have, and prints their names. The service, import and seed do
this at their start.`

async function main(): Promise<void> {
  parseCommandLine(USAGE, {})
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    const { applied } = await migrate(database, undefined, { onWarning: printWarning })
    const lines =
      applied.length === 0 ? ['The database is up to date.'] : applied.map(name => `applied ${name}`)
    process.stdout.write(`${lines.join('\n')}\n`)
  } finally {
    await database.close()
  }
}

runCommand(main)
