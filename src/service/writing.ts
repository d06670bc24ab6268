import { LookupCache } from '../data/read/lookup-cache.js'
import type { Found } from '../data/sql/json/records.js'
import type { Shown } from '../data/sql/write-statements.js'
import {
  inTransaction,
  newRemembered,
  type Stored,
  type UnitOfWork,
  writeAlone,
} from '../data/write/unit-of-work.js'
import { type Actor, mayWrite, type Owners, requireWriting } from '../domain/actor.js'
import { type Changes, type Mode, type Rules, readChanges } from '../domain/changes.js'
import { derivedFields, draftFields, ownersAfter } from '../domain/derived.js'
import type { JsonObject } from '../domain/json.js'
import { ListingKeys } from '../domain/keys.js'
import { NO_LISTING } from '../domain/listing.js'
import { checkPrecondition, type Precondition } from '../domain/precondition.js'
import { type Keys, referencedKeys } from '../domain/references.js'
import { judge } from '../domain/validate.js'
import { isVisible } from '../domain/visibility.js'
import { fail, failIfAny } from '../errors/problem.js'
import { entity } from '../model/model.js'
import { remember } from '../query/memoize.js'
import type { Reading, ServiceParts, View } from './reading.js'

/** What writing needs beside the database. */
export interface WritingParts extends Pick<ServiceParts, 'database'> {
  readonly reading: Reading
  readonly config: {
    /** OriginatingSystemName of new listings. */
    readonly originatingSystemName: string
    /** Every lookup field takes only the values of Lookup. */
    readonly strictLookups: boolean
  }
  /** The clock; without one, that of the machine. */
  readonly now?: () => Date
}

/** How a record is answered that was written; `brief`: by its version alone, its JSON is an empty object. */
export interface WrittenView extends View {
  readonly brief?: boolean
}

/**
 * A record as it was written: its JSON as the view asked for it, and the version from which its ETag is made.
 */
export interface Written {
  readonly key: string
  readonly version: string | null
  readonly json: string
}

/** What all writes share, those of a group too. */
interface Means {
  readonly keys: ListingKeys
  readonly lookup: () => Promise<Rules['lookup']>
  /** Runs a write that is one by its last statement. */
  readonly alone: Run
  /** Runs work in a transaction of its own. In a group both are that of the group. */
  readonly inTransaction: Run
}

type Run = <T>(work: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/** Only this entity is written by clients (interface 1). */
const PROPERTY = entity('Property')
const NO_KEYS: Keys = { Member: new Set(), Office: new Set() }

/**
 * The writing part of the port that both adapters use. A record is judged as it is stored, and changed only
 * if it still is that when it is written; the statement that writes it also answers. A refused write changes
 * nothing. Refused in this order: no scope (403), not there or not to be seen (404), another's (403),
 * condition not met (412), faults of the body, all at once (400).
 */
export class Writing {
  readonly #means: Means

  constructor(
    private readonly parts: WritingParts,
    means: Partial<Means> = {},
  ) {
    this.#means = { ...ownMeans(parts), ...means }
  }

  /**
   * Runs writes as one: all of them are written, or none. `keys` are those of the records that they will
   * change: locked before anything else and in one order, so that two groups never wait for each other. The
   * work may be run again where the database gave up, so it must do nothing but write with what it is given.
   */
  async together<T>(keys: readonly string[], work: (writing: Writing) => Promise<T>): Promise<T> {
    // Read before the transaction: the embedded database has one connection, and the transaction will hold
    // it.
    const lookup = await this.#means.lookup()
    return this.#means.inTransaction(async unit => {
      await unit.lockAll(keys)
      const run: Run = part => part(unit)
      return work(
        new Writing(this.parts, {
          ...this.#means,
          lookup: async () => lookup,
          alone: run,
          inTransaction: run,
        }),
      )
    })
  }

  /** Creates a draft. */
  async create(body: JsonObject, actor: Actor, view: WrittenView): Promise<Written> {
    const changes = await this.#read(body, 'create', actor)
    return this.#runFor(view)(async unit => {
      const known = await unit.findKeys(referencedKeys(changes.values))
      failIfAny(judge(changes, NO_LISTING, known, body))
      this.#requireOwn(actor, ownersAfter(NO_LISTING, changes))
      const now = readClock(this.parts)
      const key = this.#means.keys.next(now)
      const values = {
        ...changes.values,
        ...draftFields(key, this.parts.config.originatingSystemName, now),
        ...derivedFields(NO_LISTING, changes, now),
        [PROPERTY.key.name]: key,
      }
      return this.#written(unit, key, actor, view, shown => unit.insert(key, values, shown))
    })
  }

  /** Changes the fields that the body names. */
  change(
    key: string,
    body: JsonObject,
    actor: Actor,
    condition: Precondition,
    view: WrittenView,
  ): Promise<Written> {
    return this.#update(key, body, 'change', actor, condition, view)
  }

  /** Replaces every field that clients write; StandardStatus stays if the body leaves it out. */
  replace(
    key: string,
    body: JsonObject,
    actor: Actor,
    condition: Precondition,
    view: WrittenView,
  ): Promise<Written> {
    return this.#update(key, body, 'replace', actor, condition, view)
  }

  /** Removes the record with its media, rooms and open houses. */
  async remove(key: string, actor: Actor, condition: Precondition): Promise<void> {
    requireWriting(actor)
    await this.#means.alone(async unit => {
      const { version } = await this.#find(unit, key, NO_KEYS, actor, condition)
      await unit.remove(key, version)
    })
  }

  async #update(
    key: string,
    body: JsonObject,
    mode: Mode,
    actor: Actor,
    condition: Precondition,
    view: WrittenView,
  ): Promise<Written> {
    const changes = await this.#read(body, mode, actor)
    return this.#runFor(view)(async unit => {
      const { listing, version, known } = await this.#find(
        unit,
        key,
        referencedKeys(changes.values),
        actor,
        condition,
      )
      failIfAny(judge(changes, listing, known, body))
      // What a create may not do, a change may not do either: put a listing on somebody else.
      this.#requireOwn(actor, ownersAfter(listing, changes))
      const values = { ...changes.values, ...derivedFields(listing, changes, readClock(this.parts)) }
      return this.#written(unit, key, actor, view, shown => unit.update(key, version, values, shown))
    })
  }

  async #read(body: JsonObject, mode: Mode, actor: Actor): Promise<Changes> {
    requireWriting(actor)
    return readChanges(body, mode, { actor, lookup: await this.#means.lookup() })
  }

  /** A record that the actor may write. */
  async #find(
    unit: UnitOfWork,
    key: string,
    keys: Keys,
    actor: Actor,
    condition: Precondition,
  ): Promise<Stored> {
    const stored = await unit.find(key, visibleTo(actor), keys)
    if (!stored) return failNotFound(key)
    this.#requireOwn(actor, stored.listing)
    checkPrecondition(condition, stored.version)
    return stored
  }

  #requireOwn(actor: Actor, owners: Owners): void {
    if (!mayWrite(actor, owners)) fail({ kind: 'NotYours', entity: PROPERTY.name })
  }

  /**
   * An answer of more than the record itself takes statements of its own, and tells of the same moment only
   * in a transaction.
   */
  #runFor(view: WrittenView): Run {
    return isOfOthers(view) ? this.#means.inTransaction : this.#means.alone
  }

  /**
   * The query is read before anything is written. Who may write a listing sees it, so that there always is an
   * answer.
   */
  async #written(
    unit: UnitOfWork,
    key: string,
    actor: Actor,
    view: WrittenView,
    write: (shown?: Shown) => Promise<Found>,
  ): Promise<Written> {
    const { query, notation, brief } = view
    const plan = this.parts.reading.planOf(PROPERTY, query, actor)
    if (!isOfOthers(view)) return { key, ...(await write(brief ? undefined : { plan, notation })) }
    await write()
    const found = await this.parts.reading.read(unit.connection, PROPERTY, key, view, actor)
    return found ? { key, ...found } : failNotFound(key)
  }
}

/** The condition on a record that the actor can see. */
const visibleTo = remember((actor: Actor) => isVisible(PROPERTY, 'r0', actor))

/** Whether the answer tells of more than the record that is written. */
const isOfOthers = ({ query, brief = false }: WrittenView): boolean =>
  !brief && [query.expand, query.compute].some(items => items !== undefined && items.length > 0)

const failNotFound = (key: string): never =>
  fail({ kind: 'NotFound', what: `${PROPERTY.name} with the key '${key}'` })

function ownMeans(parts: WritingParts): Means {
  const lookups = new LookupCache(parts.database.prisma)
  // The only locked lookup, StandardStatus, has its values in the code; the others are held to theirs only if
  // the market wishes so.
  const lookup = async (): Promise<Rules['lookup']> => {
    if (!parts.config.strictLookups) return () => undefined
    const values = await lookups.get(readClock(parts))
    return name => values.get(name)
  }
  const { database } = parts
  const remembered = newRemembered()
  return {
    keys: new ListingKeys(),
    lookup,
    alone: work => writeAlone(database, remembered, work),
    inTransaction: work => inTransaction(database, work),
  }
}

const readClock = (parts: WritingParts): Date => parts.now?.() ?? new Date()
