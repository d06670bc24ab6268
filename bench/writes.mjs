import { spawnSync } from 'node:child_process'
import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'
import '../src/typescript.mjs'
import { psql, startCluster, stopCluster } from './data/cluster.mjs'
import { load } from './data/load.mjs'
import { listingKey, memberKey } from './data/people.mjs'
import { startServer } from './servers.mjs'
import { server } from './service/target.mjs'

// node bench/writes.mjs: two figures of writes that the workloads of `npm run bench` do not show.
// - first: PATCH of ListPrice on records that this process has never written, one connection
// - refused: the same by one writer, alone and beside 50 refused writes a second of another token, in turn

const { values: options } = parseArgs({
  options: {
    listings: { type: 'string', default: '200000' },
    rounds: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '3' },
    keep: { type: 'boolean', default: false },
  },
})
const listings = Number(options.listings)
const rounds = Number(options.rounds)
const REFUSED_PER_SECOND = 50

const agent = new Agent({ keepAlive: true })

function send({ base }, authorization, method, key, body) {
  const text = JSON.stringify(body)
  const headers = {
    Authorization: authorization,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
  }
  return new Promise((resolve, reject) => {
    const sent = request(`${base}/odata/Property('${key}')`, { method, headers, agent }, answer => {
      answer.resume().on('end', () => resolve(answer.statusCode))
    })
    sent.on('error', reject).end(text)
  })
}

let next = 0
/** Changes records that were not changed before, one after the other. Returns the changes per second. */
async function writeFor(service, authorization, seconds) {
  const start = performance.now()
  let count = 0
  for (; performance.now() - start < seconds * 1000; count++) {
    const key = listingKey(next++ % listings)
    const body = { ListPrice: 100_000 + next, ChangedByMemberKey: memberKey(0) }
    const status = await send(service, authorization, 'PATCH', key, body)
    if (status !== 200) throw new Error(`PATCH of ${key}: ${status}`)
  }
  return count / ((performance.now() - start) / 1000)
}

/** Sends writes that are refused: 404, 403, 400 because of the stored record, and 400 because of the body. */
function refuse(service, stranger, staff) {
  const by = { ChangedByMemberKey: memberKey(0) }
  const kinds = [
    () => [staff, 'nope', { ...by, ListPrice: 1 }],
    key => [stranger, key, { ListPrice: 1 }],
    key => [staff, key, { ...by, StandardStatus: 'Incomplete' }],
    key => [staff, key, { ...by, City: null, Nope: 1 }],
  ]
  const statuses = new Map()
  let sent = 0
  const timer = setInterval(async () => {
    const [authorization, key, body] = kinds[sent % kinds.length](listingKey(sent++ % 1000))
    const status = await send(service, authorization, 'PATCH', key, body)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
  }, 1000 / REFUSED_PER_SECOND)
  return () => {
    clearInterval(timer)
    return JSON.stringify([...statuses])
  }
}

const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

function strangerToken() {
  const args = ['--import', './src/typescript.mjs', 'src/cli/token.ts', '--scope', 'listings:write', '--member', 'nobody'] // biome-ignore format: one row
  const { stdout } = spawnSync(process.execPath, args, {
    cwd: server.cwd,
    env: { ...process.env, ...server.env },
    encoding: 'utf8',
  })
  return `Bearer ${stdout.trim()}`
}

startCluster()
await load(listings, text => process.stdout.write(`${text}\n`))
const service = await startServer({ folder: 'service', server })
try {
  const staff = service.headers.Authorization
  const stranger = strangerToken()
  await writeFor(service, staff, 8)
  const alone = []
  const beside = []
  let statuses = ''
  for (let round = 0; round < rounds; round++) {
    alone.push(await writeFor(service, staff, Number(options.seconds)))
    const stop = refuse(service, stranger, staff)
    beside.push(await writeFor(service, staff, Number(options.seconds)))
    statuses = stop()
  }
  const ratios = beside.map((rate, i) => rate / alone[i])
  process.stdout.write(
    `first writes: ${median(alone).toFixed(0)} a second\nbeside ${REFUSED_PER_SECOND} refused a second: ${median(beside).toFixed(0)}, ratio ${median(ratios).toFixed(2)} (${ratios.map(r => r.toFixed(2)).join(' ')}), refused ${statuses}\n`,
  )
  process.stdout.write(`events: ${psql('select count(*) from "EntityEvent"', server.database)}\n`)
} finally {
  service.stop()
  if (!options.keep) stopCluster()
}
process.exit(0)
