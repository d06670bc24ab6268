import { setTimeout as wait } from 'node:timers/promises'
import { exitWithUsage, parseCommandLine } from '../../src/cli/command.js'
import type { Database } from '../../src/data/database.js'
import { messageOf } from '../../src/errors/problem.js'
import { type Check, checkNone, renderChecks } from '../attack/report.js'
import { createRunFolder } from '../support/setup.js'
import { runImports } from './imports.js'
import { createListingWriters } from './listing-writers.js'
import {
  compareMarkets,
  compareWithTables,
  type Market,
  readerGrants,
  readMarket,
  type SetOptions,
} from './market.js'
import { DeltaStormReader } from './readers/delta-reader.js'
import { LogStormReader } from './readers/log-reader.js'
import { PollingStormReader } from './readers/position-reader.js'
import type { StormReader } from './readers/reader.js'
import { ReplicateStormReader } from './readers/replicate-reader.js'
import { readListings, SubscriptionStormReader } from './readers/subscription-reader.js'
import { signStormToken } from './services.js'
import { MARKER_KEY, type StormSetting, startSetting } from './setting.js'
import { createSqlWriters } from './sql-writers.js'
import type { Storm } from './storm.js'
import { StormClient } from './storm-client.js'
import { type NoteStep, Watchdog } from './watchdog.js'

// npm run test:storm: writers by OData, GraphQL, SQL and import change one market while processes and the database are
// killed. Readers of four kinds of tokens maintain copies by every method. At the end each copy must equal the market
// of its token, and nothing that was acknowledged may be lost. Prints a table, and exits with 1 if a demand is not met.

const USAGE = 'usage: npm run test:storm [-- --minutes N --database server|embedded]'
/** The embedded database runs for a shorter time: it has one process, and one statement at a time. */
const EMBEDDED_SHARE = 0.4
const FAULT_INTERVAL_MS = 12_000
/** Time in which the processes and the server of a storm end, in ms. */
const CLOSE_TIMEOUT_MS = 60_000

interface StormOptions {
  readonly seconds: number
  readonly kinds: readonly Database['kind'][]
}

function readOptions(): StormOptions {
  const { minutes, database } = parseCommandLine(USAGE, {
    options: { minutes: { type: 'string', default: '1' }, database: { type: 'string', default: '' } },
  }).values
  const value = /^\d{1,3}(\.\d+)?$/.test(minutes) ? Number(minutes) : 0
  if (value < 0.2) exitWithUsage(USAGE, `--minutes is '${minutes}'; expected a number from 0.2 to 999.`)
  const kinds = (['server', 'embedded'] as const).filter(kind => database === '' || database === kind)
  if (kinds.length === 0) exitWithUsage(USAGE, `--database is '${database}'; expected server or embedded.`)
  return { seconds: value * 60, kinds }
}

/** A reader, and the market that its copy must equal. */
interface ReaderTask {
  readonly reader: StormReader
  readonly token: string
  readonly readExpected: (client: StormClient) => Promise<Market>
}

/** Filters and expanded records of a copy by delta links. Writers change both. */
const SELECTIVE: SetOptions = {
  Property: `$filter=InternetEntireListingDisplayYN ne false and Rooms/$count ge 1&$expand=Media,Rooms,OpenHouses`,
  Media: '$filter=Order lt 20',
}

function memoizeRead(read: (client: StormClient) => Promise<Market>): ReaderTask['readExpected'] {
  let result: Promise<Market> | undefined
  return client => {
    result ??= read(client)
    return result
  }
}

function createReaders(storm: Storm, lastSequence: () => Promise<number>): readonly ReaderTask[] {
  return Object.entries(readerGrants(storm)).flatMap(([token, grant]) => {
    const signed = signStormToken(grant)
    const client = new StormClient(storm.services, signed)
    const readers: readonly StormReader[] = [
      new LogStormReader(`NDJSON, then log, ${token}`, client, 'export'),
      new DeltaStormReader(`delta links, ${token}`, client),
      ...(token === 'staff' || token === 'public'
        ? [new ReplicateStormReader(`npm run replicate, ${token}`, storm.services, signed)]
        : []),
      new PollingStormReader(`position, then key sweep, ${token}`, client, 'LastEventSequence'),
      // The embedded database runs one statement at a time.
      ...(storm.kind === 'embedded'
        ? []
        : [
            new LogStormReader(`pages, then log, ${token}`, client, 'pages'),
            new PollingStormReader(`time and key, then sweep, ${token}`, client, 'ModificationTimestamp'),
          ]),
    ]
    // The markets are read once for all readers of a token.
    const [market, listings] = [memoizeRead(readMarket), memoizeRead(readListings)]
    const selective = new DeltaStormReader(`delta links of a filter and $expand, ${token}`, client, SELECTIVE)
    const subscription = new SubscriptionStormReader(
      `subscription, ${token}`,
      client,
      storm.services,
      lastSequence,
    )
    return [
      ...readers.map(reader => ({ reader, token, readExpected: market })),
      // The embedded database runs one statement at a time.
      ...(storm.kind === 'embedded'
        ? []
        : [{ reader: selective, token, readExpected: memoizeRead(own => readMarket(own, SELECTIVE)) }]),
      { reader: subscription, token, readExpected: listings },
    ]
  })
}

/** Kills a process or crashes the database server, in turn, until the storm is over. Returns the number. */
async function runFaults({ storm, crashServer, killService }: StormSetting, note: NoteStep): Promise<number> {
  let count = 0
  for (;;) {
    note('waits')
    for (const end = performance.now() + FAULT_INTERVAL_MS; performance.now() < end; await wait(100))
      if (storm.isOver()) return count
    const isCrash = crashServer !== undefined && count % 3 === 1
    note(isCrash ? 'crashes the server and starts it' : 'kills a service and starts it')
    await (isCrash ? crashServer() : killService())
    count++
  }
}

/** Changes the marker, and returns the number of its event. */
async function writeMarker({ services, agent }: Storm): Promise<number> {
  const token = signStormToken({
    scopes: ['listings:read', 'listings:write', 'listings:write:any'],
    audience: 'staff',
  })
  const client = new StormClient(services, token)
  for (let n = 0; ; n++) {
    const body = { PublicRemarks: `marker ${n}`, ChangedByMemberKey: agent.memberKey }
    const outcome = await client.write('PATCH', `/odata/Property('${MARKER_KEY}')`, body)
    if (outcome.kind === 'acknowledged') return Number(outcome.body['LastEventSequence'])
    if (outcome.kind === 'refused') throw new Error(outcome.text)
    await wait(200)
  }
}

/** Prints a step with its time, so that a run that hangs shows where. */
const note = (text: string): void => {
  process.stderr.write(`${Math.round(performance.now() / 1000)} s: ${text}\n`)
}

async function runStorm(
  setting: StormSetting,
  seconds: number,
  watchdog: Watchdog,
): Promise<readonly Check[]> {
  const { storm } = setting
  let marker: Promise<number> | undefined
  const lastSequence = () => {
    marker ??= writeMarker(storm)
    return marker
  }
  const tasks = createReaders(storm, lastSequence)
  const timer = setTimeout(setting.end, seconds * 1000)
  const [faultCount, imports] = await Promise.all([
    watchdog.run('faults', step => runFaults(setting, step)),
    watchdog.run('imports', step => runImports(storm, step)),
    ...createListingWriters(storm).map((writer, i) => watchdog.run(`writer ${i}`, () => writer.run())),
    ...createSqlWriters(storm, 2).map((writer, i) =>
      watchdog.run(`writer by SQL ${i}`, step => writer.run(step)),
    ),
    ...tasks.map(({ reader }) => watchdog.run(reader.name, () => reader.run(storm.isOver))),
  ])
  clearTimeout(timer)
  await watchdog.run('marker', lastSequence)
  note('all writers have ended')
  const copies: Check[] = []
  for (const task of tasks)
    copies.push(await watchdog.run(`check of ${task.reader.name}`, () => checkCopy(storm, task)))
  return [
    ...copies,
    ...(await watchdog.run('check of the tables', () => checkTables(storm))),
    checkNone('errors that nothing explains', storm.faults),
    checkAtLeast('acknowledged writes', storm.ledger.acknowledged, seconds),
    { name: 'writes without an answer', measured: String(storm.ledger.unanswered), demanded: '' },
    checkAtLeast('complete imports', imports, 1),
    checkAtLeast('kills and crashes', faultCount, 1),
  ]
}

const checkAtLeast = (name: string, count: number, min: number): Check => ({
  name,
  measured: String(count),
  demanded: `at least ${min}`,
  isMet: count >= min,
})

async function checkCopy(storm: Storm, { reader, token, readExpected }: ReaderTask): Promise<Check> {
  const grant = readerGrants(storm)[token]
  const copy = await reader.finish()
  const market = grant
    ? await readExpected(new StormClient(storm.services, signStormToken(grant)))
    : new Map()
  const differences = compareMarkets(copy, market)
  const size = [...market.values()].reduce((sum, rows) => sum + rows.size, 0)
  return {
    name: reader.name,
    measured: `${size} records, ${reader.changes} changes${differences.length > 0 ? `; ${differences.join('; ')}` : ''}`,
    demanded: 'equal to the market',
    isMet: differences.length === 0 && reader.changes > 0 && size > 0,
  }
}

/** Compares the stored records with the ledger, and the visible records with the tables. */
async function checkTables(storm: Storm): Promise<readonly Check[]> {
  const database = await storm.connect()
  try {
    return await database.withClient(async client => {
      const checks: Check[] = []
      for (const [name, grant] of Object.entries(readerGrants(storm))) {
        const market = await readMarket(new StormClient(storm.services, signStormToken(grant)))
        checks.push(checkNone(`visible keys, ${name}`, await compareWithTables(client, storm, name, market)))
        if (name === 'staff') checks.push(checkNone('lost or altered writes', storm.ledger.compare(market)))
      }
      const { rows } = await client.query<{ key: string; count: number }>(
        `select "ResourceRecordKey" as key, count(distinct "EntityEventSequence")::int as count from "EntityEvent" where "ResourceName" = 'Property' group by 1`,
      )
      const counts = new Map(rows.map(({ key, count }) => [key, count]))
      return [...checks, checkNone('writes without an event', storm.ledger.compareEvents(counts))]
    })
  } finally {
    await database.close()
  }
}

async function main(): Promise<void> {
  const { seconds, kinds } = readOptions()
  createRunFolder()
  const checks: Check[] = []
  for (const kind of kinds) {
    const setting = await startSetting(kind)
    if (!setting) continue
    note(`the ${kind} database has its market`)
    const watchdog = new Watchdog()
    try {
      const results = await Promise.race([
        runStorm(setting, kind === 'server' ? seconds : seconds * EMBEDDED_SHARE, watchdog),
        watchdog.watch(setting.storm.isOver),
      ])
      checks.push(...results.map(check => ({ ...check, name: `${kind}: ${check.name}` })))
    } catch (error) {
      // The log of the service has the reason.
      await wait(1000)
      throw new Error([messageOf(error), ...setting.storm.faults].join('\n'))
    } finally {
      await Promise.race([setting.close(), wait(CLOSE_TIMEOUT_MS, undefined, { ref: false })])
    }
  }
  const failed = checks.filter(({ isMet }) => isMet === false).length
  const passed = checks.filter(({ isMet }) => isMet === true).length
  process.stdout.write(`${renderChecks(checks)}\nstorm: ${passed} passed, ${failed} failed\n`)
  process.exitCode = failed === 0 ? 0 : 1
}

// Writers may still wait after an error.
main()
  .catch((error: unknown) => {
    process.stderr.write(`${messageOf(error)}\n`)
    process.exitCode = 1
  })
  .finally(() => process.exit())
