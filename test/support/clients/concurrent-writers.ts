import { expect } from 'vitest'
import type { Database } from '../../../src/data/database.js'
import { bodyOf, type Row } from '../assertions.js'
import { DRAFT } from '../drafts.js'
import type { StartedService } from '../process.js'

/**
 * Known state of a listing. `row` is from the last acknowledged response, and null after an acknowledged
 * removal.
 */
interface ListingState {
  readonly row: Row | null
  /** Writes that were acknowledged. */
  readonly acknowledgedWrites: number
  /** A write was sent and has no response. */
  readonly isPending: boolean
}

const VALID_STATUS_TRIPLES = new Set(['Incomplete Draft Draft', 'Active Active Available', 'Sold Sold Sold'])
const LIFECYCLE_STEPS = [
  { ListPrice: 5 },
  { StandardStatus: 'Active' },
  { StandardStatus: 'Sold', SoldPrice: 7 },
]

/**
 * Clients that take listings through their life cycle until the service ends, and record acknowledged writes.
 */
export class ConcurrentWriters {
  acknowledged = 0
  /** Creates without a response. That number of unknown listings may exist. */
  #unacknowledgedCreates = 0
  readonly #listings = new Map<string, ListingState>()

  async run(service: StartedService, count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, i) => this.#runWriter(service, i)))
  }

  async #runWriter(service: StartedService, writer: number): Promise<void> {
    for (let turn = writer; ; turn++) if (!(await this.#runLifecycle(service, turn % 3 === 0))) return
  }

  /** Runs one life cycle. Every third one ends with a removal. Returns false if the service has ended. */
  async #runLifecycle(service: StartedService, isRemoved: boolean): Promise<boolean> {
    const created = await tryRequest(service, '/odata/Property', 'POST', DRAFT)
    if (!created) {
      this.#unacknowledgedCreates++
      return false
    }
    const key = String(created['ListingKey'])
    this.#recordAcknowledged(key, created)
    for (const step of LIFECYCLE_STEPS)
      if (!(await this.#write(service, key, 'PATCH', { ...step, ChangedByMemberKey: 'M1' }))) return false
    return isRemoved ? this.#write(service, key, 'DELETE') : true
  }

  async #write(service: StartedService, key: string, method: string, body?: Row): Promise<boolean> {
    const known = this.#listings.get(key)
    if (known) this.#listings.set(key, { ...known, isPending: true })
    const answer = await tryRequest(service, `/odata/Property('${key}')`, method, body)
    if (answer) this.#recordAcknowledged(key, method === 'DELETE' ? null : answer)
    return answer !== undefined
  }

  #recordAcknowledged(key: string, row: Row | null): void {
    this.acknowledged++
    this.#listings.set(key, {
      row,
      acknowledgedWrites: (this.#listings.get(key)?.acknowledgedWrites ?? 0) + 1,
      isPending: false,
    })
  }

  /** Checks that every listing has the state of the last response, or that of the pending write. */
  async checkListings(service: StartedService): Promise<void> {
    for (const [key, { row, isPending }] of this.#listings) {
      const answer = await service.send(`/odata/Property('${key}')`)
      if (isPending) continue
      expect([key, answer.status]).toEqual([key, row === null ? 404 : 200])
      if (row !== null) expect(withoutControl(bodyOf(answer))).toEqual(withoutControl(row))
    }
  }

  /** Checks that each write has its event and no write is partial. */
  async checkLog({ prisma }: Database): Promise<void> {
    const listings = new Map((await prisma.property.findMany()).map(listing => [listing.ListingKey, listing]))
    for (const { StandardStatus, MlsStatus, ContractStatus } of listings.values())
      expect(VALID_STATUS_TRIPLES).toContain(`${StandardStatus} ${MlsStatus} ${ContractStatus}`)
    for (const listing of listings.values())
      if (listing.StandardStatus === 'Sold')
        expect([Number(listing.SoldPrice), Number(listing.ClosePrice)]).toEqual([7, 7])
    const groups = await prisma.entityEvent.groupBy({
      by: ['ResourceRecordKey'],
      // The log has a row for each audience of an event.
      where: { ResourceName: 'Property', EarlierAudiences: { isEmpty: true } },
      _count: true,
    })
    const events = new Map(groups.map(group => [group.ResourceRecordKey, group._count]))
    for (const [key, { acknowledgedWrites, isPending }] of this.#listings)
      expect([key, isPending ? [acknowledgedWrites, acknowledgedWrites + 1] : [acknowledgedWrites]]).toEqual([
        key,
        expect.arrayContaining([events.get(key)]),
      ])
    const unknown = [...new Set([...listings.keys(), ...events.keys()])].filter(
      key => !this.#listings.has(key),
    )
    expect(unknown.length).toBeLessThanOrEqual(this.#unacknowledgedCreates)
    for (const key of unknown)
      expect([listings.get(key)?.StandardStatus, events.get(key)]).toEqual(['Incomplete', 1])
  }
}

const withoutControl = (row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('@odata.context')))

/** Returns the content of the response, or undefined if the service ended before it. */
async function tryRequest(
  { send }: StartedService,
  target: string,
  method: string,
  body?: unknown,
): Promise<Row | undefined> {
  const answer = await send(target, { method, body }).catch(() => undefined)
  if (!answer) return undefined
  expect([method, answer.status < 300], answer.text.slice(0, 300)).toEqual([method, true])
  return method === 'DELETE' ? {} : bodyOf(answer)
}
