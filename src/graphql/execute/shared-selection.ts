import { toJsonObject } from '../../http/body.js'
import { parseJson } from '../../http/exact-json.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { Asked, Operation } from './operation.js'
import type { FilterReader } from './query-arguments.js'
import { renderJson, renderObject } from './raw-json.js'
import { readSelection } from './selection.js'

/** A record as each of the places that show it wants it. */
export type Shown = readonly string[]

/** What is read of a record once, for all places that show it. */
export interface Places {
  readonly query: Query
  /** The JSON of a record for each place. Where there is one, it is what PostgreSQL has written. */
  show(json: string): Shown
}

/**
 * Reads the selections of the places of an answer that show the same record and may ask for different fields.
 */
export function readPlaces(
  operation: Operation,
  filters: FilterReader,
  of: Entity,
  places: readonly Asked['nodes'][],
): Places {
  const prefixOf = (i: number) => (places.length > 1 ? `${i}:` : '')
  const parts = places.map((place, i) => readSelection(operation, filters, of, place, prefixOf(i)))
  return {
    query: {
      select: parts.flatMap(p => p.select ?? []),
      expand: parts.flatMap(p => p.expand ?? []),
      marks: parts.flatMap(p => p.marks ?? []),
      layout: parts.flatMap(p => p.layout ?? []),
    },
    show: places.length > 1 ? json => split(json, places.length) : json => [json],
  }
}

/** Members that begin with the number of a place belong to it. Numbers keep their digits. */
function split(json: string, count: number): Shown {
  const members = Object.entries(toJsonObject(parseJson(json)))
  return Array.from({ length: count }, (_, i) => {
    const prefix = `${i}:`
    return renderObject(
      members
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, value]) => [name.slice(prefix.length), renderJson(value)]),
    )
  })
}
