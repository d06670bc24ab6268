import { LookupCache } from '../data/read/lookup-cache.js'
import type { RecordJson } from '../data/sql/json/records.js'
import type { StatementExecutors } from '../data/sql/statement.js'
import type { RecordRepresentation } from '../data/sql/write-statements.js'
import {
  createSnapshotCache,
  runInTransaction,
  runOptimistically,
  type SnapshotCache,
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
import type { RequestScope } from '../domain/request-scope.js'
import { validateChanges } from '../domain/validate.js'
import { isRecordVisible } from '../domain/visibility.js'
import { fail, failIfAny } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import { memoize } from '../query/memoize.js'
import type { ReadRequest, ReadService, ServiceDependencies } from './reading.js'

/** Dependencies of the write service. */
export interface WriteServiceDependencies extends Pick<ServiceDependencies, 'database'> {
  readonly reading: ReadService
  readonly config: {
    /** OriginatingSystemName of new listings. */
    readonly originatingSystemName: string
    /** Every lookup field accepts only the values in Lookup. */
    readonly strictLookups: boolean
  }
  /** The clock. Defaults to the system clock. */
  readonly now?: () => Date
}

/**
 * The requested response to a write. With `isMinimal` the response has only the version, and its JSON is an
 * empty object.
 */
export interface ReturnRequest extends ReadRequest {
  readonly isMinimal?: boolean
}

/** A written record: its JSON in the requested representation, and the version for its ETag. */
export interface WriteResult {
  readonly key: string
  readonly version: string | null
  readonly json: string
}

/** Resources that all writes share, including those of a group. */
interface WriteResources extends WriteRunners {
  readonly keyGenerator: ListingKeyGenerator
  readonly snapshots: SnapshotCache
  readonly loadLookup: () => Promise<WriteContext['lookupValues']>
}

interface WriteRunners {
  /** Runs a write whose last statement is the only one that changes data. */
  readonly runOptimistically: WriteRunner
  /** Runs a write in a transaction. Within a group both runners use the transaction of the group. */
  readonly runInTransaction: WriteRunner
}

type WriteRunner = <T>(callback: (unit: UnitOfWork) => Promise<T>) => Promise<T>

/** The only entity that clients write (interface 1). */
const PROPERTY = getEntity('Property')
const NO_KEYS: ReferencedKeys = { Member: new Set(), Office: new Set() }

/**
 * Writes records, for both adapters. The rules are checked against the stored record, and it is changed only
 * if it has the same version when it is written. The statement that writes it also returns it. A refused
 * write changes nothing. The order of refusals: missing scope (403), not found or not visible (404), listing
 * of another agent (403), precondition (412), all faults of the body together (400).
 */
export class WriteService {
  readonly #resources: WriteResources

  constructor(
    private readonly dependencies: WriteServiceDependencies,
    resources: WriteResources = createWriteResources(dependencies),
  ) {
    this.#resources = resources
  }

  /** The service as one request uses it. */
  forRequest(scope: RequestScope): WriteService {
    const { snapshots } = this.#resources
    return new WriteService(this.dependencies, {
      ...this.#resources,
      ...createWriteRunners(this.dependencies.database.executorsFor(scope), snapshots),
    })
  }

  /**
   * Runs several writes in one transaction. `keys` are the keys of the records to change. They are locked
   * first and in one order, so that two groups cannot deadlock. `callback` may run again after a conflict in
   * the database, so it must have no effects besides its writes.
   */
  async transaction<T>(keys: readonly string[], callback: (service: WriteService) => Promise<T>): Promise<T> {
    // Loaded before the transaction: the embedded database has one connection, and the transaction occupies
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

  /** Replaces every field that clients write. StandardStatus is unchanged if the body omits it. */
  replace(
    key: string,
    body: JsonObject,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    return this.#applyChanges(key, body, 'replace', actor, precondition, returnRequest)
  }

  /** Deletes the record with its media, rooms and open houses. */
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
      // A change must not assign the listing to another agent or office, as a create must not.
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

  /** Returns a record that the actor may write. */
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
   * Returns the runner for a write. A response with more than the written record needs its own statements,
   * which read a consistent state only in a transaction.
   */
  #runnerFor(returnRequest: ReturnRequest): WriteRunner {
    return needsSeparateRead(returnRequest)
      ? this.#resources.runInTransaction
      : this.#resources.runOptimistically
  }

  /**
   * Writes the record and returns it. The query is bound before anything is written. An actor that may write
   * a listing can see it, so there is always a record to return.
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
    const record = await this.dependencies.reading.readRecord(
      unit.executor,
      PROPERTY,
      key,
      returnRequest,
      actor,
    )
    return record ? { key, ...record } : failNotFound(key)
  }
}

/** Returns the condition under which the actor can see a listing. */
const visibilityConditionFor = memoize(function visibilityConditionFor(actor: Actor) {
  return isRecordVisible(PROPERTY, 'r0', actor)
})

/** Returns true if the response contains more than the written record. */
const needsSeparateRead = ({ query, isMinimal = false }: ReturnRequest): boolean =>
  !isMinimal && [query.expand, query.compute].some(items => items !== undefined && items.length > 0)

const failNotFound = (key: string): never =>
  fail({ kind: 'NotFound', what: `${PROPERTY.name} with the key '${key}'` })

function createWriteResources(dependencies: WriteServiceDependencies): WriteResources {
  const lookups = new LookupCache(dependencies.database.prisma)
  // The values of the only locked lookup, StandardStatus, are in the code. Other lookups are enforced only
  // with STRICT_LOOKUPS.
  const loadLookup = async (): Promise<WriteContext['lookupValues']> => {
    if (!dependencies.config.strictLookups) return () => undefined
    const values = await lookups.get(currentTime(dependencies))
    return name => values.get(name)
  }
  const snapshots = createSnapshotCache()
  return {
    keyGenerator: new ListingKeyGenerator(),
    snapshots,
    loadLookup,
    ...createWriteRunners(dependencies.database, snapshots),
  }
}

const createWriteRunners = (
  executors: Pick<StatementExecutors, 'writer' | 'transaction'>,
  snapshots: SnapshotCache,
): WriteRunners => ({
  runOptimistically: callback => runOptimistically(executors, snapshots, callback),
  runInTransaction: callback => runInTransaction(executors, callback),
})

const currentTime = (dependencies: WriteServiceDependencies): Date => dependencies.now?.() ?? new Date()
