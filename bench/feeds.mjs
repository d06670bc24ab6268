import { Agent, request } from 'node:http'
import { parseArgs } from 'node:util'
import jwt from 'jsonwebtoken'
import '../src/typescript.mjs'
import { serverProcess, startCluster, stopCluster, urlOf } from './data/cluster.mjs'
import { load } from './data/load.mjs'
import { startCpuClock } from './processes.mjs'
import { startServer } from './servers.mjs'
import { forms, server } from './service/target.mjs'
import { valuesOf } from './workloads.mjs'

// node bench/feeds.mjs: the cost of feeds, which the workloads of `npm run bench` do not show. Over HTTP by one
// connection, in rounds that take turns.
// - PATCH of ListPrice without feeds, with 1 feed, with 20, and with 20 of which one has ListPrice in its filter
// - list-50 by a token of the class public, without a feed and with one

// TypeScript can be imported only after this point.
const { openDatabase } = await import('../src/data/database.ts')
const { readSettings } = await import('../src/config/config.ts')
const { FeedService } = await import('../src/service/feeds/feeds.ts')

const { values: options } = parseArgs({
  options: {
    listings: { type: 'string', default: '20000' },
    rounds: { type: 'string', default: '5' },
    requests: { type: 'string', default: '300' },
    keep: { type: 'boolean', default: false },
  },
})
const listings = Number(options.listings)
const rounds = Number(options.rounds)
const requests = Number(options.requests)

const IDX = "StandardStatus in ('Active','Pending') and InternetEntireListingDisplayYN ne false"
const CITY_FEEDS = Array.from({ length: 19 }, (_, i) => `City ne 'City ${i}' and BedroomsTotal ge ${i % 5}`)
/** Filters of the feeds of each setting. */
const SETTINGS = {
  'no feed': [],
  '1 feed': [IDX],
  '20 feeds': [IDX, ...CITY_FEEDS],
  '20 feeds, one by ListPrice': [IDX, ...CITY_FEEDS.slice(1), 'ListPrice gt 200000'],
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 })
const median = values => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

/** Sends a request and returns its time in ms. */
function send({ base }, { path, method = 'GET', headers = {}, body }, authorization) {
  const length = body && { 'Content-Length': Buffer.byteLength(body) }
  const all = { ...headers, ...length, Authorization: authorization }
  return new Promise((resolve, reject) => {
    const start = performance.now()
    const sent = request(`${base}${path}`, { method, headers: all, agent }, response => {
      const { statusCode } = response
      const isSuccess = statusCode >= 200 && statusCode < 300
      response.resume().on('end', () => {
        if (isSuccess) resolve(performance.now() - start)
        else reject(new Error(`${method} ${path}: ${statusCode}`))
      })
    })
    sent.on('error', reject).end(body)
  })
}

/** Returns the median time of a request, and the CPU time of PostgreSQL for each. */
async function measure(service, workload, authorization) {
  const form = forms.odata[workload]
  const values = valuesOf(workload, listings)
  const times = []
  const readCpu = startCpuClock(serverProcess())
  for (let i = 0; i < requests; i++)
    times.push(await send(service, form(values[i % values.length]), authorization))
  return { ms: median(times), databaseMs: readCpu() / requests }
}

function report(title, figures) {
  process.stdout.write(`${title}\n`)
  for (const [name, rows] of Object.entries(figures)) {
    const of = key => median(rows.map(row => row[key])).toFixed(2)
    process.stdout.write(`  ${name}: ${of('ms')} ms, ${of('databaseMs')} ms CPU of PostgreSQL\n`)
  }
}

const nameOf = i => `bench-${i}`

async function removeFeeds(feeds) {
  for (const { FeedName } of await feeds.list())
    if (FeedName.startsWith('bench-')) await feeds.remove(FeedName)
}

/** Measures writes with the feeds of each setting. */
async function measureWrites(service, feeds, authorization) {
  const figures = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, filters] of Object.entries(SETTINGS)) {
      for (const [i, filter] of filters.entries()) await feeds.add({ FeedName: nameOf(i), Filter: filter })
      await measure(service, 'patch-single', authorization)
      figures[name] = [...(figures[name] ?? []), await measure(service, 'patch-single', authorization)]
      await removeFeeds(feeds)
    }
  return figures
}

const tokenOf = claims =>
  `Bearer ${jwt.sign({ scope: 'listings:read', audience_class: 'public', ...claims }, server.env.JWT_SECRET, { expiresIn: '1d' })}`

async function isKnown(service, workload, token) {
  const [values] = valuesOf(workload, listings)
  return send(service, forms.odata[workload](values), token).then(
    () => true,
    () => false,
  )
}

async function measureReads(service, feeds) {
  const feed = nameOf('list')
  await feeds.add({ FeedName: feed, Filter: IDX })
  const tokens = { 'no feed': tokenOf({}), '1 feed': tokenOf({ feed }) }
  while (!(await isKnown(service, 'list-50', tokens['1 feed'])))
    await new Promise(resolve => setTimeout(resolve, 100))
  const figures = {}
  for (let round = 0; round < rounds; round++)
    for (const [name, token] of Object.entries(tokens)) {
      await measure(service, 'list-50', token)
      figures[name] = [...(figures[name] ?? []), await measure(service, 'list-50', token)]
    }
  return figures
}

startCluster()
await load(listings, text => process.stdout.write(`${text}\n`))
const service = await startServer({
  folder: 'service',
  server: { ...server, env: { ...server.env, RATE_LIMIT: '0' } },
})
const settings = readSettings({ ...server.env, DATABASE_URL: urlOf(server.database) })
const database = await openDatabase(settings, 'command')
const feeds = new FeedService(database, 'bench', settings)
try {
  await removeFeeds(feeds)
  report('PATCH of ListPrice', await measureWrites(service, feeds, service.headers.Authorization))
  report('list-50', await measureReads(service, feeds))
} finally {
  await removeFeeds(feeds)
  await database.close()
  service.stop()
  if (!options.keep) stopCluster()
}
process.exit(0)
