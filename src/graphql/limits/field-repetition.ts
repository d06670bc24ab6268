/**
 * Counts the names under which the fields of each object in a response are selected. Each alias adds a copy
 * of a field to the response without reading more records.
 */
export class FieldRepetition {
  /** Response names by object and field. */
  readonly #names = new Map<string, Set<string>>()
  /** The highest number of names of a field, by object. */
  readonly #maxima = new Map<string, number>()

  /**
   * Adds a field of the object at `path` of the response. Returns true if the maximum number of names of a
   * field of this object has increased.
   */
  add(path: string, fieldName: string, responseName: string): boolean {
    const key = `${path} ${fieldName}`
    const names = this.#names.get(key) ?? new Set()
    this.#names.set(key, names.add(responseName))
    if (names.size <= (this.#maxima.get(path) ?? 1)) return false
    this.#maxima.set(path, names.size)
    return true
  }
}
