import { spawn, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { basename, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { urlOf } from './data/cluster.mjs'

// Starts and stops the measured servers. Each server is a folder with a target.mjs: `server` (name, port,
// command, database) and `forms` (its requests by target).

const HOME = fileURLToPath(new URL('./', import.meta.url))
/** Installed packages, generated files and logs of the servers. None of it is committed. */
const WORK = join(HOME, 'work')
const START_MS = 90_000

export const FOLDERS = [
  'limit',
  'service',
  'peers/cap',
  'peers/postgraphile',
  'peers/apollo-prisma',
  'peers/express-prisma',
]

/** Returns the targets of a folder. A server may have several, for example one per adapter. */
export async function targetsIn(folder) {
  const module = pathToFileURL(join(HOME, folder, 'target.mjs')).href
  const { server, forms, skips = {} } = await import(module)
  return Object.keys(forms).map(form => ({ name: form, form, module, folder, server, skips }))
}

/** Installs the pinned packages of a server at the first use, next to a copy of its source. */
function install(folder) {
  const source = join(HOME, folder)
  if (!existsSync(join(source, 'package.json'))) return { source, cwd: source }
  const cwd = join(WORK, basename(folder))
  cpSync(source, cwd, { recursive: true })
  const wanted = readFileSync(join(source, 'package.json'), 'utf8')
  const mark = join(cwd, '.installed')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return { source, cwd }
  const { status } = spawnSync(
    'npm',
    ['install', '--no-package-lock', '--no-audit', '--no-fund', '--loglevel=error'],
    {
      cwd,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    },
  )
  if (status !== 0) throw new Error(`npm install failed in ${cwd}`)
  writeFileSync(mark, wanted)
  return { source, cwd }
}

const isOpen = port =>
  new Promise(resolve => {
    const socket = connect(port, '127.0.0.1', () => resolve(true)).on('error', () => resolve(false))
    socket.on('connect', () => socket.destroy())
  })

/** Starts the server of a folder and waits until it listens. */
export async function startServer({ folder, server }) {
  mkdirSync(WORK, { recursive: true })
  if (await isOpen(server.port)) throw new Error(`Port ${server.port} is taken`)
  const { source, cwd } = install(folder)
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    PORT: String(server.port),
    DATABASE_URL: urlOf(server.database),
    POOL: '10',
    ...server.env,
  }
  await server.prepare?.({ cwd, env })
  const [command, ...args] = server.command({ source, cwd })
  const log = openSync(join(WORK, `${server.name}.log`), 'w')
  const child = spawn(command, args, { cwd: server.cwd ?? cwd, env, stdio: ['ignore', log, log] })
  for (const end = Date.now() + START_MS; !(await isOpen(server.port)); await sleep(200))
    if (child.exitCode !== null || Date.now() > end)
      throw new Error(`${server.name} did not start, see ${WORK}/${server.name}.log`)
  await sleep(server.settle ?? 300)
  return {
    pid: child.pid,
    base: `http://127.0.0.1:${server.port}`,
    headers: server.headers?.({ env }) ?? {},
    headersOf: server.headersOf?.({ env }) ?? {},
    stop: () => child.kill('SIGTERM'),
  }
}
