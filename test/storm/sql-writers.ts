import { setTimeout as wait } from 'node:timers/promises'
import type { Client } from 'pg'
import type { Database } from '../../src/data/database.js'
import { EXISTS, type LedgerWrite } from './ledger.js'
import { createRandom, type Storm } from './storm.js'
import type { NoteStep } from './watchdog.js'

const PAUSE_MS = 60
const RECONNECT_MS = 500
/** Time for which a transaction stays open, which blocks all other writers. */
const HOLD_MS = { server: 1200, embedded: 200 }

/** A session of psql, with the effects of its transaction. */
class SqlTransaction {
  readonly writes: LedgerWrite[] = []

  constructor(private readonly client: Client) {}

  async run(sql: string, ...values: readonly unknown[]): Promise<number> {
    return (await this.client.query(sql, [...values])).rowCount ?? 0
  }

  expect(set: string, key: string, fields: LedgerWrite['fields']): void {
    this.writes.push({ set, key, fields })
  }
}

type SqlAction = (transaction: SqlTransaction) => Promise<void>

const INSERT_MEDIA = `insert into "Media" ("MediaKey", "ResourceName", "ResourceRecordKey", "MediaCategory", "Order") values ($1, 'Property', $2, 'Photo', $3)`
const INSERT_LISTING = `insert into "Property" ("ListingKey", "StandardStatus", "MlsStatus", "ContractStatus", "City", "ListAgentKey", "StreetName")
  values ($1, 'Active', 'Active', 'Available', 'Vail', $2, 'By SQL')`

/** Changes records by SQL: photos, visibility, agents, keys, many rows in one statement. */
class SqlWriter {
  readonly #random: (below: number) => number
  readonly #media: string[] = []
  readonly #listings: string[] = []
  #count = 0

  constructor(
    private readonly storm: Storm,
    private readonly number: number,
  ) {
    this.#random = createRandom(100 + number)
  }

  /** Reconnects after an outage of the database. */
  async run(note: NoteStep): Promise<void> {
    while (!this.storm.isOver()) {
      note('opens the database')
      const database = await this.storm.connect().catch(() => undefined)
      if (database) await this.#runSession(database, note).catch(() => undefined)
      note('waits')
      await wait(RECONNECT_MS)
    }
  }

  async #runSession(database: Database, note: NoteStep): Promise<void> {
    try {
      note('connects')
      await database.withClient(async client => {
        while (!this.storm.isOver()) {
          note('runs a transaction')
          await this.#runTransaction(client)
          await wait(PAUSE_MS)
        }
        note('ends its connection')
      })
    } finally {
      note('closes the database')
      await database.close().catch(() => undefined)
    }
  }

  async #runTransaction(client: Client): Promise<void> {
    const transaction = new SqlTransaction(client)
    const action = this.#pick()
    let isCommitting = false
    try {
      await client.query('begin')
      await action(transaction)
      if (this.#random(8) === 0) await wait(HOLD_MS[this.storm.kind])
      if (this.#random(10) === 0) {
        await client.query('rollback')
        return
      }
      isCommitting = true
      await client.query('commit')
      for (const write of transaction.writes) this.storm.ledger.record(write, true)
    } catch (error) {
      // A refused statement can be repeated. If the connection was lost, the commit may have succeeded.
      if (isCommitting) for (const write of transaction.writes) this.storm.ledger.record(write, false)
      this.#noteFault(error)
      await client.query('rollback')
    }
  }

  /** Errors that are not caused by a restart, such as an invalid statement. */
  #noteFault(error: unknown): void {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (/^(22|23|42)/.test(code)) this.storm.faults.push(`SQL: ${code} ${String(error)}`)
  }

  #pick(): SqlAction {
    const actions: readonly SqlAction[] = [
      this.#addMedia,
      this.#addMedia,
      this.#moveMedia,
      this.#removeMedia,
      this.#renameMedia,
      this.#toggleDisplay,
      this.#toggleDisplay,
      this.#transfer,
      this.#updateMany,
      this.#addListing,
      this.#removeListing,
      this.#changePeople,
      this.#addChildren,
    ]
    return actions[this.#random(actions.length)] ?? this.#addMedia
  }

  #shared(): string {
    const { sharedKeys } = this.storm
    return sharedKeys[this.#random(sharedKeys.length)] ?? ''
  }
  #newKey(prefix: string): string {
    return `${prefix}-${this.number}-${++this.#count}`
  }
  #take(keys: string[]): string | undefined {
    return keys.splice(this.#random(keys.length), 1)[0]
  }

  readonly #addMedia: SqlAction = async t => {
    const [key, listing] = [this.#newKey('M'), this.#shared()]
    await t.run(INSERT_MEDIA, key, listing, this.#count)
    t.expect('Media', key, { [EXISTS]: true, ResourceRecordKey: listing })
    this.#media.push(key)
  }

  readonly #moveMedia: SqlAction = async t => {
    const [key, listing] = [this.#media[0], this.#shared()]
    const sql = `update "Media" set "ResourceRecordKey" = $2 where "MediaKey" = $1`
    if (key !== undefined && (await t.run(sql, key, listing)) > 0)
      t.expect('Media', key, { ResourceRecordKey: listing })
  }

  readonly #removeMedia: SqlAction = async t => {
    const key = this.#take(this.#media)
    if (key === undefined) return
    await t.run(`delete from "Media" where "MediaKey" = $1`, key)
    t.expect('Media', key, { [EXISTS]: false })
  }

  /** The old key must disappear from every copy. */
  readonly #renameMedia: SqlAction = async t => {
    const [key, other] = [this.#take(this.#media), this.#newKey('N')]
    if (key === undefined) return
    const count = await t.run(`update "Media" set "MediaKey" = $2 where "MediaKey" = $1`, key, other)
    t.expect('Media', key, { [EXISTS]: false })
    if (count > 0) t.expect('Media', other, { [EXISTS]: true })
  }

  readonly #toggleDisplay: SqlAction = async t => {
    await t.run(
      `update "Property" set "InternetEntireListingDisplayYN" = not coalesce("InternetEntireListingDisplayYN", true) where "ListingKey" = $1`,
      this.#shared(),
    )
  }

  readonly #transfer: SqlAction = async t => {
    const { agent, otherMemberKey } = this.storm
    await t.run(
      `update "Property" set "ListAgentKey" = case when "ListAgentKey" = $2 then $3 else $2 end where "ListingKey" = $1`,
      this.#shared(),
      agent.memberKey,
      otherMemberKey,
    )
  }

  readonly #updateMany: SqlAction = async t => {
    const [from, to] = [this.#random(5), `x${++this.#count}`]
    const keys = this.storm.sharedKeys.filter((_, i) => i % 5 === from)
    const field = this.number === 0 ? 'PostalCode' : 'StreetDirSuffix'
    await t.run(`update "Property" set "${field}" = $2 where "ListingKey" = any ($1)`, keys, to)
    for (const key of keys) t.expect('Property', key, { [field]: to })
  }

  /** Photos that are added in a separate transaction, before their listing. */
  readonly #addListing: SqlAction = async t => {
    const key = this.#newKey('S')
    await t.run(INSERT_MEDIA, `${key}-P`, key, 1)
    await t.run(INSERT_LISTING, key, this.storm.agent.memberKey)
    await t.run(`insert into "Rooms" ("RoomKey", "ListingKey") values ($1, $2)`, `${key}-R`, key)
    for (const [set, id] of [
      ['Property', key],
      ['Media', `${key}-P`],
      ['Rooms', `${key}-R`],
    ] as const)
      t.expect(set, id, { [EXISTS]: true })
    this.#listings.push(key)
  }

  readonly #removeListing: SqlAction = async t => {
    const key = this.#take(this.#listings)
    if (key === undefined) return
    if ((await t.run(`delete from "Property" where "ListingKey" = $1`, key)) === 0) return
    t.expect('Property', key, { [EXISTS]: false })
    t.expect('Media', `${key}-P`, { [EXISTS]: false })
    t.expect('Rooms', `${key}-R`, { [EXISTS]: false })
  }

  readonly #changePeople: SqlAction = async t => {
    const { agent, otherMemberKey } = this.storm
    const name = this.#newKey('Name')
    await t.run(`update "Office" set "OfficeName" = $2 where "OfficeKey" = $1`, agent.officeKey, name)
    if (this.number > 0) return
    await t.run(`update "Member" set "MemberNickname" = $2 where "MemberKey" = $1`, otherMemberKey, name)
    t.expect('Member', otherMemberKey, { MemberNickname: name })
  }

  readonly #addChildren: SqlAction = async t => {
    const [key, listing] = [this.#newKey('C'), this.#shared()]
    await t.run(`insert into "Rooms" ("RoomKey", "ListingKey") values ($1, $2)`, key, listing)
    await t.run(`insert into "OpenHouse" ("OpenHouseKey", "ListingKey") values ($1, $2)`, key, listing)
    t.expect('Rooms', key, { [EXISTS]: true, ListingKey: listing })
    t.expect('OpenHouse', key, { [EXISTS]: true, ListingKey: listing })
  }
}

/** Creates the writers by SQL. */
export const createSqlWriters = (
  storm: Storm,
  count: number,
): readonly { run(note: NoteStep): Promise<void> }[] =>
  Array.from({ length: count }, (_, number) => new SqlWriter(storm, number))
