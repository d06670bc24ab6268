import { type Entity, getEntity } from '../../model/model.js'
import type { ExpandAst, Query, SelectAst } from '../../query/ast.js'
import { memoize } from '../../query/memoize.js'
import type { NavigationSegment } from '../url/resource-path.js'
import type { ODataVersion } from './version.js'

/** Returns a key as a URL literal, not percent-encoded. */
const toKeyLiteral = ({ key }: Entity, value: string): string =>
  key.type === 'String' ? `'${value.replaceAll("'", "''")}'` : value

/** Selects only the key. */
export const toKeySelectItem = ({ key }: Entity): SelectAst => ({
  name: key.name,
  at: { source: 'the path' },
})

/** Returns the key from the JSON of a record that was read with `toKeySelectItem`. */
export const readKeyFromJson = ({ key }: Entity, json: string): string =>
  (JSON.parse(json) as Readonly<Record<string, string>>)[key.name] ?? '' // the key was requested as text

/** Returns the canonical URL of a record, relative to the service root (Part 2, 4.3.1). */
export const toCanonicalUrl = (of: Entity, key: string): string =>
  `${of.name}(${encodeURIComponent(toKeyLiteral(of, key))})`

/**
 * Returns the path of a record in context URLs, without percent-encoding (Part 1, 10). A record without a key
 * is the target of the last navigation.
 */
export function toContextPath(
  of: Entity,
  key: string | undefined,
  navigationPath: readonly NavigationSegment[],
): string {
  if (key !== undefined) return `${of.name}(${toKeyLiteral(of, key)})`
  const last = navigationPath.at(-1)
  return last
    ? `${toContextPath(last.entity, last.key, navigationPath.slice(0, -1))}/${last.navigation.name}`
    : of.name
}

/**
 * Returns the select list of a context URL: the selected fields, and the expanded navigations with their own
 * lists (Part 1, 10.7 to 10.10). An expansion without options is listed only in 4.01, since clients of 4.0
 * may not know the empty brackets.
 */
export const toSelectList = (query: Query, of: Entity, version: ODataVersion): string =>
  SELECT_LIST_BY_VERSION[version](query, of)

const SELECT_LIST_BY_VERSION: { readonly [V in ODataVersion]: (query: Query, of: Entity) => string } = {
  '4.0': memoize(function buildSelectListV40(query: Query, of: Entity) {
    return buildSelectList(query, of, '4.0')
  }),
  '4.01': memoize(function buildSelectListV401(query: Query, of: Entity) {
    return buildSelectList(query, of, '4.01')
  }),
}

function buildSelectList(query: Query, of: Entity, version: ODataVersion): string {
  const { select, expand = [] } = query
  const selected = toNestedNames([...new Set(select?.map(item => item.name) ?? aggregatedNames(query))])
  const expanded = expand.flatMap(item =>
    expandedNavigationNames(item, expand, of).map(name => name + toExpandSelectList(item, name, of, version)),
  )
  const list = [...selected, ...expanded.filter(item => item.endsWith(')'))]
  return list.length > 0 ? `(${list.join(',')})` : ''
}

/** Returns the names of the members of grouped records, which do not come from the entity. */
function aggregatedNames({ apply = [], compute = [] }: Query): readonly string[] {
  const last = apply.findLastIndex(step => step.kind === 'group')
  const groups = apply[last]
  if (groups?.kind !== 'group') return []
  const computed = [
    ...apply.slice(last + 1).flatMap(step => (step.kind === 'compute' ? step.items : [])),
    ...compute,
  ]
  return [
    ...groups.by.map(g => g.names.join('/')),
    ...[...groups.aggregates, ...computed].map(item => item.name),
  ]
}

/** Renders paths as `A(B,C)` (OData Data Aggregation 4.0, 3.10). */
function toNestedNames(names: readonly string[]): readonly string[] {
  const heads = [...new Set(names.map(name => name.split('/', 1)[0] ?? name))]
  return heads.map(head => {
    const inner = names.filter(name => name.startsWith(`${head}/`)).map(name => name.slice(head.length + 1))
    return inner.length > 0 ? `${head}(${toNestedNames(inner).join(',')})` : head
  })
}

/** `*` means the navigations that the list does not name. */
function expandedNavigationNames(
  { name, form }: ExpandAst,
  all: readonly ExpandAst[],
  of: Entity,
): readonly string[] {
  if (form !== 'records') return []
  return name === '*'
    ? of.navigations.map(n => n.name).filter(other => !all.some(item => item.name === other))
    : [name]
}

function toExpandSelectList({ query }: ExpandAst, name: string, of: Entity, version: ODataVersion): string {
  const navigation = of.fields.get(name)
  const list =
    navigation?.kind === 'navigation' ? toSelectList(query, getEntity(navigation.target), version) : ''
  return list || (version === '4.01' ? '()' : '')
}
