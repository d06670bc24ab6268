import { LookupCache } from '../data/read/lookup-cache.js'
import type { RecordJson } from '../data/sql/json/records.js'
import type { RecordRepresentation } from '../data/sql/write-statements.js'
import {
  createSnapshotCache,
  runInTransaction,
  runOptimistically,
  type StoredListing,
  type UnitOfWork,
} from '../data/write/unit-of-work.js'
import { type Actor, canWriteListing, type ListingOwners, requireWriteScope } from '../domain/actor.js'
import { type ListingChanges, readChanges, type WriteContext, type WriteMode } from '../domain/changes.js'
import { derivedFields, draftFields, ownersAfter } from '../domain/derived.js'
import type { JsonObject } from '../domain/json.js'
import { ListingKeyGenerator } from '../domain/keys.js'
import { NO_LISTING } from '../domain/listing.js'
import { checkPrecondition, type Precondition } from '../domain/precondition.js'
import { type ReferencedKeys, referencedKeys } from '../domain/references.js'
import { validateChanges } from '../domain/validate.js'
import { isRecordVisible } from '../domain/visibility.js'
import { fail, failIfAny } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import { memoize } from '../query/memoize.js'
import type { ReadRequest, ReadService, ServiceDependencies } from './reading.js'

/** What writing needs beside the database. */
export interface WriteServiceDependencies extends Pick<ServiceDependencies, 'database'> {
  readonly reading: ReadService
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
export interface ReturnRequest extends ReadRequest {
  readonly isMinimal?: boolean
}

/**
 * A record as it was written: its JSON as the view asked for it, and the version from which its ETag is made.
 */
export interface WriteResult {
  readonly key: string
  readonly version: string | null
  readonly json: string
}

/** What all writes share, those of a group too. */
interface WriteResources {
  readonly keyGenerator: ListingKeyGenerator
  readonly loadLookup: () => Promise<WriteContext['lookupValues']>
  /** Runs a write that is one by its last statement. */
  readonly runOptimistically: WriteRunner
  /** Runs work in a transaction of its own. In a group both are that of the group. */
  readonly runInTransaction: WriteRunner
}

type WriteRunner = <T>(callback: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/** Only this entity is written by clients (interface 1). */
const PROPERTY = getEntity('Property')
const NO_KEYS: ReferencedKeys = { Member: new Set(), Office: new Set() }

/**
 * The writing part of the port that both adapters use. A record is judged as it is stored, and changed only
 * if it still is that when it is written; the statement that writes it also answers. A refused write changes
 * nothing. Refused in this order: no scope (403), not there or not to be seen (404), another's (403),
 * condition not met (412), faults of the body, all at once (400).
 */
export class WriteService {
  readonly #resources: WriteResources

  constructor(
    private readonly dependencies: WriteServiceDependencies,
    resources: Partial<WriteResources> = {},
  ) {
    this.#resources = { ...createWriteResources(dependencies), ...resources }
  }

  /**
   * Runs writes as one: all of them are written, or none. `keys` are those of the records that they will
   * change: locked before anything else and in one order, so that two groups never wait for each other. The
   * work may be run again where the database gave up, so it must do nothing but write with what it is given.
   */
  async transaction<T>(keys: readonly string[], callback: (service: WriteService) => Promise<T>): Promise<T> {
    // Read before the transaction: the embedded database has one connection, and the transaction will hold
    // it.
    const lookup = await this.#resources.loadLookup()
    return this.#resources.runInTransaction(async unit => {
      await unit.lockListings(keys)
      const run: WriteRunner = callback => callback(unit)
      return callback(
        new WriteService(this.dependencies, {
          ...this.#resources,
          loadLookup: async () => lookup,
          runOptimistically: run,
          runInTransaction: run,
        }),
      )
    })
  }

  /** Creates a draft. */
  async create(body: JsonObject, actor: Actor, returnRequest: ReturnRequest): Promise<WriteResult> {
    const changes = await this.#readChanges(body, 'create', actor)
    return this.#runnerFor(returnRequest)(async unit => {
      const existingKeys = await unit.findExistingKeys(referencedKeys(changes.values))
      failIfAny(validateChanges(changes, NO_LISTING, existingKeys, body))
      this.#requireOwnership(actor, ownersAfter(NO_LISTING, changes))
      const now = currentTime(this.dependencies)
      const key = this.#resources.keyGenerator.next(now)
      const values = {
        ...changes.values,
        ...draftFields(key, this.dependencies.config.originatingSystemName, now),
        ...derivedFields(NO_LISTING, changes, now),
        [PROPERTY.key.name]: key,
      }
      return this.#writeAndReturn(unit, key, actor, returnRequest, representation =>
        unit.insert(key, values, representation),
      )
    })
  }

  /** Changes the fields that the body names. */
  update(
    key: string,
    body: JsonObject,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    return this.#applyChanges(key, body, 'change', actor, precondition, returnRequest)
  }

  /** Replaces every field that clients write; StandardStatus stays if the body leaves it out. */
  replace(
    key: string,
    body: JsonObject,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    return this.#applyChanges(key, body, 'replace', actor, precondition, returnRequest)
  }

  /** Removes the record with its media, rooms and open houses. */
  async remove(key: string, actor: Actor, precondition: Precondition): Promise<void> {
    requireWriteScope(actor)
    await this.#resources.runOptimistically(async unit => {
      const { version } = await this.#findWritable(unit, key, NO_KEYS, actor, precondition)
      await unit.remove(key, version)
    })
  }

  async #applyChanges(
    key: string,
    body: JsonObject,
    mode: WriteMode,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    const changes = await this.#readChanges(body, mode, actor)
    return this.#runnerFor(returnRequest)(async unit => {
      const { listing, version, existingKeys } = await this.#findWritable(
        unit,
        key,
        referencedKeys(changes.values),
        actor,
        precondition,
      )
      failIfAny(validateChanges(changes, listing, existingKeys, body))
      // What a create may not do, a change may not do either: put a listing on somebody else.
      this.#requireOwnership(actor, ownersAfter(listing, changes))
      const values = { ...changes.values, ...derivedFields(listing, changes, currentTime(this.dependencies)) }
      return this.#writeAndReturn(unit, key, actor, returnRequest, representation =>
        unit.update(key, version, values, representation),
      )
    })
  }

  async #readChanges(body: JsonObject, mode: WriteMode, actor: Actor): Promise<ListingChanges> {
    requireWriteScope(actor)
    return readChanges(body, mode, { actor, lookupValues: await this.#resources.loadLookup() })
  }

  /** A record that the actor may write. */
  async #findWritable(
    unit: UnitOfWork,
    key: string,
    keys: ReferencedKeys,
    actor: Actor,
    precondition: Precondition,
  ): Promise<StoredListing> {
    const stored = await unit.findListing(key, visibilityConditionFor(actor), keys)
    if (!stored) return failNotFound(key)
    this.#requireOwnership(actor, stored.listing)
    checkPrecondition(precondition, stored.version)
    return stored
  }

  #requireOwnership(actor: Actor, owners: ListingOwners): void {
    if (!canWriteListing(actor, owners)) fail({ kind: 'NotYours', entity: PROPERTY.name })
  }

  /**
   * An answer of more than the record itself takes statements of its own, and tells of the same moment only
   * in a transaction.
   */
  #runnerFor(returnRequest: ReturnRequest): WriteRunner {
    return needsSeparateRead(returnRequest)
      ? this.#resources.runInTransaction
      : this.#resources.runOptimistically
  }

  /**
   * The query is read before anything is written. Who may write a listing sees it, so that there always is an
   * answer.
   */
  async #writeAndReturn(
    unit: UnitOfWork,
    key: string,
    actor: Actor,
    returnRequest: ReturnRequest,
    write: (representation?: RecordRepresentation) => Promise<RecordJson>,
  ): Promise<WriteResult> {
    const { query, representation, isMinimal } = returnRequest
    const plan = this.dependencies.reading.toAuthorizedPlan(PROPERTY, query, actor)
    if (!needsSeparateRead(returnRequest))
      return { key, ...(await write(isMinimal ? undefined : { plan, representation })) }
    await write()
    const found = await this.dependencies.reading.readRecord(
      unit.executor,
      PROPERTY,
      key,
      returnRequest,
      actor,
    )
    return found ? { key, ...found } : failNotFound(key)
  }
}

/** The condition on a record that the actor can see. */
const visibilityConditionFor = memoize(function visibilityConditionFor(actor: Actor) {
  return isRecordVisible(PROPERTY, 'r0', actor)
})

/** Whether the answer tells of more than the record that is written. */
const needsSeparateRead = ({ query, isMinimal = false }: ReturnRequest): boolean =>
  !isMinimal && [query.expand, query.compute].some(items => items !== undefined && items.length > 0)

const failNotFound = (key: string): never =>
  fail({ kind: 'NotFound', what: `${PROPERTY.name} with the key '${key}'` })

function createWriteResources(dependencies: WriteServiceDependencies): WriteResources {
  const lookups = new LookupCache(dependencies.database.prisma)
  // The only locked lookup, StandardStatus, has its values in the code; the others are held to theirs only if
  // the market wishes so.
  const loadLookup = async (): Promise<WriteContext['lookupValues']> => {
    if (!dependencies.config.strictLookups) return () => undefined
    const values = await lookups.get(currentTime(dependencies))
    return name => values.get(name)
  }
  const { database } = dependencies
  const snapshots = createSnapshotCache()
  return {
    keyGenerator: new ListingKeyGenerator(),
    loadLookup,
    runOptimistically: callback => runOptimistically(database, snapshots, callback),
    runInTransaction: callback => runInTransaction(database, callback),
  }
}

const currentTime = (dependencies: WriteServiceDependencies): Date => dependencies.now?.() ?? new Date()
