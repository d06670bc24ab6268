import { type ChildProcess, spawn } from 'node:child_process'
import { createSecretKey, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { inject } from 'vitest'
import { type Database, openDatabase } from '../../src/data/database.js'
import { type Grant, signToken } from '../../src/http/auth/token.js'
import { createSender, FULL_GRANT, type TestApp } from './app.js'
import { copyDataDir, type DatabaseKind } from './database.js'
import { DATABASE_LIMITS, TEMPLATE_DATABASE } from './setup.js'

/** The service as a process of its own, as `npm start` runs it. */
export interface ServiceProcess {
  readonly child: ChildProcess
  readonly port: Promise<number>
  /** All that it has printed so far. */
  readonly output: { out: string; err: string }
  /** The exit code, when it has ended. */
  readonly exit: Promise<number | null>
  /** Waits for an output that fits, and gives its first group. */
  waitForOutput(pattern: RegExp): Promise<string>
}

interface SpawnOptions {
  /** In a process group of its own, as a shell starts a program. */
  readonly detached?: boolean
}

/** Starts the program; nothing of the environment is handed on but PATH. */
export function spawnService(
  env: Readonly<Record<string, string>>,
  options: SpawnOptions = {},
): ServiceProcess {
  const child = spawn(process.execPath, ['--import', './src/typescript.mjs', 'src/main.ts'], {
    env: { PATH: process.env['PATH'], PORT: '0', ...env },
    ...options,
  })
  const output = { out: '', err: '' }
  child.stdout.setEncoding('utf8').on('data', text => {
    output.out += text
  })
  child.stderr.setEncoding('utf8').on('data', text => {
    output.err += text
  })
  const exit = once(child, 'exit').then(([code]) => code as number | null) // the first argument of the event
  const waitForOutput = async (pattern: RegExp): Promise<string> => {
    for (;;) {
      const found = pattern.exec(output.out)
      if (found) return found[1] ?? ''
      if (child.exitCode !== null || child.signalCode !== null) throw new Error(output.err)
      await new Promise(resolve => setTimeout(resolve, 20))
    }
  }
  const port = waitForOutput(/"port":(\d+),"msg":"listening"/).then(Number)
  // Whoever waits for the port hears of it; a process that is to fail has no port.
  port.catch(() => undefined)
  return { child, port, output, exit, waitForOutput }
}

/** A place for services to run on, one after the other: a database of its own, and what they are told. */
export interface TestEnvironment {
  readonly env: Readonly<Record<string, string>>
  /**
   * A connection beside the service; close it before the place is left. The embedded database must be running
   * for it.
   */
  connect(): Promise<Database>
  remove(): Promise<void>
}

const SECRET = 'a secret of the tests, long enough for HS256'
const COMMON_ENV = { JWT_SECRET: SECRET, SAMPLE_DATA: 'off' }

/** A migrated, empty database. `create`: how the database of a server is to be made, instead of as a copy. */
export async function createTestEnvironment(kind: DatabaseKind, create?: string): Promise<TestEnvironment> {
  if (kind === 'embedded') {
    const dataDir = await copyDataDir()
    const connect = () => openDatabase({ ...DATABASE_LIMITS, dataDir }, 'command')
    return {
      env: { ...COMMON_ENV, DATA_DIR: dataDir },
      connect,
      remove: () => rm(dataDir, { recursive: true, force: true }),
    }
  }
  const name = `listing_${randomUUID().replaceAll('-', '')}`
  await executeOnServer(`create database ${name} ${create ?? `template ${TEMPLATE_DATABASE}`}`)
  const databaseUrl = databaseUrlOf(name)
  const connect = () => openDatabase({ ...DATABASE_LIMITS, databaseUrl, dataDir: '' }, 'command')
  // A folder without anything: the service may not need one.
  const dataDir = await mkdtemp(join(tmpdir(), 'listing-none-'))
  const remove = async () => {
    await executeOnServer(`drop database ${name} with (force)`)
    await rm(dataDir, { recursive: true, force: true })
  }
  return { env: { ...COMMON_ENV, DATABASE_URL: databaseUrl, DATA_DIR: dataDir }, connect, remove }
}

/** A database of a server, as the tests that stop the server need it. */
export const serverEnvironment = (databaseUrl: string): Pick<TestEnvironment, 'env'> => ({
  env: { ...COMMON_ENV, DATABASE_URL: databaseUrl },
})

function databaseUrlOf(database: string): string {
  const url = new URL(inject('serverUrl') ?? '')
  url.pathname = `/${database}`
  return url.href
}

export async function executeOnServer(sql: string): Promise<void> {
  const client = new Client({ connectionString: inject('serverUrl') ?? '' })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** A running service, and how to talk to it. */
export interface StartedService extends Pick<TestApp, 'base' | 'send'> {
  readonly process: ServiceProcess
  /** Sends the signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<number | null>
}

/** Signs a token for every service that is started here. */
export const signTokenFor = (grant: Grant): string =>
  signToken(grant, createSecretKey(SECRET, 'utf8'), { jwtIssuer: undefined, jwtAudience: undefined })

/** A token for everything. */
export const FULL_ACCESS_TOKEN = signTokenFor(FULL_GRANT)

/** Starts a service in a place and waits until it listens. */
export async function startService(
  environment: Pick<TestEnvironment, 'env'>,
  env: Readonly<Record<string, string>> = {},
  options: SpawnOptions = {},
): Promise<StartedService> {
  const service = spawnService({ ...environment.env, LOG_LEVEL: 'info', ...env }, options)
  const base = `http://127.0.0.1:${await service.port}`
  const stop = (signal: NodeJS.Signals) => {
    service.child.kill(signal)
    return service.exit
  }
  return { base, send: createSender(base, `Bearer ${FULL_ACCESS_TOKEN}`), process: service, stop }
}
