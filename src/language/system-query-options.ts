import { suggestName } from '../errors/suggest.js'

/** Query options of OData 4.01 by canonical name. */
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
 * The part of the service that handles an option. `query` options are parsed into the query. `adapter`
 * options are for the router (formats, identifiers, page tokens). `nested` options are allowed only inside `$expand`.
 * `version` must be `*`. `none` options are not implemented.
 */
export type QueryOptionSupport = 'query' | 'adapter' | 'nested' | 'version' | 'none'

// biome-ignore format: table
export const SYSTEM_QUERY_OPTIONS: { readonly [K in SystemQueryOption]: QueryOptionSupport } = {
  $apply: 'query', $filter: 'query', $orderby: 'query', $select: 'query', $expand: 'query', $compute: 'query', $search: 'query',
  $top: 'query', $skip: 'query', $count: 'query',
  $levels: 'nested',
  $format: 'adapter', $id: 'adapter', $skiptoken: 'adapter', $deltatoken: 'adapter',
  $schemaversion: 'version',
  $index: 'none',
}

const isOption = (name: string): name is SystemQueryOption => Object.hasOwn(SYSTEM_QUERY_OPTIONS, name)

/** Returns the canonical name of an option that is written with or without `$`, in any case (Part 2, 5.1). */
export function toSystemQueryOption(written: string): SystemQueryOption | undefined {
  const name = `$${written.replace(/^\$/, '').toLowerCase()}`
  return isOption(name) ? name : undefined
}

/** Returns the known option that the client probably meant. */
export const suggestOption = (written: string): string | undefined =>
  suggestName(`$${written.replace(/^\$+/, '').trim()}`, Object.keys(SYSTEM_QUERY_OPTIONS))
