import { readSettings } from '../config/config.js'
import { pruneAudit, pruneLog } from '../data/changes/prune.js'
import { openDatabase } from '../data/database.js'
import { parseCommandLine, runCommand } from './command.js'

// npm run prune: drops old events of the change log and old entries of the audit log, and prints their numbers.

const USAGE = `usage: npm run prune

Drops events of the change log that are older than LOG_KEEP_DAYS and that no reader needs: those before the last
event of their record, and those of deleted records. Clients whose position is older get 410 and copy again.
Drops entries of the audit log that are older than AUDIT_KEEP_DAYS.`
const DAY_MS = 86_400_000

async function main(): Promise<void> {
  parseCommandLine(USAGE, {})
  const settings = readSettings(process.env)
  const database = await openDatabase(settings, 'command')
  try {
    const cutoff = new Date(Date.now() - settings.logKeepDays * DAY_MS)
    const { compacted, deletions } = await pruneLog(database, cutoff)
    process.stdout.write(
      `dropped ${compacted} events before the last one of their record, and ${deletions} of deleted records, all before ${cutoff.toISOString()}\n`,
    )
    const entries = await pruneAudit(database, settings.auditKeepDays)
    process.stdout.write(
      `dropped ${entries} entries of the audit log older than ${settings.auditKeepDays} days\n`,
    )
  } finally {
    await database.close()
  }
}

runCommand(main)
