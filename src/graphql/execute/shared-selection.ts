import { renderJson } from '../../domain/json.js'
import { toJsonObject } from '../../http/body.js'
import { parseJson } from '../../http/parse-json.js'
import type { Entity } from '../../model/model.js'
import type { Query } from '../../query/ast.js'
import type { CollectedField, SelectionContext } from './collect-fields.js'
import type { FilterParseOptions } from './filter.js'
import { renderRawObject } from './raw-json.js'
import { readSelection } from './selection.js'

/** The JSON of a record for each selection. */
export type SelectionResults = readonly string[]

/** A query that reads a record once for several selections. */
export interface SharedSelection {
  readonly query: Query
  /**
   * Returns the JSON of a record for each selection. With one selection it is the text that PostgreSQL wrote.
   */
  split(json: string): SelectionResults
}

/** Merges several selections of the same record, which may have different fields. */
export function readSharedSelection(
  selectionContext: SelectionContext,
  parseOptions: FilterParseOptions,
  of: Entity,
  selections: readonly CollectedField['fieldNodes'][],
): SharedSelection {
  const prefixOf = (i: number) => (selections.length > 1 ? `${i}:` : '')
  const parts = selections.map((place, i) =>
    readSelection(selectionContext, parseOptions, of, place, prefixOf(i)),
  )
  return {
    query: {
      select: parts.flatMap(p => p.select ?? []),
      expand: parts.flatMap(p => p.expand ?? []),
      controlInformation: parts.flatMap(p => p.controlInformation ?? []),
      memberOrder: parts.flatMap(p => p.memberOrder ?? []),
    },
    split: selections.length > 1 ? json => splitByPrefix(json, selections.length) : json => [json],
  }
}

/** Members whose name begins with the number of a selection belong to it. Numbers keep their digits. */
function splitByPrefix(json: string, count: number): SelectionResults {
  const members = Object.entries(toJsonObject(parseJson(json)))
  return Array.from({ length: count }, (_, i) => {
    const prefix = `${i}:`
    return renderRawObject(
      members
        .filter(([name]) => name.startsWith(prefix))
        .map(([name, value]) => [name.slice(prefix.length), renderJson(value)]),
    )
  })
}
