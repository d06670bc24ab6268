import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import '../src/typescript.mjs'
import { psql, serverProcess, startCluster, stopCluster } from './data/cluster.mjs'
import { load, restore } from './data/load.mjs'
import { memoryOf, startCpuClock } from './processes.mjs'
import { toTable, writeReport } from './report.mjs'
import { FOLDERS, startServer, targetsIn } from './servers.mjs'
import { changedBy, valuesOf, WORKLOADS } from './workloads.mjs'

// npm run bench: measures this service, the limit of the machine and other servers on the same rows, in turn,
// so that ratios of one run are comparable. A complete run updates docs/performance.md and
// docs/benchmark.md. A partial one (--targets, --workloads) only prints. --keep leaves the cluster running.

// TypeScript can be imported only after this point.
const { parseCommandLine } = await import('../src/cli/command.ts')
const USAGE =
  'usage: npm run bench [-- [--listings N] [--targets A,B] [--workloads A,B] [--rounds N] [--seconds N] [--warm N] [--connections N] [--keep]]'

const { values: options } = parseCommandLine(USAGE, {
  options: {
    listings: { type: 'string', default: '200000' },
    targets: { type: 'string' },
    workloads: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '2' },
    warm: { type: 'string', default: '8' },
    connections: { type: 'string', default: '8' },
    keep: { type: 'boolean', default: false },
  },
})
const say = text => process.stdout.write(`${text}\n`)
const listings = Number(options.listings)
const workloads = options.workloads?.split(',') ?? Object.keys(WORKLOADS)

const generator = fork(fileURLToPath(new URL('generator.mjs', import.meta.url)))

/** Sends an order to the generator. `onWarm` is called when measuring begins. */
function order(message, onWarm) {
  return new Promise(resolve => {
    const hear = ({ warmed, result }) => {
      if (warmed) {
        onWarm()
        return generator.send({})
      }
      generator.off('message', hear)
      resolve(result)
    }
    generator.on('message', hear)
    generator.send(message)
  })
}

/** Returns the parts of a target that the generator needs, with the token of the reader of the workload. */
function spec({ name, module, form, base, headers, headersOf }, workload) {
  const { reader } = WORKLOADS[workload]
  return {
    name: reader ? `${name} ${reader}` : name,
    module,
    form,
    base,
    headers: headersOf[reader] ?? headers,
    staffHeaders: headers,
  }
}

/** Returns the difference between the responses of a target and those of the first one, or undefined. */
async function findFault(target, name, expected) {
  if (target.skips[name]) return target.skips[name]
  const { missing, seen, error } = await order({ check: { target: spec(target, name), name, listings } })
  if (missing || error) return error ?? 'no such request'
  if (name.startsWith('patch') && !isWritten(target, name)) return 'the record was not changed'
  const found = JSON.stringify(seen)
  expected.first ??= found
  return found === expected.first ? undefined : `${found} instead of ${expected.first}`
}

function isWritten({ server }, name) {
  const [{ key, price }] = valuesOf(name, listings)
  return (
    Number(psql(`SELECT "ListPrice" FROM "Property" WHERE "ListingKey" = '${key}'`, server.database)) ===
    price
  )
}

/** Returns the targets whose responses are correct. Only these are measured. */
async function check(targets, name) {
  const expected = {}
  const right = []
  for (const target of targets) {
    const fault = await findFault(target, name, expected)
    if (fault === undefined) right.push(target)
    else if (fault !== 'no such request') say(`not timed: ${name} by ${target.name}: ${fault.slice(0, 300)}`)
  }
  return right
}

/**
 * Each target is warmed up before its first round (--warm), because servers normally run for weeks and
 * compilers need thousands of requests. Before later rounds a short warm-up is enough.
 */
const WARM_AGAIN = 1

async function measure(target, name, warm) {
  const clocks = {}
  const { connections = Number(options.connections) } = WORKLOADS[name]
  const run = {
    target: spec(target, name),
    name,
    listings,
    seconds: Number(options.seconds),
    warm,
    connections,
  }
  const result = await order({ run }, () =>
    Object.assign(clocks, { server: startCpuClock(target.pid), database: startCpuClock(serverProcess()) }),
  )
  if (!result.records)
    return say(`${name} by ${target.name}: ${result.error ?? result.faults[0] ?? 'nothing was answered'}`)
  const each = total => total / result.records
  return { ...result, rate: result.records / result.seconds, serverMs: each(clocks.server()), databaseMs: each(clocks.database()), clientMs: each(result.clientMs), memory: memoryOf(target.pid) } // biome-ignore format: one row
}

/**
 * Runs rounds in the order A B C, B C A and so on, so that a temporary slowdown of the machine affects all
 * targets.
 */
async function runRounds(targets, name) {
  const figures = new Map(targets.map(target => [target.name, []]))
  for (let round = 0; round < Number(options.rounds); round++)
    for (let i = 0; i < targets.length; i++) {
      const target = targets[(i + round) % targets.length]
      const figure = await measure(target, name, round === 0 ? Number(options.warm) : WARM_AGAIN)
      if (figure) figures.get(target.name).push(figure)
    }
  return figures
}

function stopAll(servers) {
  for (const { stop } of servers.values()) stop()
  generator.kill()
}

async function main() {
  startCluster()
  await load(listings, say)
  restore(changedBy(listings))
  const known = (await Promise.all(FOLDERS.map(targetsIn))).flat()
  const wanted = options.targets?.split(',') ?? known.map(target => target.name)
  const servers = new Map()
  process.once('exit', () => stopAll(servers))
  const targets = []
  try {
    for (const target of known.filter(({ name }) => wanted.includes(name))) {
      const { folder } = target
      if (!servers.has(folder)) servers.set(folder, await startServer(target))
      targets.push({ ...target, ...servers.get(folder) })
    }
    const right = new Map()
    for (const name of workloads) right.set(name, await check(targets, name))
    const results = new Map()
    for (const name of workloads) {
      results.set(name, await runRounds(right.get(name), name))
      say(toTable(name, results.get(name)))
    }
    if (!options.targets && !options.workloads) writeReport(results, { listings, ...options })
  } finally {
    stopAll(servers)
    if (!options.keep) stopCluster()
  }
}

// A signal that ends the run also ends its servers.
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1))

await main()
