import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { readSettings } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { isStartedByNpm, onParentExit, onStopSignal } from '../process/stop.js'
import { exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run studio [-- --port N --write]: Prisma Studio on the database, also while the service runs. It listens
// on 127.0.0.1 only and refuses requests of pages from elsewhere (by their Origin), but has no log-in: who can
// reach the port of this machine can read every record. Without --write its transactions are read-only. That
// guards against slips and protects nothing, since a statement can set the transaction to read and write.

const USAGE = 'usage: npm run studio [-- --port N] [-- --write]'

const DEFAULT_PORT = 5555
const PRISMA_PACKAGE = dirname(createRequire(import.meta.url).resolve('prisma/package.json'))
const PRISMA_CLI = join(PRISMA_PACKAGE, 'build', 'index.js')
const GUARD = new URL('studio-guard.mjs', import.meta.url).href
/** Time in which Studio may end after a signal. */
const STOP_TIMEOUT_MS = 3000
/** What prisma remembers of its user stays in the project. */
const PRISMA_HOME = join(PRISMA_PACKAGE, '..', '.cache', 'prisma')

/**
 * No download of the schema engine (any file that exists will do), no search for updates, no telemetry of the
 * program (that of the page: studio-guard.mjs), nothing in the home of the user.
 */
const PRISMA_ENVIRONMENT = {
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  CHECKPOINT_DISABLE: '1',
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
  HOME: PRISMA_HOME,
  XDG_CONFIG_HOME: PRISMA_HOME,
  XDG_CACHE_HOME: PRISMA_HOME,
}

interface StudioOptions {
  readonly port: number
  readonly write: boolean
}

/**
 * The environment of Studio's driver. It takes the folder of a Unix socket only from PGHOST, and only when the
 * connection string names no host.
 */
function toConnectionEnvironment(
  { clientConfig: { connectionString, host, user } }: Database,
  options: StudioOptions,
): Readonly<Record<string, string | undefined>> {
  if (connectionString === undefined)
    return { DATABASE_URL: toStudioUrl('postgresql:///postgres', options), PGHOST: host, PGUSER: user }
  const url = new URL(connectionString)
  const socketFolder = url.searchParams.get('host')
  if (socketFolder === null) return { DATABASE_URL: toStudioUrl(connectionString, options) }
  url.searchParams.delete('host')
  return {
    DATABASE_URL: toStudioUrl(`postgresql://${url.pathname}${url.search}`, options),
    PGHOST: socketFolder,
    PGUSER: decodeURIComponent(url.username),
    ...(url.password !== '' && { PGPASSWORD: decodeURIComponent(url.password) }),
  }
}

/** The driver passes parameters that it does not know to the server, as settings of the session. */
function toStudioUrl(connectionString: string, { write }: StudioOptions): string {
  const url = new URL(connectionString)
  if (!write) url.searchParams.set('default_transaction_read_only', 'on')
  return url.href
}

function startStudio(database: Database, options: StudioOptions): ChildProcess {
  const env = { ...process.env, ...PRISMA_ENVIRONMENT, ...toConnectionEnvironment(database, options) }
  return spawn(
    process.execPath,
    ['--import', GUARD, PRISMA_CLI, 'studio', '--port', String(options.port), '--browser', 'none'],
    { env, stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
  )
}

function readOptions(): StudioOptions {
  const { values } = parseCommandLine(USAGE, {
    options: {
      port: { type: 'string', default: String(DEFAULT_PORT) },
      write: { type: 'boolean', default: false },
    },
  })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    exitWithUsage(USAGE, `--port takes a number from 1 to 65535, not '${values.port}'.`)
  return { port, write: values.write }
}

async function main(): Promise<void> {
  const options = readOptions()
  const database = await openDatabase(readSettings(process.env), 'command')
  const studio = startStudio(database, options)
  const stop = () => {
    studio.kill('SIGTERM')
    setTimeout(() => studio.kill('SIGKILL'), STOP_TIMEOUT_MS).unref()
  }
  onStopSignal(stop)
  if (isStartedByNpm('studio')) onParentExit(stop)
  const [code] = await once(studio, 'exit')
  await database.close()
  process.exitCode = code ?? 0
}

runCommand(main)
