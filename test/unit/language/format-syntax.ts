import type { Ast, Query, SearchAst } from '../../../src/query/ast.js'

const SHORT = new Set(['Boolean', 'Int32', 'Null', 'String'])

/**
 * A tree as one line, for tables: calls and lists in brackets, `Type:value` for literals of other than the
 * everyday types.
 */
export function show(node: Ast | SearchAst): string {
  switch (node.kind) {
    case 'literal': {
      const value =
        typeof node.value === 'string' && SHORT.has(node.type) ? `'${node.value}'` : String(node.value)
      return SHORT.has(node.type) ? value : `${node.type}:${value}`
    }
    case 'path':
      return node.names.join('/')
    case 'list':
      return `[${node.items.map(show).join(' ')}]`
    case 'call':
      return `(${[node.fn, ...node.args.map(show)].join(' ')})`
    case 'lambda':
      return `(${node.quantifier} ${node.over.join('/')}${node.body ? ` ${node.variable}: ${show(node.body)}` : ''})`
    case 'count':
      return `(count ${node.over.join('/')}${node.filter ? ` filter ${show(node.filter)}` : ''}${node.search ? ` search ${show(node.search)}` : ''})`
    case 'type':
      return `<${node.name}>`
    case 'root':
      return `(root ${node.entity} ${show(node.key)} ${node.names.join('/')})`
    case 'phrase':
      return `"${node.text}"`
    case 'and':
    case 'or':
      return `(${node.kind} ${show(node.left)} ${show(node.right)})`
    case 'not':
      return `(not ${show(node.operand)})`
  }
}

/** A query with its trees as lines and without positions. */
export function showQuery(query: Query): object {
  return Object.fromEntries(Object.entries(query).map(([name, part]) => [name, plain(part)]))
}

function plain(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(plain)
  if (typeof part !== 'object' || part === null) return part
  if ('kind' in part) return show(part as Ast)
  return Object.fromEntries(
    Object.entries(part)
      .filter(([name]) => name !== 'at')
      .map(([name, inner]) => [name, plain(inner)]),
  )
}
