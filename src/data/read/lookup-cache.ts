import type { PrismaClient } from '../prisma/client/client.js'

/** The values of each non-empty lookup, by name. */
export type LookupValues = ReadonlyMap<string, ReadonlySet<string>>

/** Caches the rows of Lookup for a minute. They seldom change, and every write needs them. */
export class LookupCache {
  static readonly MAX_AGE_MS = 60_000
  #values: Promise<LookupValues> | undefined
  #readAt = 0

  constructor(private readonly prisma: Pick<PrismaClient, 'lookup'>) {}

  async get(now: Date): Promise<LookupValues> {
    const stale = now.getTime() - this.#readAt >= LookupCache.MAX_AGE_MS
    if (!this.#values || stale) {
      this.#readAt = now.getTime()
      this.#values = readLookupValues(this.prisma)
    }
    return this.#values.catch((error: unknown) => {
      this.#values = undefined
      throw error
    })
  }
}

async function readLookupValues(prisma: Pick<PrismaClient, 'lookup'>): Promise<LookupValues> {
  const rows = await prisma.lookup.findMany({ select: { LookupName: true, LookupValue: true } })
  const values = new Map<string, Set<string>>()
  for (const { LookupName, LookupValue } of rows)
    values.set(LookupName, (values.get(LookupName) ?? new Set()).add(LookupValue))
  return values
}
