import { readSettings } from '../config.js'
import { openDatabase } from '../data/database.js'
import { migrate } from '../data/migrate.js'

// npm run migrate: brings the database to the state of the code, and says what it did.

async function main(): Promise<void> {
  const database = await openDatabase(readSettings(process.env), 'command')
  try {
    const { applied } = await migrate(database)
    const lines = applied.length === 0 ? ['The database is up to date.'] : applied.map(name => `applied ${name}`)
    process.stdout.write(`${lines.join('\n')}\n`)
  } finally {
    await database.close()
  }
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
