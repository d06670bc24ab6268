import { randomBytes } from 'node:crypto'

/**
 * Digits of base 32 in the order of their code points, without letters that are taken for digits (Crockford).
 */
const BASE32_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Digits of a key that hold its time, good until the year 10889, and those that hold chance. */
const TIME_DIGITS = 10
const RANDOM_BYTES = 10

/**
 * Makes the keys of new listings: `Draft`, the time in milliseconds, 80 bits of chance, in base 32. They sort
 * by time of creation, and so do those that one process makes in one millisecond, or while its clock is set
 * back; other processes are kept apart by chance.
 */
export class ListingKeyGenerator {
  #time = 0
  #randomness = 0n

  next(now: Date): string {
    const time = now.getTime()
    const later = time > this.#time
    this.#time = later ? time : this.#time
    this.#randomness = later ? randomBits() : this.#randomness + 1n
    return `Draft${toBase32(BigInt(this.#time), TIME_DIGITS)}${toBase32(this.#randomness, (RANDOM_BYTES * 8) / 5)}`
  }
}

/** The first bit is left 0, so that counting up never runs over. */
const randomBits = () => BigInt(`0x${randomBytes(RANDOM_BYTES).toString('hex')}`) >> 1n

function toBase32(number: bigint, length: number): string {
  return Array.from({ length }, (_, i) =>
    BASE32_DIGITS.charAt(Number((number >> BigInt(5 * (length - 1 - i))) & 31n)),
  ).join('')
}
