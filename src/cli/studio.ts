import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { readSettings } from '../config/config.js'
import { type Database, openDatabase } from '../data/database.js'
import { exitWithUsage, parseCommandLine, runCommand } from './command.js'

// npm run studio [-- --port N]: Prisma Studio on the database, also while the service runs. It listens on
// 127.0.0.1 only and refuses requests of pages from elsewhere (by their Origin), but has no log-in: who can
// reach the port of this machine can change every record.

const USAGE = 'usage: npm run studio [-- --port N]'

const DEFAULT_PORT = 5555
const PRISMA_PACKAGE = dirname(createRequire(import.meta.url).resolve('prisma/package.json'))
const PRISMA_CLI = join(PRISMA_PACKAGE, 'build', 'index.js')
/** What prisma remembers of its user stays in the project. */
const PRISMA_HOME = join(PRISMA_PACKAGE, '..', '.cache', 'prisma')

/**
 * No download of the schema engine (any file that exists will do), no search for updates, no telemetry,
 * nothing in the home of the user.
 */
const PRISMA_ENVIRONMENT = {
  PRISMA_SCHEMA_ENGINE_BINARY: process.execPath,
  CHECKPOINT_DISABLE: '1',
  PRISMA_HIDE_UPDATE_MESSAGE: '1',
  HOME: PRISMA_HOME,
  XDG_CONFIG_HOME: PRISMA_HOME,
  XDG_CACHE_HOME: PRISMA_HOME,
}

/** Studio's driver takes the folder of a socket only from PGHOST, when the address names no host. */
const toConnectionEnvironment = ({ clientConfig: { connectionString, host, user } }: Database) =>
  connectionString === undefined
    ? { DATABASE_URL: 'postgresql:///postgres', PGHOST: host, PGUSER: user }
    : { DATABASE_URL: connectionString }

function startStudio(database: Database, port: number): ChildProcess {
  const env = { ...process.env, ...PRISMA_ENVIRONMENT, ...toConnectionEnvironment(database) }
  return spawn(process.execPath, [PRISMA_CLI, 'studio', '--port', String(port), '--browser', 'none'], {
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
}

function readPort(): number {
  const { values } = parseCommandLine(USAGE, {
    options: { port: { type: 'string', default: String(DEFAULT_PORT) } },
  })
  const port = Number(values.port)
  if (!Number.isInteger(port) || port < 1 || port > 65_535)
    exitWithUsage(USAGE, `--port takes a number from 1 to 65535, not '${values.port}'.`)
  return port
}

async function main(): Promise<void> {
  const port = readPort()
  const database = await openDatabase(readSettings(process.env), 'command')
  const studio = startStudio(database, port)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => studio.kill(signal))
  const [code] = await once(studio, 'exit')
  await database.close()
  process.exitCode = code ?? 0
}

runCommand(main)
