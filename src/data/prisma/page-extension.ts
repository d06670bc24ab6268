import type { Actor } from '../../domain/actor.js'
import { authorize } from '../../domain/authorize.js'
import type { DisclosurePolicy } from '../../domain/visibility.js'
import { getEntity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import { bind } from '../../query/bind/bind.js'
import type { QueryLimits } from '../../query/limits.js'
import { Prisma, type PrismaClient } from './client/client.js'
import { type FindArgs, toFindArgs } from './find-args.js'
import { fieldReferencesOf } from './find-records.js'
import { maskRecord, type PrismaRecord } from './record-json.js'

/**
 * Adds `findPage` to every model of a Prisma client, for scripts: it reads a query of the service as Prisma
 * objects, with the permissions of an actor. Fields that the actor may not read are null.
 *
 *     const prisma = database.prisma.$extends(createPageExtension(limits, policy))
 *     await prisma.property.findPage(parseODataQuery("$filter=City eq 'Vail'&$top=10"), actor)
 */
export const createPageExtension = (limits: QueryLimits, policy: DisclosurePolicy) =>
  Prisma.defineExtension({
    name: 'listing-pages',
    model: {
      $allModels: {
        /** @throws NotExpressibleError for what Prisma has no arguments for (docs/prisma.md). */
        async findPage<T>(this: T, query: Query, actor: Actor): Promise<readonly PrismaRecord[]> {
          const context = Prisma.getExtensionContext(this) as unknown as ModelContext // as Prisma documents it
          const plan = authorize(bind(query, getEntity(context.$name), limits), actor, policy)
          const args = toFindArgs(plan, {
            representation: SCRIPT_REPRESENTATION,
            parameters: [],
            limit: plan.top,
            fieldReferences: fieldReferencesOf(context.$parent),
          })
          const records = await context.findMany(args)
          return records.map(record => maskRecord(plan, record))
        },
      },
    },
  })

interface ModelContext {
  readonly $name: string
  readonly $parent: PrismaClient
  findMany(args: FindArgs): Promise<readonly PrismaRecord[]>
}

const SCRIPT_REPRESENTATION = { reference: '', countSuffix: '', numbersAsText: false }
