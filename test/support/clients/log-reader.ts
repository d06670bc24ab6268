import type { Grant } from '../../../src/http/auth/sign-token.js'
import type { TestApp, TestResponse } from '../app.js'
import { type Row, rowsOf } from '../assertions.js'
import { iteratePages } from './replica.js'
import { REPLICATED_SETS } from './replicated-sets.js'

/** Tokens of the readers that tests compare. Agents may write their own listings. */
export const READERS: Readonly<Record<string, Partial<Grant>>> = {
  public: { scopes: ['listings:read'], audience: 'public' },
  member: { scopes: ['listings:read'], audience: 'member' },
  staff: {},
  agent: { scopes: ['listings:read', 'listings:write'], audience: 'public', memberKey: 'M1' },
  office: { scopes: ['listings:read', 'listings:write'], audience: 'member', officeKey: 'O2' },
}

/** A client with its own token. */
export class LogReader {
  readonly #authorization: string
  /** The number of the last event that was read. */
  position = 0

  constructor(
    private readonly app: Pick<TestApp, 'send' | 'tokenFor'>,
    readonly name: string,
    token = app.tokenFor(READERS[name]),
  ) {
    this.#authorization = `Bearer ${token}`
  }

  readonly send: TestApp['send'] = (target, parts): Promise<TestResponse> =>
    this.app.send(target, { ...parts, headers: { Authorization: this.#authorization, ...parts?.headers } })

  async rows(target: string): Promise<readonly Row[]> {
    const rows: Row[] = []
    for await (const page of iteratePages(this, `/odata/${target}`)) rows.push(...page)
    return rows
  }

  /** Moves to the end of the log. */
  async skipToEnd(): Promise<void> {
    const [last] = rowsOf(await this.send('/odata/EntityEvent?$orderby=EntityEventSequence desc&$top=1'))
    this.position = Number(last?.['EntityEventSequence'] ?? 0)
  }

  /** Reads the events after the position in pages: `Property L001`, in their order. */
  async readEvents(pageSize = 3): Promise<readonly string[]> {
    const filter = `$filter=EntityEventSequence gt ${this.position}&$orderby=EntityEventSequence&$top=${pageSize}`
    const events = await this.rows(`EntityEvent?${filter}`)
    this.position = Number(events.at(-1)?.['EntityEventSequence'] ?? this.position)
    return events.map(event => `${event['ResourceName']} ${event['ResourceRecordKey']}`)
  }
}

type Copies = ReadonlyMap<string, Map<string, Row>>

const emptyCopies = (): Copies =>
  new Map(Object.keys(REPLICATED_SETS).map(set => [set, new Map<string, Row>()]))

const toMarket = (copies: Copies) =>
  Object.fromEntries(
    [...copies].map(([set, records]) => [
      set,
      [...records].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, r]) => r),
    ]),
  )

/** Reads all visible records, by set and key. */
export async function readMarket(reader: LogReader): Promise<Readonly<Record<string, readonly Row[]>>> {
  const copies = emptyCopies()
  for (const [set, key] of Object.entries(REPLICATED_SETS))
    for (const row of await reader.rows(set)) copies.get(set)?.set(String(row[key]), row)
  return toMarket(copies)
}

/** A copy of a whole market, maintained from the change log (docs/replication.md). */
export class LogReplica {
  readonly #copies = emptyCopies()

  constructor(private readonly reader: LogReader) {}

  async poll(): Promise<void> {
    for (const event of new Set(await this.reader.readEvents(7))) {
      const [set = '', key = ''] = event.split(' ')
      const copy = this.#copies.get(set)
      copy?.delete(key)
      if (copy)
        for (const row of await this.reader.rows(`${set}?$filter=${REPLICATED_SETS[set]} eq '${key}'`))
          copy.set(key, row)
    }
  }

  market() {
    return toMarket(this.#copies)
  }
}

/** A copy of a whole market, maintained by `LastEventSequence`, with a sweep of the keys after each poll. */
export class PositionReplica {
  readonly #copies = emptyCopies()
  readonly #positions = new Map<string, number>()

  constructor(private readonly reader: LogReader) {}

  async poll(): Promise<void> {
    for (const [set, key] of Object.entries(REPLICATED_SETS)) {
      const filter = `$filter=LastEventSequence gt ${this.#positions.get(set) ?? 0}&$orderby=LastEventSequence&$top=7`
      for (const row of await this.reader.rows(`${set}?${filter}`)) {
        this.#copies.get(set)?.set(String(row[key]), row)
        this.#positions.set(set, Number(row['LastEventSequence']))
      }
      const keys = new Set((await this.reader.rows(`${set}?$select=${key}`)).map(row => String(row[key])))
      for (const copied of this.#copies.get(set)?.keys() ?? [])
        if (!keys.has(copied)) this.#copies.get(set)?.delete(copied)
    }
  }

  market() {
    return toMarket(this.#copies)
  }
}
