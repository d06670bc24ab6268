import { suggestName } from '../query/suggest.js'

/** Query options of OData 4.01, by canonical name. */
export type SystemQueryOption =
  | '$filter'
  | '$orderby'
  | '$select'
  | '$expand'
  | '$compute'
  | '$search'
  | '$top'
  | '$skip'
  | '$count'
  | '$skiptoken'
  | '$levels'
  | '$format'
  | '$id'
  | '$schemaversion'
  | '$apply'
  | '$deltatoken'
  | '$index'

/**
 * Who handles an option: `query` is read into the query, `adapter` is for the router (formats, identifiers),
 * `nested` has a meaning only inside `$expand`, `version` must be `*`, and `none` is well known but not
 * built.
 */
export type OptionHandling = 'query' | 'adapter' | 'nested' | 'version' | 'none'

// biome-ignore format: table
export const SYSTEM_QUERY_OPTIONS: { readonly [K in SystemQueryOption]: OptionHandling } = {
  $apply: 'query', $filter: 'query', $orderby: 'query', $select: 'query', $expand: 'query', $compute: 'query', $search: 'query',
  $top: 'query', $skip: 'query', $count: 'query', $skiptoken: 'query',
  $levels: 'nested',
  $format: 'adapter', $id: 'adapter',
  $schemaversion: 'version',
  $deltatoken: 'none', $index: 'none',
}

const isOption = (name: string): name is SystemQueryOption => Object.hasOwn(SYSTEM_QUERY_OPTIONS, name)

/** The canonical name of an option that is written with or without `$`, in any case (Part 2, 5.1). */
export function toSystemQueryOption(written: string): SystemQueryOption | undefined {
  const name = `$${written.replace(/^\$/, '').toLowerCase()}`
  return isOption(name) ? name : undefined
}

/** The known option that was probably meant. */
export const suggestOption = (written: string): string | undefined =>
  suggestName(`$${written.replace(/^\$+/, '').trim()}`, Object.keys(SYSTEM_QUERY_OPTIONS))
