import { randomUUID } from 'node:crypto'

/**
 * Results for messages that a package writes with JSON.stringify, which would round numbers of more than 53 bits: the package writes a mark, and the result
 * takes its place. Nobody outside knows the mark.
 */
export class Outbox {
  readonly #mark = randomUUID()
  readonly #place = new RegExp(`\\{"data":\\{"${this.#mark}":(\\d+)\\}\\}`)
  readonly #results = new Map<number, string>()
  #count = 0

  /** Keeps a result, as JSON, and gives what is to be written for it. */
  hold(json: string): { readonly data: Record<string, number> } {
    this.#count += 1
    this.#results.set(this.#count, json)
    return { data: { [this.#mark]: this.#count } }
  }

  /** The message with its result, if it has one. */
  fill(message: string): string {
    return message.replace(this.#place, (_, count: string) => {
      const json = this.#results.get(Number(count)) ?? 'null'
      this.#results.delete(Number(count))
      return json
    })
  }
}
