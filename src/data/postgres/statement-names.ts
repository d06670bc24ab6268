import { statementHash } from './finished-statement.js'

/**
 * Names of prepared statements. A name saves parsing (half of the cost of a small read), but a named
 * statement remains in every connection, and clients can create any number of texts. Therefore a text gets a
 * name at its second use, up to a maximum number of names.
 */
export class StatementNames {
  readonly #limit: number
  readonly #names = new Map<string, string>()
  #seen = new Set<string>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Returns the name for a text, or an empty string for an unnamed statement. */
  nameOf(sql: string): string {
    const known = this.#names.get(sql)
    if (known !== undefined || this.#names.size >= this.#limit) return known ?? ''
    const digest = statementHash(sql)
    if (!this.#seen.has(digest)) {
      this.#markSeen(digest)
      return ''
    }
    this.#names.set(sql, digest)
    return digest
  }

  #markSeen(digest: string): void {
    if (this.#seen.size >= 10 * this.#limit) this.#seen = new Set()
    this.#seen.add(digest)
  }
}
