import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { readSettings } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { isStartedByNpm, onParentExit, onStopSignal } from '../process/stop.js'
import { exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run studio [-- [--port N] [--write]]: runs Prisma Studio on the database, also while the service runs. It
// listens on 127.0.0.1 only and rejects requests from pages of other origins, but has no login: anyone with
// access to the port can read every record. Without --write its transactions are read-only. This prevents
// mistakes but is no protection, since a statement can make a transaction writable.

const USAGE = `usage: npm run studio [-- [--port N] [--write]]

Runs Prisma Studio on 127.0.0.1, read-only.

  --port N   the port; default 5555
  --write    allows changes`

const DEFAULT_PORT = 5555
const PRISMA_PACKAGE = dirname(createRequire(import.meta.url).resolve('prisma/package.json'))
const PRISMA_CLI = join(PRISMA_PACKAGE, 'build', 'index.js')
const GUARD = new URL('studio-guard.mjs', import.meta.url).href
/** Maximum time for Studio to end after a signal. */
const STOP_TIMEOUT_MS = 3000
/** Prisma stores its user state inside the project. */
const PRISMA_HOME = join(PRISMA_PACKAGE, '..', '.cache', 'prisma')

/**
 * Disables the download of the schema engine (any existing file is accepted), the search for updates, and the
 * telemetry of the program. For telemetry of the page see studio-guard.mjs. Nothing is written to the home
 * folder.
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
 * Returns the environment of Studio's driver. The driver takes the folder of a Unix socket only from PGHOST,
 * and only if the connection string names no host.
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

/**
 * Returns a connection string with settings of the session. The driver passes unknown parameters to the
 * server.
 */
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
    exitWithUsage(USAGE, `--port is '${values.port}'; expected a number from 1 to 65535.`)
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
