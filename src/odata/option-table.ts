/** Query options of OData 4.01, by canonical name. */
export type OptionName =
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
 * Who handles an option: `query` is read into the query, `adapter` is for the router (formats, identifiers), `nested` has a meaning only inside `$expand`,
 * `version` must be `*`, and `none` is well known but not built.
 */
export type Handling = 'query' | 'adapter' | 'nested' | 'version' | 'none'

// biome-ignore format: table
export const OPTIONS: { readonly [K in OptionName]: Handling } = {
  $apply: 'query', $filter: 'query', $orderby: 'query', $select: 'query', $expand: 'query', $compute: 'query', $search: 'query',
  $top: 'query', $skip: 'query', $count: 'query', $skiptoken: 'query',
  $levels: 'nested',
  $format: 'adapter', $id: 'adapter',
  $schemaversion: 'version',
  $deltatoken: 'none', $index: 'none',
}

const isOption = (name: string): name is OptionName => Object.hasOwn(OPTIONS, name)

/** The canonical name of an option that is written with or without `$`, in any case (Part 2, 5.1). */
export function toOptionName(written: string): OptionName | undefined {
  const name = `$${written.replace(/^\$/, '').toLowerCase()}`
  return isOption(name) ? name : undefined
}

/** The known option that is spelled most alike: one letter in three may be wrong. */
export function suggestOption(written: string): OptionName | undefined {
  const name = written.replace(/^\$+/, '').trim().toLowerCase().slice(0, 24)
  const [best] = Object.keys(OPTIONS)
    .filter(isOption)
    .map(option => ({ option, distance: distance(`$${name}`, option) }))
    .sort((a, b) => a.distance - b.distance)
  return best && best.distance <= name.length / 3 ? best.option : undefined
}

/** Letters to insert, delete, replace or swap with their neighbour. */
function distance(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, j) => j)]
  const cell = (i: number, j: number) => rows[i]?.[j] ?? 0
  for (let i = 1; i <= a.length; i++) {
    rows.push([i])
    for (let j = 1; j <= b.length; j++) {
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const replace = cell(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)
      rows[i]?.push(Math.min(replace, cell(i - 1, j) + 1, cell(i, j - 1) + 1, ...(swapped ? [cell(i - 2, j - 2) + 1] : [])))
    }
  }
  return cell(a.length, b.length)
}
