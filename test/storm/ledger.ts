/** Values that a field of a record can have after the writes so far. */
interface LedgerEntry {
  acknowledged: { readonly value: unknown; readonly at: number } | undefined
  unanswered: { readonly value: unknown; readonly at: number }[]
}

/** A write of some fields of a record. The field `EXISTS` is the record itself. */
export interface LedgerWrite {
  readonly set: string
  readonly key: string
  readonly fields: Readonly<Record<string, unknown>>
}

export const EXISTS = '(exists)'
/**
 * A write without a response can be executed later than the next one: its session may wait for a lock even if its
 * client is dead.
 */
const LATE_MS = 15_000

/** Acknowledged writes, and writes without a response, which may have been executed. */
export class Ledger {
  readonly #records = new Map<string, Map<string, LedgerEntry>>()
  /** Acknowledged writes of a record of Property, each of which must have its event. */
  readonly #writeCounts = new Map<string, number>()
  acknowledged = 0
  unanswered = 0

  record({ set, key, fields }: LedgerWrite, isAcknowledged: boolean): void {
    if (isAcknowledged) this.acknowledged++
    else this.unanswered++
    if (isAcknowledged && set === 'Property')
      this.#writeCounts.set(key, (this.#writeCounts.get(key) ?? 0) + 1)
    const at = performance.now()
    for (const [field, value] of Object.entries(fields)) {
      const entry = this.#entryOf(`${set} ${key}`, field)
      if (!isAcknowledged) entry.unanswered.push({ value, at })
      else {
        entry.acknowledged = { value, at }
        entry.unanswered = entry.unanswered.filter(other => other.at > at - LATE_MS)
      }
    }
  }

  #entryOf(record: string, field: string): LedgerEntry {
    const fields = this.#records.get(record) ?? new Map<string, LedgerEntry>()
    this.#records.set(record, fields)
    const entry = fields.get(field) ?? { acknowledged: undefined, unanswered: [] }
    fields.set(field, entry)
    return entry
  }

  /** Returns what differs from the records of the market, by set and key. */
  compare(market: ReadonlyMap<string, ReadonlyMap<string, Readonly<Record<string, unknown>>>>): string[] {
    const faults: string[] = []
    for (const [record, fields] of this.#records) {
      const [set = '', key = ''] = record.split(' ')
      const row = market.get(set)?.get(key)
      const exists = fields.get(EXISTS)
      if (exists && !isPossible(exists, row !== undefined))
        faults.push(`${record} is ${row ? 'there' : 'missing'}`)
      for (const [field, entry] of fields)
        if (row && field !== EXISTS && !isPossible(entry, row[field]))
          faults.push(`${record} ${field} is ${JSON.stringify(row[field])}: ${JSON.stringify(entry)}`)
    }
    return faults
  }

  /** Returns the listings that have fewer events than acknowledged writes. */
  compareEvents(eventCounts: ReadonlyMap<string, number>): string[] {
    return [...this.#writeCounts].flatMap(([key, writes]) => {
      const events = eventCounts.get(key) ?? 0
      return events < writes ? [`${key} has ${events} events of ${writes} writes`] : []
    })
  }
}

/** A field without an acknowledged write may have its initial value. */
function isPossible({ acknowledged, unanswered }: LedgerEntry, value: unknown): boolean {
  const text = JSON.stringify(value)
  return (
    acknowledged === undefined ||
    JSON.stringify(acknowledged.value) === text ||
    unanswered.some(other => JSON.stringify(other.value) === text)
  )
}
