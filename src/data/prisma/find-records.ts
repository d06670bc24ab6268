import type { RequestScope } from '../../domain/request-scope.js'
import type { Entity } from '../../model/model.js'
import type { ParameterValues } from '../../query/parameter.js'
import type { Plan } from '../../query/plan.js'
import type { Representation } from '../../query/representation.js'
import type { FoundRecord, RecordFinder } from '../sql/statement.js'
import type { PrismaClient } from './client/client.js'
import type { FieldReferences, PrismaWhere } from './condition.js'
import { withRequestScope } from './driver-adapter.js'
import { type FindArgs, toFilterWhere, toFindArgs } from './find-args.js'
import { NotExpressibleError, notExpressible } from './not-expressible.js'
import { type PrismaRecord, toCursorText, toRecordText, versionOf } from './record-json.js'

/** The part of a model's delegate that reads. */
interface ReadDelegate {
  readonly fields: Readonly<Record<string, unknown>>
  findMany(args: FindArgs): Promise<readonly PrismaRecord[]>
  count(args: { readonly where?: PrismaWhere }): Promise<number>
}

type ReadClient = Pick<PrismaClient, 'property'>

const delegateOf = (client: ReadClient, { name }: Entity): ReadDelegate =>
  (client as unknown as Readonly<Record<string, ReadDelegate>>)[
    `${name[0]?.toLowerCase()}${name.slice(1)}`
  ] ?? failWithoutDelegate(name)

/** Returns the references of a client to its fields. */
export const fieldReferencesOf =
  (client: ReadClient): FieldReferences =>
  (entity, field) =>
    delegateOf(client, entity).fields[field] ?? failWithoutDelegate(`${entity.name}.${field}`)

function failWithoutDelegate(name: string): never {
  throw new Error(`Prisma has no model ${name}`)
}

/** Numbers of plans that Prisma did and did not read, by entity and reason. */
export type ReadStatistics = ReadonlyMap<string, number>

/**
 * The read engine of `READ_ENGINE=prisma`. Plans that Prisma can express are read by `findMany` and `count`,
 * the others by SQL. Related records are read in the same repeatable-read transaction, so that a page is one
 * snapshot.
 */
export class PrismaRecordFinder implements RecordFinder {
  readonly #client: PrismaClient
  readonly #fieldReferences: FieldReferences
  readonly #statistics = new Map<string, number>()

  constructor(client: PrismaClient) {
    this.#client = client
    this.#fieldReferences = fieldReferencesOf(client)
  }

  get statistics(): ReadStatistics {
    return this.#statistics
  }

  /** Returns the finder of one request, whose statements end when the request is aborted. */
  forRequest(scope: RequestScope): RecordFinder {
    return {
      findRecords: (plan, representation, parameters, limit) =>
        withRequestScope(scope, () => this.findRecords(plan, representation, parameters, limit)),
      countRecords: plan => withRequestScope(scope, () => this.countRecords(plan)),
    }
  }

  /** Returns at most `limit` records of a plan, or undefined if Prisma has no arguments for it. */
  async findRecords(
    plan: Plan,
    representation: Representation,
    parameters: ParameterValues,
    limit: number | undefined,
  ): Promise<readonly FoundRecord[] | undefined> {
    const args = this.#translate(plan, () =>
      toFindArgs(plan, { representation, parameters, limit, fieldReferences: this.#fieldReferences }),
    )
    if (!args) return undefined
    const records = await this.#findMany(plan, args)
    return records.map(record => ({
      json: toRecordText(plan, representation, record),
      cursor: toCursorText(plan.orderBy, record),
      version: versionOf(record),
    }))
  }

  /** Returns the number of records that the filter selects, or undefined if Prisma has no `where` for it. */
  async countRecords(plan: Plan): Promise<number | undefined> {
    const args = this.#translate(plan, () => {
      if (plan.from) notExpressible('$apply')
      const where = toFilterWhere(plan, { parameters: [], fieldReferences: this.#fieldReferences })
      return where ? { where } : {}
    })
    return args && delegateOf(this.#client, plan.entity).count(args)
  }

  #findMany(plan: Plan, args: FindArgs): Promise<readonly PrismaRecord[]> {
    if (plan.expand.length === 0) return delegateOf(this.#client, plan.entity).findMany(args)
    return this.#client.$transaction(client => delegateOf(client, plan.entity).findMany(args), {
      isolationLevel: 'RepeatableRead',
    })
  }

  #translate<A>({ entity }: Plan, translate: () => A): A | undefined {
    try {
      const args = translate()
      this.#countPlan(`${entity.name}: Prisma`)
      return args
    } catch (error) {
      if (!(error instanceof NotExpressibleError)) throw error
      this.#countPlan(`${entity.name}: SQL, ${error.reason}`)
      return undefined
    }
  }

  #countPlan(name: string): void {
    this.#statistics.set(name, (this.#statistics.get(name) ?? 0) + 1)
  }
}
