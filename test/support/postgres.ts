import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'pg'

/** A PostgreSQL server for one run of the tests. */
export interface Cluster {
  /** The connection string of one of its databases. */
  url(database: string): string
  /** Stops the server without waiting for its clients. */
  shutdownFast(): Promise<void>
  /** Ends it as `pg_ctl -m immediate` does: without a checkpoint, so that the restart recovers from the log. */
  crash(): Promise<void>
  /** Starts it again. */
  restart(): Promise<void>
  /** Copies it and starts the copy as a standby, which follows it. */
  startStandby(): Promise<Cluster>
  stop(): Promise<void>
}

const DEBIAN_FOLDER = '/usr/lib/postgresql'
const run = promisify(execFile)

/** Returns the folder with the programs of the newest PostgreSQL on the machine, or undefined. */
function findServerBinaries(): string | undefined {
  const versions = existsSync(DEBIAN_FOLDER)
    ? readdirSync(DEBIAN_FOLDER).sort((a, b) => Number(b) - Number(a))
    : []
  const folders = [
    ...versions.map(version => join(DEBIAN_FOLDER, version, 'bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
  ]
  return folders.find(folder => ['initdb', 'postgres'].every(program => existsSync(join(folder, program))))
}

/** PostgreSQL refuses to run as root, so another user runs it. */
function findUnprivilegedUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const name of ['postgres', 'nobody']) {
    try {
      const [uid, gid] = ['-u', '-g'].map(option =>
        Number(execFileSync('id', [option, name], { stdio: ['ignore', 'pipe', 'ignore'] }).toString()),
      )
      if (uid !== undefined && gid !== undefined) return { uid, gid }
    } catch {
      // There is no such user: the next one.
    }
  }
  return undefined
}

/** The programs of PostgreSQL, the user that runs them, and a folder for one server. */
interface ServerFolder {
  readonly programs: string
  readonly folder: string
  readonly options: { readonly cwd: string; readonly uid?: number; readonly gid?: number }
}

function createServerFolder(programs: string): ServerFolder {
  const folder = mkdtempSync(join(tmpdir(), 'listing-pg-'))
  const user = findUnprivilegedUser()
  if (user) chownSync(folder, user.uid, user.gid)
  return { programs, folder, options: { cwd: folder, ...user } }
}

/**
 * Starts a server on a Unix socket in a temporary folder, without fsync. Undefined when PostgreSQL is not on
 * the machine.
 */
export async function startCluster(): Promise<Cluster | undefined> {
  const programs = findServerBinaries()
  if (programs === undefined) return undefined
  const place = createServerFolder(programs)
  const data = join(place.folder, 'data')
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale', 'C.UTF-8', '-N'],
    place.options,
  )
  return runServer(place)
}

async function runServer(place: ServerFolder): Promise<Cluster> {
  const { programs, folder, options } = place
  const settings = [
    'fsync=off',
    'full_page_writes=off',
    'max_connections=200',
    'listen_addresses=',
    `unix_socket_directories=${folder}`,
  ]
  const url = (database: string) =>
    `postgresql://postgres@localhost/${database}?host=${encodeURIComponent(folder)}`
  const data = join(folder, 'data')
  const start = () =>
    spawn(join(programs, 'postgres'), ['-D', data, ...settings.flatMap(setting => ['-c', setting])], {
      ...options,
      stdio: 'ignore',
    })
  let server = start()
  // An interrupted run has no time to wait.
  process.prependOnceListener('exit', () => server.kill('SIGQUIT'))
  const restart = async () => {
    server = start()
    await waitUntilReady(url('postgres'))
  }
  const shutdownFast = () => stopServer(server, 'SIGINT')
  const crash = () => stopServer(server, 'SIGQUIT')
  await waitUntilReady(url('postgres'))
  const startStandby = async () => {
    const standby = createServerFolder(programs)
    const target = join(standby.folder, 'data')
    await run(
      join(programs, 'pg_basebackup'),
      ['-d', url('postgres'), '-D', target, '-R', '-c', 'fast'],
      standby.options,
    )
    return runServer(standby)
  }
  return {
    url,
    shutdownFast,
    crash,
    restart,
    startStandby,
    stop: () => shutdownFast().then(() => rm(folder, { recursive: true, force: true })),
  }
}

async function waitUntilReady(url: string): Promise<void> {
  for (let tries = 0; ; tries += 1) {
    const client = new Client({ connectionString: url })
    try {
      await client.connect()
      return
    } catch (error) {
      if (tries > 100) throw error
      await wait(100)
    } finally {
      await client.end().catch(() => undefined)
    }
  }
}

/** SIGINT does not wait for clients, and SIGQUIT does not wait at all. */
async function stopServer(server: ChildProcess, signal: 'SIGINT' | 'SIGQUIT'): Promise<void> {
  const gone = once(server, 'exit')
  if (server.exitCode === null && server.kill(signal)) await gone
}
