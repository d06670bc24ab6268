import { setTimeout as sleep } from 'node:timers/promises'
import type { Listing } from '../domain/listing.js'
import type { Keys } from '../domain/references.js'
import type { FieldValue, Values } from '../domain/values.js'
import { ProblemError } from '../errors/problem.js'
import { entity, scalar } from '../model/model.js'
import type { Expr } from '../query/plan.js'
import { Prisma, type PrismaClient } from './client/client.js'
import type { Connection } from './connection.js'
import { isRetryable, toProblem } from './failures.js'
import { toWhere } from './where.js'

const { sql } = Prisma
const PROPERTY = entity('Property')

/** A record as a write finds it, locked. */
export interface Stored {
  readonly listing: Listing
  readonly version: string
}

const ATTEMPTS = 4
const PAUSE_MS = 20

/**
 * Runs work in one transaction: all of it is written, or nothing. Where the database itself gave up (a deadlock), it is tried again,
 * so the work must do nothing but what the transaction takes back.
 * @throws ProblemError, also for what the database refuses or cannot do now.
 */
export async function inTransaction<T>(prisma: PrismaClient, work: (unit: UnitOfWork) => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await prisma.$transaction(transaction => work(new UnitOfWork(transaction)))
    } catch (error) {
      if (error instanceof ProblemError) throw error
      if (attempt === ATTEMPTS || !isRetryable(error)) throw toThrown(error)
      await sleep(PAUSE_MS * attempt * (1 + Math.random()))
    }
  }
}

function toThrown(error: unknown): unknown {
  const problem = toProblem(error)
  return problem ? new ProblemError(problem) : error
}

/** The statements of one write, in its transaction. */
export class UnitOfWork {
  constructor(private readonly transaction: Prisma.TransactionClient) {}

  /** For reading what was written. */
  get connection(): Connection {
    return { query: statement => this.transaction.$queryRaw(statement) }
  }

  /** Those of the keys that there are. */
  async findKeys(keys: Keys): Promise<Keys> {
    const [row] = await this.transaction.$queryRaw<KeyRow[]>(sql`select ${keyColumns(keys)}`)
    return toKeys(row)
  }

  /** Locks a record until the end of the transaction, and looks for keys on the way. Undefined: there is no such record. */
  async lock(key: string, keys: Keys): Promise<Keys | undefined> {
    const [row] = await this.transaction.$queryRaw<KeyRow[]>(sql`select ${keyColumns(keys)} from "Property" where "ListingKey" = ${key} for update`)
    return row && toKeys(row)
  }

  /** Locks those of the records that there are, in one order for all: so groups of writes wait for each other and never in a circle. */
  async lockAll(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return
    await this.transaction.$queryRaw(sql`select 1 from "Property" where "ListingKey" = any(${[...keys]}::text[]) order by "ListingKey" for update`)
  }

  /** The record, if the condition holds for it. */
  async find(key: string, condition: Expr): Promise<Stored | undefined> {
    const where = toWhere(condition, 'r0')
    if (!where) throw new Error('The condition cannot be said in Prisma')
    // The names in it are those of the model.
    const row = await this.transaction.property.findFirst({ where: { AND: [{ ListingKey: key }, where as Prisma.PropertyWhereInput] }, select: LISTING })
    return row ? { listing: toListing(row), version: String(row.RecordVersion) } : undefined
  }

  async insert(key: string, values: Values): Promise<void> {
    await this.transaction.property.create({ data: { ...toInput(values), ListingKey: key }, select: KEY })
  }

  async update(key: string, values: Values): Promise<void> {
    await this.transaction.property.update({ where: { ListingKey: key }, data: toInput(values), select: KEY })
  }

  /** With its media, rooms and open houses. */
  async remove(key: string): Promise<void> {
    await this.transaction.property.delete({ where: { ListingKey: key }, select: KEY })
  }
}

interface KeyRow {
  readonly members: readonly string[]
  readonly offices: readonly string[]
}

const keyColumns = ({ Member, Office }: Keys) => sql`
  array(select "MemberKey" from "Member" where "MemberKey" = any(${[...Member]}::text[])) as members,
  array(select "OfficeKey" from "Office" where "OfficeKey" = any(${[...Office]}::text[])) as offices`

const toKeys = (row: KeyRow | undefined): Keys => ({ Member: new Set(row?.members), Office: new Set(row?.offices) })

const KEY = { ListingKey: true } as const

const LISTING = {
  StandardStatus: true,
  ContractStatus: true,
  ListPrice: true,
  OriginalListPrice: true,
  SoldPrice: true,
  OnMarketTimestamp: true,
  ListAgentKey: true,
  ListOfficeKey: true,
  RecordVersion: true,
} as const satisfies Prisma.PropertySelect

function toListing({ RecordVersion: _, ...row }: Prisma.PropertyGetPayload<{ select: typeof LISTING }>): Listing {
  const text = (decimal: Prisma.Decimal | null) => decimal?.toFixed() ?? null
  return {
    ...row,
    ListPrice: text(row.ListPrice),
    OriginalListPrice: text(row.OriginalListPrice),
    SoldPrice: text(row.SoldPrice),
    OnMarketTimestamp: row.OnMarketTimestamp?.toISOString() ?? null,
  }
}

function toInput(values: Values): { [field: string]: FieldValue | string[] } {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, toPrismaValue(name, value)]))
}

/** Prisma takes a day as the timestamp of its beginning, and lists that it may change. */
function toPrismaValue(name: string, value: FieldValue): FieldValue | string[] {
  if (typeof value === 'string' && scalar(PROPERTY, name).type === 'Date') return `${value}T00:00:00.000Z`
  return typeof value === 'object' && value !== null ? [...value] : value
}
