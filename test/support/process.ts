import { type ChildProcess, spawn } from 'node:child_process'
import { createSecretKey, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import { signToken } from '../../src/http/auth/token.js'
import { createSender, EVERYTHING, type TestApp } from './app.js'
import { copyDataDir, type DatabaseKind } from './database.js'
import { LIMITS, TEMPLATE } from './setup.js'

/** The service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly child: ChildProcess
  readonly port: Promise<number>
  /** All that it has printed so far. */
  readonly printed: { out: string; err: string }
  /** The exit code, when it has ended. */
  readonly exit: Promise<number | null>
  /** Waits for an output that fits, and gives its first group. */
  printedText(pattern: RegExp): Promise<string>
}

/** Starts the program; nothing of the environment is handed on but PATH. */
export function spawnService(env: Readonly<Record<string, string>>): ServiceProcess {
  const child = spawn(process.execPath, ['--import', './src/typescript.mjs', 'src/main.ts'], {
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
  })
  const printed = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    printed.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    printed.err += text
  })
  const exit = once(child, 'exit').then(([code]) => code as number | null) // the first argument of the event
  const printedText = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(printed.out)
      if (found) return found[1] ?? ''
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(printed.err)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const port = printedText(/"port":(\d+),"msg":"listening"/).then(Number)
  // Whoever waits for the port hears of it; a process that is to fail has no port.
  port.catch(() => undefined)
  return { child, port, printed, exit, printedText }
}

/** A place for services to run on, one after the other: a database of its own, and what they are told. */
export interface Place {
  readonly env: Readonly<Record<string, string>>
  /**
   * A connection beside the service; close it before the place is left. The embedded database must be running
   * for it.
   */
  openBeside(): Promise<Database>
  remove(): Promise<void>
}

const SECRET = 'a secret of the tests, long enough for HS256'
const SHARED = { JWT_SECRET: SECRET, SAMPLE_DATA: 'off' }

/** A migrated, empty database. `create`: how the database of a server is to be made, instead of as a copy. */
export async function preparePlace(kind: DatabaseKind, create?: string): Promise<Place> {
  if (kind === 'embedded') {
    const dataDir = await copyDataDir()
    const openBeside = () => openDatabase({ ...LIMITS, dataDir }, 'command')
    return {
      env: { ...SHARED, DATA_DIR: dataDir },
      openBeside,
      remove: () => rm(dataDir, { recursive: true, force: true }),
    }
  }
  const name = `listing_${randomUUID().replaceAll('-', '')}`
  await onServer(`create database ${name} ${create ?? `template ${TEMPLATE}`}`)
  const databaseUrl = urlOf(name)
  const openBeside = () => openDatabase({ ...LIMITS, databaseUrl, dataDir: '' }, 'command')
  // A folder without anything: the service may not need one.
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-none-'))
  const remove = async () => {
    await onServer(`drop database ${name} with (force)`)
    await rm(dataDir, { recursive: true, force: true })
  }
  return { env: { ...SHARED, DATABASE_URL: databaseUrl, DATA_DIR: dataDir }, openBeside, remove }
}

/** A database of a server, as the tests that stop the server need it. */
export const serverPlace = (databaseUrl: string): Pick<Place, 'env'> => ({
  env: { ...SHARED, DATABASE_URL: databaseUrl },
})

function urlOf(database: string): string {
  const url = new URL(inject('serverUrl') ?? '')
  url.pathname = `/${database}`
  return url.href
}

export async function onServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: inject('serverUrl') ?? '' })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** A running service, and how to talk to it. */
export interface RunningService extends Pick<TestApp, 'base' | 'send'> {
  readonly process: ServiceProcess
  /** Sends the signal and waits for the end. */
  end(signal: NodeJS.Signals): Promise<number | null>
}

/** A token for everything, of every service that is started here. */
export const TOKEN = signToken(EVERYTHING, createSecretKey(SECRET, 'utf8'), {
  jwtIssuer: undefined,
  jwtAudience: undefined,
})

/** Starts a service in a place and waits until it listens. */
export async function startIn(
  place: Pick<Place, 'env'>,
  env: Readonly<Record<string, string>> = {},
): Promise<RunningService> {
  const service = spawnService({ ...place.env, LOG_LEVEL: 'info', ...env })
  const base = `http://127.0.0.1:${await service.port}`
  const end = (signal: NodeJS.Signals) => {
    service.child.kill(signal)
    return service.exit
  }
  return { base, send: createSender(base, `Bearer ${TOKEN}`), process: service, end }
}
