import type { Plan } from '../query/plan.js'
import { Prisma } from './client/client.js'
import { identifier } from './columns.js'
import type { Sql } from './render.js'

const { sql, raw } = Prisma

/** Keys of more records than these are not looked up one by one. */
const MOST_SKIPPED = 10_000

/** The key of a plan's record, as its rows name it. */
export const keyOf = ({ entity, row }: Plan): Sql => sql`${raw(row)}.${identifier(entity.key.name)}`

/** How many keys a page and what is skipped before it take, if it may be found as keys first. */
export const countKeys = ({ from, skip }: Plan, most: number | undefined): number | undefined =>
  most === undefined || from || skip > MOST_SKIPPED ? undefined : most + skip

/** The records whose keys a subquery finds. */
export const isAmong = (plan: Plan, keys: Sql): Sql => sql`(${keyOf(plan)} = any(array(${keys})))`
