import { type Entity, getEntity } from '../../model/model.js'
import type { ExpandAst, Query, SelectAst } from '../../query/ast.js'
import { memoize } from '../../query/memoize.js'
import type { NavigationSegment } from '../url/resource-path.js'
import type { ODataVersion } from './version.js'

/** A key as a literal of URLs, not percent-encoded. */
const toKeyLiteral = ({ key }: Entity, value: string): string =>
  key.type === 'String' ? `'${value.replaceAll("'", "''")}'` : value

/** What to select where only the key is needed. */
export const toKeySelectItem = ({ key }: Entity): SelectAst => ({
  name: key.name,
  at: { source: 'the path' },
})

/** The key in the JSON of a record that was read with `keyOf`. */
export const readKeyFromJson = ({ key }: Entity, json: string): string =>
  (JSON.parse(json) as Readonly<Record<string, string>>)[key.name] ?? '' // we asked for text

/** The canonical address of a record, relative to the service root (Part 2, 4.3.1). */
export const toCanonicalUrl = (of: Entity, key: string): string =>
  `${of.name}(${encodeURIComponent(toKeyLiteral(of, key))})`

/**
 * The same as context URLs have it: without percent-encoding (Part 1, 10). A record without a key is the one
 * that the last hop leads to.
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
 * The list behind the name of an entity set in a context URL: what was selected, and what was expanded with
 * its own list (Part 1, 10.7 to 10.10). An expansion without options of its own is named in 4.01 only, since
 * clients of 4.0 need not know the empty brackets.
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

/** What the records of groups have: nothing of this is known from the entity. */
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

/** Paths as `A(B,C)` (OData Data Aggregation 4.0, 3.10). */
function toNestedNames(names: readonly string[]): readonly string[] {
  const heads = [...new Set(names.map(name => name.split('/', 1)[0] ?? name))]
  return heads.map(head => {
    const inner = names.filter(name => name.startsWith(`${head}/`)).map(name => name.slice(head.length + 1))
    return inner.length > 0 ? `${head}(${toNestedNames(inner).join(',')})` : head
  })
}

/** `*` stands for the navigations that are not named beside it. */
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
