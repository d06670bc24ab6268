import { gunzipSync } from 'node:zlib'
import { Connection, toRequest } from './connection.mjs'
import { readPage, toDigest } from './digest.mjs'
import { readStream } from './stream.mjs'
import { valuesOf, WORKLOADS } from './workloads.mjs'

// The load generator. It is a separate process, so that its CPU is not counted as the server's. It receives
// orders and returns measurements as messages.

const targets = new Map()

/**
 * Opens a target. The module with its forms is imported here, because functions cannot be sent in messages.
 */
async function open({ name, module, form, base, headers, staffHeaders }) {
  if (!targets.has(name))
    targets.set(name, {
      base,
      port: Number(new URL(base).port),
      headers,
      staffHeaders,
      forms: (await import(module)).forms[form],
      requests: new Map(),
    })
  return targets.get(name)
}

/** Sends a request and returns its body. Fails unless the response is a success. */
async function sendKept(connection, target, request) {
  const { status, body } = await connection.send(toRequest(target.base, request, target.headers), true)
  if (status >= 300 || body.subarray(0, 20).includes('"errors"'))
    throw new Error(
      `${status} ${body.toString('utf8', 0, 200)} to ${request.method ?? 'GET'} ${request.path}`,
    )
  return body
}

const reader = (connection, target) => async request =>
  JSON.parse(String(await sendKept(connection, target, request)))

/** Encodes all requests of a workload. This happens once, because finding page 1,000 takes long. */
async function requestsOf(target, name, listings) {
  if (!target.requests.has(name)) {
    const connection = await Connection.open(target.port)
    const requests = []
    for (const values of valuesOf(name, listings))
      requests.push(await target.forms[name](values, reader(connection, target)))
    connection.close()
    target.requests.set(name, requests)
  }
  return target.requests.get(name)
}

async function runCycle(connection, target, values) {
  const { create, keyOf, steps } = target.forms.cycle
  const key = keyOf(await reader(connection, target)(create(values)))
  for (const request of steps(key, values)) await sendKept(connection, target, request)
}

const isGzip = body => body[0] === 0x1f && body[1] === 0x8b

/** Returns the first request of a workload of pages. Some need writes before it, which happen once. */
async function firstOfWalk(connection, target, name, values) {
  const { first, prepare } = target.forms[name]
  if (!prepare) return first(values)
  const staff = { ...target, headers: target.staffHeaders }
  const write = request => sendKept(connection, staff, request)
  if (!target.requests.has(name))
    target.requests.set(name, await prepare(values, reader(connection, target), write))
  return target.requests.get(name)
}

/** Reads pages one after the other until `isOver`, and calls `onPage` for each. */
async function runWalk(connection, target, name, values, isOver, onPage) {
  const { next } = target.forms[name]
  for (let request = await firstOfWalk(connection, target, name, values); request && !isOver(); ) {
    const startedAt = performance.now()
    const body = await sendKept(connection, target, request)
    const page = readPage(isGzip(body) ? gunzipSync(body) : body)
    onPage({ ms: performance.now() - startedAt, bytes: body.length, records: page.records })
    request = next(page, values)
  }
}

const CHECKED = 3

/** Returns digests of the first responses, which are compared between servers. */
async function check({ target: spec, name, listings }) {
  const target = await open(spec)
  if (!target.forms[name]) return { missing: true }
  // Before a connection is opened, because servers close idle connections before a late page is found.
  if (!WORKLOADS[name].kind) await requestsOf(target, name, listings)
  const connection = await Connection.open(target.port)
  try {
    return { seen: await look(connection, target, name, listings) }
  } finally {
    connection.close()
  }
}

async function look(connection, target, name, listings) {
  const { kind, writes, compares } = WORKLOADS[name]
  const values = valuesOf(name, listings).slice(0, CHECKED)
  const seen = []
  if (kind === 'walk')
    await runWalk(
      connection,
      target,
      name,
      values[0],
      () => seen.length === CHECKED,
      ({ records }) => seen.push(records),
    )
  else if (kind === 'stream') {
    await readStream(
      target,
      target.forms[name](values[0]),
      () => seen.length > 0,
      part => seen.push(part.records > 0),
    )
  } else if (kind === 'cycle') for (const some of values) await runCycle(connection, target, some)
  else
    for (const request of (await requestsOf(target, name, listings)).slice(0, CHECKED)) {
      const body = await sendKept(connection, target, request)
      seen.push(writes ? 'done' : toDigest(JSON.parse(String(body)), compares))
    }
  return seen
}

const FAULTS_MAX = 20

async function runUntil(isOver, work) {
  while (!isOver()) await work()
}

/** Repeats a workload on one connection until the time is over or too many requests have failed. */
async function repeat(connection, target, { name, listings, until, next }, tally) {
  const isOver = () => performance.now() >= until || tally.faults.length > FAULTS_MAX
  const { kind } = WORKLOADS[name]
  const [values] = valuesOf(name, listings)
  const take = part => tally.take(part)
  if (kind === 'walk') return runUntil(isOver, () => runWalk(connection, target, name, values, isOver, take))
  if (kind === 'stream')
    return runUntil(isOver, () => readStream(target, target.forms[name](values), isOver, take))
  const work =
    kind === 'cycle'
      ? valuesOf(name, listings)
      : (await requestsOf(target, name, listings)).map(request =>
          toRequest(target.base, request, target.headers),
        )
  while (!isOver()) {
    const startedAt = performance.now()
    const item = work[next() % work.length]
    const answer = kind === 'cycle' ? await runCycle(connection, target, item) : await connection.send(item)
    if (answer && (answer.status >= 300 || answer.failed)) tally.faults.push(`status ${answer.status}`)
    else tally.take({ ms: performance.now() - startedAt, bytes: answer?.bytes ?? 0, records: 1 })
  }
}

class Tally {
  ms = []
  faults = []
  bytes = 0
  records = 0

  take({ ms, bytes, records }) {
    this.ms.push(ms)
    this.bytes += bytes
    this.records += records
  }
}

/** Warms up, reports that, and measures for some seconds. */
async function run({ target: spec, name, listings, seconds, warm, connections: many }) {
  const target = await open(spec)
  const connections = await Promise.all(Array.from({ length: many }, () => Connection.open(target.port)))
  let at = Math.floor(Math.random() * 400)
  const go = async time => {
    const tally = new Tally()
    const how = { name, listings, until: performance.now() + time * 1000, next: () => at++ }
    await Promise.all(
      connections.map(connection =>
        repeat(connection, target, how, tally).catch(error => tally.faults.push(error.message)),
      ),
    )
    return tally
  }
  await go(warm)
  process.send({ warmed: true })
  await new Promise(resolve => process.once('message', resolve))
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()]
  const { ms, faults, bytes, records } = await go(seconds)
  const [elapsed, { user, system }] = [performance.now() - startedAt, process.cpuUsage(cpu)]
  for (const connection of connections) connection.close()
  ms.sort((a, b) => a - b)
  return {
    records,
    seconds: elapsed / 1000,
    faults,
    kilobytes: bytes / ms.length / 1024,
    p50: ms[Math.floor(ms.length * 0.5)],
    p99: ms[Math.floor(ms.length * 0.99)],
    clientMs: (user + system) / 1000,
  }
}

process.on('message', async ({ check: toCheck, run: toRun }) => {
  if (!toCheck && !toRun) return
  const work = toCheck ? check(toCheck) : run(toRun)
  process.send({ result: await work.catch(error => ({ error: error.message })) })
})
