import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'

// A PostgreSQL cluster of the benchmark, on this machine only.

const FOLDER = process.env.BENCH_PGDIR ?? join(tmpdir(), 'listing-bench-pg')
const PORT = Number(process.env.BENCH_PGPORT ?? 55480)
const DATA = join(FOLDER, 'data')

/** Database of the limit server and the other servers. The service has its own. */
export const SHARED = 'bench'
export const SERVICE = 'bench_service'
export const urlOf = database => `postgresql://postgres@127.0.0.1:${PORT}/${database}`
export const clusterPort = PORT

/** `synchronous_commit` is off for all servers: the benchmark measures servers, not the disk. */
const SETTINGS = `
listen_addresses = '127.0.0.1'
port = ${PORT}
unix_socket_directories = '${FOLDER}'
max_connections = 200
shared_buffers = 4GB
effective_cache_size = 8GB
work_mem = 32MB
maintenance_work_mem = 512MB
random_page_cost = 1.1
effective_io_concurrency = 200
jit = off
wal_level = minimal
max_wal_senders = 0
max_wal_size = 8GB
checkpoint_timeout = 30min
synchronous_commit = off
max_parallel_workers_per_gather = 0
timezone = 'UTC'
log_timezone = 'UTC'
`

const isRoot = userInfo().uid === 0
const program = name => join(process.env.PG_BIN ?? output('pg_config', ['--bindir']), name)

function output(command, args, options = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
    ...options,
  })
  if (status !== 0)
    throw new Error(`${command}: ${stderr || stdout || error?.message || `ended with ${status}`}`)
  return (stdout ?? '').trim()
}

/** PostgreSQL refuses to run as root, so root runs it as the user postgres. */
function asOwner(command, args, options = {}) {
  const [first, ...rest] = isRoot ? ['runuser', '-u', 'postgres', '--', command, ...args] : [command, ...args]
  return output(first, rest, { cwd: FOLDER, ...options })
}

function create() {
  mkdirSync(FOLDER, { recursive: true })
  if (isRoot)
    chownSync(FOLDER, Number(output('id', ['-u', 'postgres'])), Number(output('id', ['-g', 'postgres'])))
  asOwner(program('initdb'), [
    '-D',
    DATA,
    '-U',
    'postgres',
    '-A',
    'trust',
    '--locale=C.UTF-8',
    '-E',
    'UTF8',
    '--no-sync',
  ])
  writeFileSync(join(DATA, 'postgresql.auto.conf'), SETTINGS)
}

function isRunning() {
  try {
    asOwner(program('pg_ctl'), ['-D', DATA, 'status'])
    return true
  } catch {
    return false
  }
}

/** Creates the cluster if it does not exist, and starts it if it is not running. */
export function startCluster() {
  if (!existsSync(DATA)) create()
  // The server inherits the output of pg_ctl, so it must not be a pipe that is read to its end.
  if (!isRunning())
    asOwner(program('pg_ctl'), ['-D', DATA, '-w', '-t', '60', '-l', join(FOLDER, 'log'), 'start'], {
      stdio: ['ignore', 'ignore', 'ignore'],
    })
}

export function stopCluster() {
  if (existsSync(DATA) && isRunning()) asOwner(program('pg_ctl'), ['-D', DATA, '-w', '-m', 'fast', 'stop'])
}

/** Process id of the server. Its children are its sessions. */
export const serverProcess = () => Number(readFileSync(join(DATA, 'postmaster.pid'), 'utf8').split('\n')[0])

/** Runs statements and returns the output of psql: one line per row, values separated by `|`. */
export const psql = (input, database) =>
  output(program('psql'), ['-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1', '-d', urlOf(database)], { input })
export const psqlCommand = database => [
  program('psql'),
  ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-d', urlOf(database)],
]
