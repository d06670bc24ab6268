import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadSampleIfEmpty } from '../../src/sample/fill.js'
import { startTestApp, type TestApp } from '../support/app.js'
import { firstDifference } from '../support/assertions.js'
import { LogReader } from '../support/clients/log-reader.js'
import { DATABASE_KINDS } from '../support/database.js'
import { readDataset } from '../support/oracle/dataset.js'
import { QueryGenerator } from '../support/oracle/random-queries.js'
import {
  type Answer,
  type Channel,
  createChannels,
  type Probe,
  type ReaderState,
  readAnswer,
  renewState,
} from './channels.js'
import { createHiddenChanges, HIDDEN_KEYS, type HiddenChange } from './hidden-changes.js'
import { createRandom } from './random.js'

// Noninterference: a change of records that a reader cannot see does not change any response to it. Each pair
// is a random request through one of the channels, sent before and after such a change. A visible change
// must change responses of every channel, so that the test can fail. NONINTERFERENCE_PAIRS and
// NONINTERFERENCE_SEED extend the run.

const PAIRS = Number(process.env['NONINTERFERENCE_PAIRS'] ?? 160)
const SEED = Number(process.env['NONINTERFERENCE_SEED'] ?? 7)
const PROBES = 5
const ROUNDS_PER_STATE = 8

describe.each(DATABASE_KINDS)('noninterference on the %s database', kind => {
  const random = createRandom(SEED)
  const pick = <T>(list: readonly T[]): T => list[random(list.length)] as T // no list is empty
  const states = new Map<string, ReaderState>()
  let app: TestApp
  let channels: Readonly<Record<string, Channel>>
  let changes: readonly HiddenChange[]
  let hiddenEvents: readonly number[] = []
  let rounds = 0

  beforeAll(async () => {
    app = await startTestApp({ kind, env: { PAGE_SIZE: '15', NON_DISCLOSURE: 'on', RATE_LIMIT: '0' } })
    await loadSampleIfEmpty(app.database, 12)
    changes = await createHiddenChanges(app, random)
    channels = createChannels(new QueryGenerator(await readDataset(app.database)), SEED, {
      keys: () => HIDDEN_KEYS,
      events: () => hiddenEvents,
    })
    for (const name of ['public', 'member', 'agent', 'office']) {
      const reader = new LogReader(app, name)
      states.set(name, { reader, position: 0, deltaLinks: [], changesToken: '' })
    }
  }, 240_000)
  afterAll(() => app?.close())

  async function changeVisibly(): Promise<void> {
    await app.database.withClient(async client => {
      const { rows } = await client.query<{ key: string }>(
        `select "ListingKey" as key from "Property" where "ListingKey" like 'L%' and "StandardStatus" <> 'Incomplete' and "InternetEntireListingDisplayYN" is distinct from false`,
      )
      const key = pick(rows).key
      await client.query(
        `update "Property" set "City" = 'Austin', "PublicRemarks" = 'a pool ${random(9999)}' where "ListingKey" = '${key}'`,
      )
      for (const table of ['Media', 'Rooms', 'OpenHouse'])
        await client.query(
          `update "${table}" set "ModificationTimestamp" = null where "${table === 'Media' ? 'ResourceRecordKey' : 'ListingKey'}" = '${key}'`,
        )
    })
  }
  async function beginRound(): Promise<void> {
    if (rounds++ % ROUNDS_PER_STATE === 0) for (const state of states.values()) await renewState(state)
    await changeVisibly()
    const rows = await app.database.prisma.$queryRawUnsafe<{ number: bigint }[]>(
      `select distinct "EntityEventSequence" as number from "EntityEvent" where "PropertyKey" ~ '^[DH]' order by 1 desc limit 50`,
    )
    hiddenEvents = rows.map(({ number }) => Number(number))
  }

  /** A request of a reader and its response. */
  interface Asked { readonly channel: string; readonly state: ReaderState; readonly probe: Probe; readonly answer: Answer } // biome-ignore format: one line
  async function ask(readers: readonly string[], names = Object.keys(channels)): Promise<readonly Asked[]> {
    const asked: Asked[] = []
    for (const state of readers.flatMap(name => states.get(name) ?? []))
      for (let n = 0; n < Math.min(PROBES, names.length); n++) {
        const channel = names[(n + random(names.length)) % names.length] ?? ''
        const probe = channels[channel]?.(state, pick) ?? { target: '' }
        asked.push({ channel, state, probe, answer: await readAnswer(state, probe) })
      }
    return asked
  }
  const askAgain = ({ state, probe }: Asked) => readAnswer(state, probe)

  test(`${PAIRS} pairs of answers`, { timeout: 120_000 + 1000 * PAIRS }, async () => {
    const figures = new Map<string, readonly [pairs: number, withData: number]>()
    const differences: (readonly string[])[] = []
    for (let pairs = 0; pairs < PAIRS; ) {
      await beginRound()
      const change = pick(changes)
      const asked = await ask(change.hiddenFrom)
      await change.apply()
      for (const one of asked) {
        const after = await askAgain(one)
        const [count, withData] = figures.get(one.channel) ?? [0, 0]
        figures.set(one.channel, [count + 1, withData + Number(one.answer.hasData)])
        const difference = firstDifference(after.pages, one.answer.pages)
        if (difference)
          differences.push([change.name, one.state.reader.name, one.channel, one.probe.target, ...difference])
        pairs++
      }
    }
    const total = [...figures.values()].reduce(([a, b], [c, d]) => [a + c, b + d], [0, 0])
    process.stdout.write(
      `${kind}: ${total[0]} pairs, ${total[1]} with data, ${differences.length} differences; ${JSON.stringify([...figures])}\n`,
    )
    expect({ seed: SEED, differences: differences.slice(0, 5) }).toEqual({ seed: SEED, differences: [] })
    expect(total[1]).toBeGreaterThan(total[0] / 3)
  })

  test('a visible change is noticed in every channel', { timeout: 180_000 }, async () => {
    const unnoticed = new Set(Object.keys(channels).filter(name => name !== 'known keys' && name !== 'query'))
    for (let round = 0; round < 40 && unnoticed.size > 0; round++) {
      await beginRound()
      const asked = await ask(['public', 'agent'], [...unnoticed])
      await changeVisibly()
      for (const one of asked)
        if (JSON.stringify((await askAgain(one)).pages) !== JSON.stringify(one.answer.pages))
          unnoticed.delete(one.channel)
    }
    expect([...unnoticed]).toEqual([])
  })
})
