/** Mixes integers into one 32-bit seed. The seeds of neighbors are unrelated. */
function mixSeed(parts: readonly number[]): number {
  let hash = 0x811c9dc5
  for (const part of parts) {
    hash = Math.imul(hash ^ part, 0x85ebca6b)
    hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
    hash ^= hash >>> 16
  }
  return hash >>> 0
}

/** A pseudo-random number generator (mulberry32). The same seed gives the same numbers on every machine. */
export class SeededRandom {
  #state: number

  constructor(...seed: readonly number[]) {
    this.#state = mixSeed(seed)
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }

  /** Returns an integer between both bounds (inclusive). */
  int(min: number, max: number): number {
    return min + Math.floor(this.next() * (max - min + 1))
  }

  between(min: number, max: number): number {
    return min + this.next() * (max - min)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(list: readonly T[]): T {
    return itemAt(list, Math.floor(this.next() * list.length))
  }

  /** Returns an item of a list. Earlier items are chosen more often. */
  pickWeighted<T>(list: readonly T[]): T {
    return itemAt(list, Math.floor(this.next() ** 2 * list.length))
  }

  /**
   * Returns between `min` and `max` distinct items in the order of the list. Earlier items are chosen more
   * often.
   */
  pickSubset<T>(list: readonly T[], min: number, max: number): readonly T[] {
    const count = Math.min(this.int(min, max), list.length)
    const indexes = new Set<number>()
    while (indexes.size < count) indexes.add(Math.floor(this.next() ** 1.5 * list.length))
    return [...indexes].sort((a, b) => a - b).map(place => itemAt(list, place))
  }

  /** Returns the value, or null with the given probability. */
  orNull<T>(probability: number, value: T): T | null {
    return this.chance(probability) ? null : value
  }
}

function itemAt<T>(list: readonly T[], index: number): T {
  const item = list[index]
  if (item === undefined) throw new Error('Nothing to choose from')
  return item
}
