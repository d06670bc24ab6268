/** A range of keys, from `from` inclusive to `to` exclusive. Null means no upper bound. */
export interface ComparedRange {
  readonly from: string
  readonly to: string | null
}

const SURROGATE = /[\ud800-\udfff]/

/** Compares keys by code point, as the source does. */
export function compareKeys(a: string, b: string): number {
  if (SURROGATE.test(a) || SURROGATE.test(b)) return Buffer.compare(Buffer.from(a), Buffer.from(b))
  return a < b ? -1 : Number(a > b)
}

export const isInRange = (key: string, { from, to }: ComparedRange): boolean =>
  compareKeys(key, from) >= 0 && (to === null || compareKeys(key, to) < 0)
