import { onStopSignal } from '../process/stop.js'
import { runClient, toReplicationError } from '../replicate/client.js'
import { REPLICATION_EXIT } from '../replicate/failure.js'
import { REPLICATE_OPTIONS, readSettings } from '../replicate/settings.js'
import { exitWithUsage, parseCommandLine } from './command.js'
import { ProgressDisplay } from './progress-display.js'

// npm run replicate: copies the records that a token can see into a database or a folder, and follows the changes.

const USAGE = `usage: npm run replicate -- --from URL --to TARGET [OPTIONS]

Copies the records that a token can see, and follows the changes.

  --from URL            address of the source: this service or another RESO server
  --to TARGET           postgres://…, a folder, or FILE.duckdb
  --token-file FILE     file with the token; default: the environment variable REPLICATE_TOKEN
  --token TOKEN         the token; other users of the machine can see it in the list of processes
  --sets NAMES          the entity sets to copy, such as Property,Media; default: all
  --filter SET=FILTER   copies only matching records, such as "Property=City eq 'Vail'"; can be repeated
  --schema NAME         the schema of the copy in PostgreSQL; default replica
  --once                ends when the copy is up to date
  --interval SECONDS    time between two reads of the changes; default 5
  --sweep-hours N       time between two sweeps of a source without a change log; default 24
  --max-wait SECONDS    maximum wait for the source; default 60 with --once, otherwise no limit
  --verify              compares the copy with the source
  --repair              compares, and reads the records that differ again
  --recopy              makes a new copy
  --accept-change       accepts another source, filter, set, or other rights of the token
  --allow-deletions     deletes records even if they are more than 20 % of a set`

const writeLine = (line: string): void => {
  process.stderr.write(`${new Date().toISOString()} ${line}\n`)
}

async function main(): Promise<void> {
  const { values } = parseCommandLine(USAGE, { options: REPLICATE_OPTIONS })
  const settings = readSettings(values, process.env['REPLICATE_TOKEN'])
  const stop = new AbortController()
  onStopSignal(() => stop.abort())
  const progress = new ProgressDisplay()
  try {
    await runClient(settings, {
      signal: stop.signal,
      log: line => progress.interrupt(() => writeLine(line)),
      onProgress: (step, count, total) => progress.update(step, count, total),
    })
  } finally {
    progress.stop()
  }
}

main().catch((error: unknown) => {
  const { message, exitCode } = toReplicationError(error)
  if (exitCode === REPLICATION_EXIT.usage) exitWithUsage(USAGE, message)
  process.stderr.write(`${message}\n`)
  process.exitCode = exitCode
})
