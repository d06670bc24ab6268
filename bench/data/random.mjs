// Reproducible random numbers. A row depends on the seed, its table and its number, not on the number of
// rows.

const SEED = 7
let state = 0

/** Returns a number from 0 (inclusive) to 1 (exclusive), by the generator mulberry32. */
export function random() {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}

/** Seeds the numbers of a row. */
export function begin(table, row) {
  state = Math.imul(SEED * 31 + table, 0x9e3779b1) ^ Math.imul(row + 1, 0x85ebca6b)
  random()
  random()
}

/** Seeds the numbers of a workload. */
export function beginNamed(name) {
  state = 12345
  for (const c of name) state = (Math.imul(state, 31) + c.charCodeAt(0)) | 0
}

/** Runs a function with a separate random state, and restores the current one. */
export function aside(make) {
  const kept = state
  const made = make()
  state = kept
  return made
}

export const int = (from, to) => from + Math.floor(random() * (to - from + 1))
export const pick = list => list[Math.floor(random() * list.length)]
export const chance = share => random() < share
export const maybe = (share, make) => (chance(share) ? make() : null)
export const gauss = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(6.283185307 * random())
/** Returns the first value whose bound is above a random number. */
export function share(bounds) {
  const u = random()
  return bounds.find(([bound]) => u < bound)[1]
}
