import { LookupCache } from '../data/read/lookup-cache.js'
import type { StatementExecutors } from '../data/sql/statement.js'
import { runInTransaction, runOptimistically, runReads, type UnitOfWork } from '../data/write/unit-of-work.js'
import { ListingKeyGenerator } from '../domain/keys.js'
import type { WriteContext } from '../domain/listing-changes.js'
import type { ServiceDependencies } from './dependencies.js'
import type { ReadService } from './reading.js'

/** Dependencies of the write service. */
export interface WriteServiceDependencies extends Pick<ServiceDependencies, 'database' | 'plans'> {
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

/** Resources that all writes share, including those of a group. */
export interface WriteResources extends WriteRunners {
  /** Address of the request, for the audit log. */
  readonly address?: string | undefined
  readonly keyGenerator: ListingKeyGenerator
  readonly loadLookup: () => Promise<WriteContext['lookupValues']>
}

interface WriteRunners {
  /** Runs a write whose last statement is the only one that changes data. */
  readonly runOptimistically: WriteRunner
  /** Runs a write in a transaction. Within a group all runners use the transaction of the group. */
  readonly runInTransaction: WriteRunner
  /** Runs the reads of a write that will be refused. */
  readonly runReads: WriteRunner
}

export type WriteRunner = <T>(callback: (unit: UnitOfWork) => Promise<T>) => Promise<T>

export function createWriteResources(dependencies: WriteServiceDependencies): WriteResources {
  const lookups = new LookupCache(dependencies.database.prisma)
  // The values of the only locked lookup, StandardStatus, are in the code. Other lookups are enforced only
  // with STRICT_LOOKUPS.
  const loadLookup = async (): Promise<WriteContext['lookupValues']> => {
    if (!dependencies.config.strictLookups) return () => undefined
    const values = await lookups.get(currentTime(dependencies))
    return name => values.get(name)
  }
  return {
    keyGenerator: new ListingKeyGenerator(),
    loadLookup,
    ...createWriteRunners(dependencies.database),
  }
}

export const createWriteRunners = (executors: StatementExecutors): WriteRunners => ({
  runOptimistically: callback => runOptimistically(executors, callback),
  runInTransaction: callback => runInTransaction(executors, callback),
  runReads: callback => runReads(executors, callback),
})

export const currentTime = (dependencies: WriteServiceDependencies): Date =>
  dependencies.now?.() ?? new Date()
