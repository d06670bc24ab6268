import { randomBytes } from 'node:crypto'

/** Digits of base 32 in code point order, without letters that resemble digits (Crockford). */
const BASE32_DIGITS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** Number of digits for the time, sufficient until the year 10889, and of random bytes. */
const TIME_DIGITS = 10
const RANDOM_BYTES = 10

/**
 * Generates keys of new listings: `Draft`, the time in milliseconds and 80 random bits, in base 32. Keys sort
 * by time of creation. The keys of one process also sort within a millisecond and while its clock is set
 * back. Random bits separate the keys of several processes.
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

/** The first bit is 0, so that incrementing never overflows. */
const randomBits = () => BigInt(`0x${randomBytes(RANDOM_BYTES).toString('hex')}`) >> 1n

function toBase32(number: bigint, length: number): string {
  return Array.from({ length }, (_, i) =>
    BASE32_DIGITS.charAt(Number((number >> BigInt(5 * (length - 1 - i))) & 31n)),
  ).join('')
}
