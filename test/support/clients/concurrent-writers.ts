import { expect } from 'vitest'
import type { Database } from '../../../src/data/database.js'
import { bodyOf, type Row } from '../assertions.js'
import { DRAFT } from '../drafts.js'
import type { RunningService } from '../process.js'

/**
 * What is known of one listing; `row` as the last acknowledged answer showed it, null when its removal was
 * acknowledged.
 */
interface Known {
  readonly row: Row | null
  /** Writes that were acknowledged. */
  readonly writes: number
  /** A write was sent that nobody has answered. */
  readonly isOpen: boolean
}

const TRIPLES = new Set(['Incomplete Draft Draft', 'Active Active Available', 'Sold Sold Sold'])
const STEPS = [{ ListPrice: 5 }, { StandardStatus: 'Active' }, { StandardStatus: 'Sold', SoldPrice: 7 }]

/**
 * Clients that take listings through their lives until the service is gone, and remember what it has
 * acknowledged.
 */
export class Writers {
  acknowledged = 0
  /** Creates without an answer: so many listings may be there that nobody knows. */
  #openCreates = 0
  readonly #known = new Map<string, Known>()

  async run(service: RunningService, count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, (_, i) => this.#write(service, i)))
  }

  async #write(service: RunningService, writer: number): Promise<void> {
    for (let turn = writer; ; turn++) if (!(await this.#live(service, turn % 3 === 0))) return
  }

  /** One life; every third one ends with a removal. False when the service is gone. */
  async #live(service: RunningService, isRemoved: boolean): Promise<boolean> {
    const created = await attempt(service, '/odata/Property', 'POST', DRAFT)
    if (!created) {
      this.#openCreates++
      return false
    }
    const key = String(created['ListingKey'])
    this.#note(key, created)
    for (const step of STEPS)
      if (!(await this.#next(service, key, 'PATCH', { ...step, ChangedByMemberKey: 'M1' }))) return false
    return isRemoved ? this.#next(service, key, 'DELETE') : true
  }

  async #next(service: RunningService, key: string, method: string, body?: Row): Promise<boolean> {
    const known = this.#known.get(key)
    if (known) this.#known.set(key, { ...known, isOpen: true })
    const answer = await attempt(service, `/odata/Property('${key}')`, method, body)
    if (answer) this.#note(key, method === 'DELETE' ? null : answer)
    return answer !== undefined
  }

  #note(key: string, row: Row | null): void {
    this.acknowledged++
    this.#known.set(key, { row, writes: (this.#known.get(key)?.writes ?? 0) + 1, isOpen: false })
  }

  /** Every listing is as the last answer showed it, or as the open write made it. */
  async check(service: RunningService): Promise<void> {
    for (const [key, { row, isOpen }] of this.#known) {
      const answer = await service.send(`/odata/Property('${key}')`)
      if (isOpen) continue
      expect([key, answer.status]).toEqual([key, row === null ? 404 : 200])
      if (row !== null) expect(withoutControl(bodyOf(answer))).toEqual(withoutControl(row))
    }
  }

  /** Each write has its event, and no write has left a part of itself. */
  async checkLog({ prisma }: Database): Promise<void> {
    const listings = new Map((await prisma.property.findMany()).map(listing => [listing.ListingKey, listing]))
    for (const { StandardStatus, MlsStatus, ContractStatus } of listings.values())
      expect(TRIPLES).toContain(`${StandardStatus} ${MlsStatus} ${ContractStatus}`)
    for (const listing of listings.values())
      if (listing.StandardStatus === 'Sold')
        expect([Number(listing.SoldPrice), Number(listing.ClosePrice)]).toEqual([7, 7])
    const groups = await prisma.entityEvent.groupBy({
      by: ['ResourceRecordKey'],
      where: { ResourceName: 'Property' },
      _count: true,
    })
    const events = new Map(groups.map(group => [group.ResourceRecordKey, group._count]))
    for (const [key, { writes, isOpen }] of this.#known)
      expect([key, isOpen ? [writes, writes + 1] : [writes]]).toEqual([
        key,
        expect.arrayContaining([events.get(key)]),
      ])
    const unknown = [...new Set([...listings.keys(), ...events.keys()])].filter(key => !this.#known.has(key))
    expect(unknown.length).toBeLessThanOrEqual(this.#openCreates)
    for (const key of unknown)
      expect([listings.get(key)?.StandardStatus, events.get(key)]).toEqual(['Incomplete', 1])
  }
}

const withoutControl = (row: Row) =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !name.startsWith('@odata.context')))

/** The content of the answer; undefined when the service went away before it answered. */
async function attempt(
  { send }: RunningService,
  target: string,
  method: string,
  body?: unknown,
): Promise<Row | undefined> {
  const answer = await send(target, { method, body }).catch(() => undefined)
  if (!answer) return undefined
  expect([method, answer.status < 300], answer.text.slice(0, 300)).toEqual([method, true])
  return method === 'DELETE' ? {} : bodyOf(answer)
}
