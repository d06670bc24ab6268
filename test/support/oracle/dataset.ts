import type { Database } from '../../../src/data/database.js'
import { ENTITIES } from '../../../src/model/model.js'
import type { Dataset, OracleRecord } from './oracle.js'

interface Delegate {
  findMany(): Promise<readonly OracleRecord[]>
}

/** Reads every record of the database by Prisma. */
export async function readDataset({ prisma }: Database): Promise<Dataset> {
  const delegates = prisma as unknown as Readonly<Record<string, Delegate>> // Prisma names a delegate after its model, in lower camel case
  const entries: [string, readonly OracleRecord[]][] = []
  for (const { name } of ENTITIES.values())
    entries.push([
      name,
      (await delegates[`${name.charAt(0).toLowerCase()}${name.slice(1)}`]?.findMany()) ?? [],
    ])
  return new Map(entries)
}
