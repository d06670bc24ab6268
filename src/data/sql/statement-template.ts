import { type Given, indexOfGiven } from '../../query/placeholder.js'
import type { Planning, Statement } from './statement.js'

/** A statement that is made once for all requests that differ in what they give. */
export interface Prepared extends Statement {
  readonly planning: Planning
  /** The values that are given. */
  readonly open: readonly Opening[]
}

interface Opening {
  readonly place: number
  readonly index: number
}

export function prepare({ text, values }: Statement, planning: Planning): Prepared {
  const open = values.flatMap((value, place): readonly Opening[] => {
    const index = indexOfGiven(value)
    return index === undefined ? [] : [{ place, index }]
  })
  return { text, values, planning, open }
}

/** The statement with what a request gives. */
export function fill(prepared: Prepared, given: Given): Statement {
  if (prepared.open.length === 0) return prepared
  const values = [...prepared.values]
  for (const { place, index } of prepared.open) {
    if (index >= given.length) throw new Error('A statement lacks what is given')
    values[place] = given[index]
  }
  return { text: prepared.text, values }
}
