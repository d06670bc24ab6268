import { onStopSignal } from '../process/stop.js'
import { runClient, toReplicationError } from '../replicate/client.js'
import { REPLICATION_EXIT } from '../replicate/failure.js'
import { REPLICATE_OPTIONS, readSettings } from '../replicate/settings.js'
import { exitWithUsage, parseCommandLine } from './command.js'
import { ProgressDisplay } from './progress-display.js'

// npm run replicate: copies the records that a token can see into a database or a folder, and follows the changes.

const USAGE = `usage: npm run replicate -- --from URL --to postgres://… | FOLDER | FILE.duckdb
  [--token-file FILE | --token T]  default: the environment variable REPLICATE_TOKEN
  [--sets Property,Media] [--filter "Property=City eq 'Vail'"] [--schema replica]
  [--once] [--verify] [--repair] [--interval SECONDS] [--sweep-hours N] [--max-wait SECONDS]
  [--recopy] [--accept-change] [--allow-deletions]`

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
