import type { RecordJson } from '../data/sql/json/records.js'
import type { Statement } from '../data/sql/statement.js'
import {
  type RecordRepresentation,
  toDeleteStatement,
  toInsertStatement,
  toUpdateStatement,
} from '../data/sql/write-statements.js'
import { RecordChangedError, type UnitOfWork } from '../data/write/unit-of-work.js'
import { type Actor, requireWriteScope, writerOf } from '../domain/actor.js'
import { assignedValues, draftFields } from '../domain/field-assignments.js'
import type { JsonObject } from '../domain/json.js'
import {
  NO_CHANGES,
  readListingChanges,
  toUnreadableChanges,
  type WriteMode,
} from '../domain/listing-changes.js'
import type { RequestScope } from '../domain/request-scope.js'
import {
  EMPTY_RULE_INPUTS,
  isAlwaysRefused,
  type RuleInputs,
  refusalsOf,
  toEvaluationContext,
  toWritePlan,
  type WritePlan,
} from '../domain/write-plan.js'
import type { Precondition } from '../domain/write-shape.js'
import { shapeKeyOf, shapeOf, toParameters, type WriteRequest } from '../domain/write-shape.js'
import { failIfAny } from '../errors/problem.js'
import { getEntity } from '../model/model.js'
import type { Plan } from '../query/plan.js'
import type { PlanCacheLevel } from '../query/plan-cache.js'
import {
  createWriteResources,
  createWriteRunners,
  currentTime,
  type WriteResources,
  type WriteRunner,
  type WriteServiceDependencies,
} from './write-resources.js'
import { keysOf, limitResponse, needsSeparateRead, type ReturnRequest } from './write-response.js'

/** A written record: its JSON in the requested representation, and the version for its ETag. */
export interface WriteResult {
  readonly key: string
  readonly version: string | null
  readonly json: string
  /** The query of the response. It selects fewer fields than the request if the token cannot read listings. */
  readonly query: ReturnRequest['query']
}

/** Reads the body of a request. Called after the scope of the token is checked. */
export type BodySource = () => Promise<JsonObject>

/** The requested response to a write, limited to what the actor may read, and the plan that reads it. */
interface WriteResponse extends ReturnRequest {
  readonly plan: Plan
}

/** A write whose body was read. */
interface ReadWrite extends WriteRequest {
  readonly body: JsonObject
}

/** The only entity that clients write (interface 1). */
const PROPERTY = getEntity('Property')

/** Rules and statements of writes, by actor and shape of the change. */
const WRITE_PLAN_LEVEL: PlanCacheLevel<WritePlan> = { name: 'write plan', sizeOf: () => 32 }

/**
 * Writes records, for both adapters. One statement changes the record if the rules hold for the stored
 * record, and returns it. If a rule does not hold, the record is read to find the reasons. A body that is
 * invalid in itself is never sent. The process remembers nothing about records. The order of refusals:
 * missing scope (403), not found or not visible (404), listing, agent or office of others (403), precondition
 * (412), all faults of the body together (400).
 */
export class WriteService {
  readonly #resources: WriteResources

  constructor(
    private readonly dependencies: WriteServiceDependencies,
    resources: WriteResources = createWriteResources(dependencies),
  ) {
    this.#resources = resources
  }

  /** Returns the service for one request. */
  forRequest(scope: RequestScope): WriteService {
    return new WriteService(this.dependencies, {
      keyGenerator: this.#resources.keyGenerator,
      loadLookup: this.#resources.loadLookup,
      address: scope.address,
      ...createWriteRunners(this.dependencies.database.executorsFor(scope)),
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
          runReads: run,
        }),
      )
    })
  }

  /** Creates a draft. */
  async create(readBody: BodySource, actor: Actor, returnRequest: ReturnRequest): Promise<WriteResult> {
    const request = await this.#readWrite(readBody, 'create', actor, {})
    const { changes } = request
    const plan = this.#planOf(request)
    return this.#run(plan, request, returnRequest, async (unit, response) => {
      const now = currentTime(this.dependencies)
      const key = this.#resources.keyGenerator.next(now)
      const parameters = this.#parametersOf(request, key, now)
      const values = {
        ...changes.values,
        ...draftFields(key, this.dependencies.config.originatingSystemName, now),
        ...assignedValues(plan.assignments, toEvaluationContext(EMPTY_RULE_INPUTS, parameters)),
        [PROPERTY.key.name]: key,
      }
      const write = (representation?: RecordRepresentation) =>
        toInsertStatement(plan, parameters, values, representation)
      const written = isAlwaysRefused(plan) ? undefined : await this.#write(unit, key, actor, response, write)
      return (
        written ?? this.#refuse(plan, request, key, parameters, await unit.findReferences(keysOf(request)))
      )
    })
  }

  /** Changes the fields that the body names. */
  update(
    key: string,
    readBody: BodySource,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    return this.#applyChanges(key, readBody, 'change', actor, precondition, returnRequest)
  }

  /**
   * Replaces every field that clients write and the token can read. StandardStatus is unchanged if the body
   * omits it.
   */
  replace(
    key: string,
    readBody: BodySource,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    return this.#applyChanges(key, readBody, 'replace', actor, precondition, returnRequest)
  }

  /** Deletes the record with its media, rooms and open houses. */
  async remove(key: string, actor: Actor, precondition: Precondition): Promise<void> {
    requireWriteScope(actor)
    const request: ReadWrite = { mode: 'delete', actor, changes: NO_CHANGES, precondition, body: {} }
    const plan = this.#planOf(request)
    const parameters = this.#parametersOf(request, key)
    await this.#runnerOf(plan)(async unit => {
      const removed = isAlwaysRefused(plan)
        ? undefined
        : await unit.write(toDeleteStatement(plan, parameters))
      if (!removed)
        this.#refuse(plan, request, key, parameters, await unit.findRuleInputs(key, keysOf(request)))
    })
  }

  async #applyChanges(
    key: string,
    readBody: BodySource,
    mode: WriteMode,
    actor: Actor,
    precondition: Precondition,
    returnRequest: ReturnRequest,
  ): Promise<WriteResult> {
    const request = await this.#readWrite(readBody, mode, actor, precondition)
    const plan = this.#planOf(request)
    return this.#run(plan, request, returnRequest, async (unit, response) => {
      const parameters = this.#parametersOf(request, key)
      const write = (representation?: RecordRepresentation) =>
        toUpdateStatement(plan, parameters, representation)
      const written = isAlwaysRefused(plan) ? undefined : await this.#write(unit, key, actor, response, write)
      return (
        written ??
        this.#refuse(plan, request, key, parameters, await unit.findRuleInputs(key, keysOf(request)))
      )
    })
  }

  /** Reads the body of a write. A body that cannot be parsed is reported like other faults. */
  async #readWrite(
    readBody: BodySource,
    mode: WriteMode,
    actor: Actor,
    precondition: Precondition,
  ): Promise<ReadWrite> {
    requireWriteScope(actor)
    const lookupValues = await this.#resources.loadLookup()
    const readableIf = this.dependencies.reading.readConditionsOf(actor)
    const { body, changes } = await readBody().then(
      body => ({ body, changes: readListingChanges(body, mode, { actor, lookupValues, readableIf }) }),
      (error: unknown) => ({ body: {}, changes: toUnreadableChanges(error) }),
    )
    return { mode, actor, changes, precondition, body }
  }

  #parametersOf(
    request: WriteRequest,
    key: string,
    now = currentTime(this.dependencies),
  ): readonly unknown[] {
    const writer = JSON.stringify(writerOf(request.actor, this.#resources.address))
    return toParameters(request, key, now, writer)
  }

  #planOf(request: WriteRequest): WritePlan {
    const shape = shapeOf(request)
    return shape.faultyFields.size > 0
      ? toWritePlan(shape)
      : this.dependencies.plans.getOrCreate(WRITE_PLAN_LEVEL, shapeKeyOf(shape), () => toWritePlan(shape))
  }

  /**
   * Runs a write with the runner of its plan and response. The response is limited, and its query is
   * bound, before anything is written.
   */
  #run(
    plan: WritePlan,
    { body, actor }: ReadWrite,
    returnRequest: ReturnRequest,
    callback: (unit: UnitOfWork, response: WriteResponse) => Promise<WriteResult>,
  ): Promise<WriteResult> {
    const { plans, reading } = this.dependencies
    const limited = limitResponse(returnRequest, body, actor, plans)
    const response = { ...limited, plan: reading.toAuthorizedPlan(PROPERTY, limited.query, actor) }
    return this.#runnerOf(plan, response)(unit => callback(unit, response))
  }

  /** A response with related records is read in the transaction of its write. */
  #runnerOf(plan: WritePlan, response?: ReturnRequest): WriteRunner {
    if (isAlwaysRefused(plan)) return this.#resources.runReads
    return response && needsSeparateRead(response)
      ? this.#resources.runInTransaction
      : this.#resources.runOptimistically
  }

  /** Writes the record and returns it. Returns undefined if the rules did not hold. */
  async #write(
    unit: UnitOfWork,
    key: string,
    actor: Actor,
    response: WriteResponse,
    toStatement: (representation?: RecordRepresentation) => Statement,
  ): Promise<WriteResult | undefined> {
    const { query, plan, representation, isMinimal } = response
    const isSeparate = needsSeparateRead(response)
    const written = await unit.write(
      toStatement(isMinimal || isSeparate ? undefined : { plan, representation }),
    )
    if (!written) return undefined
    const record: RecordJson | undefined = isSeparate
      ? await this.dependencies.reading.readWritten(unit.executor, PROPERTY, key, response, actor)
      : written
    return { key, query, ...(record ?? written) }
  }

  /** Fails with the reasons for which a write was refused. */
  #refuse(
    plan: WritePlan,
    request: ReadWrite,
    key: string,
    parameters: readonly unknown[],
    inputs: RuleInputs,
  ): never {
    failIfAny(refusalsOf(plan, request, key, parameters, inputs))
    throw new RecordChangedError('The rules of the write hold now')
  }
}
