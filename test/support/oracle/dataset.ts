import type { Database } from '../../../src/data/database.js'
import { ENTITIES } from '../../../src/model/model.js'
import type { Known, World } from './oracle.js'

interface Delegate {
  findMany(): Promise<readonly Known[]>
}

/** Every record of the database, as Prisma gives it. */
export async function readWorld({ prisma }: Database): Promise<World> {
  const delegates = prisma as unknown as Readonly<Record<string, Delegate>> // Prisma names a delegate after its model, in lower camel case
  const entries: [string, readonly Known[]][] = []
  for (const { name } of ENTITIES.values())
    entries.push([
      name,
      (await delegates[`${name.charAt(0).toLowerCase()}${name.slice(1)}`]?.findMany()) ?? [],
    ])
  return new Map(entries)
}
