import type { ValueType } from '../../../src/query/functions.js'
import type { Collection, ColumnSource, Expr, RowName } from '../../../src/query/plan.js'

/** Where an expression is printed: names without a prefix are fields of this row. */
interface PrintContext {
  readonly row: RowName
}

const INFIX: ReadonlySet<string> = new Set([
  'eq',
  'ne',
  'gt',
  'ge',
  'lt',
  'le',
  'in',
  'add',
  'sub',
  'mul',
  'div',
  'divby',
  'mod',
])

/** Prints an expression in a form that parser and binder read back. Every operation is in parentheses. */
export function printFilter(expr: Expr, place: PrintContext = { row: 'r0' }): string {
  const print = (e: Expr) => printFilter(e, place)
  switch (expr.kind) {
    case 'literal':
      // Of itself null has no type; in a list the other items give it one.
      return expr.value === null ? `cast(null,Edm.${expr.type})` : printLiteral(expr.value, expr.type)
    case 'list':
      return `(${expr.items.map(i => (i.kind === 'literal' ? printLiteral(i.value, i.type) : print(i))).join(',')})`
    case 'column':
      return `${printSource(expr.source, place)}${expr.scalar.name}`
    case 'element':
      return variableName(expr.row)
    case 'cast':
      return `cast(${print(expr.arg)},Edm.${expr.type})`
    case 'call':
      return printCall(expr, place)
    case 'lambda':
      return expr.body
        ? `${printCollection(expr.over, place)}/${expr.quantifier}(${variableName(expr.row)}:${print(expr.body)})`
        : `${printCollection(expr.over, place)}/${expr.quantifier}()`
    case 'count': {
      const filter = expr.filter ? `($filter=${printFilter(expr.filter, { row: expr.row })})` : ''
      return `${printCollection(expr.over, place)}/$count${filter}`
    }
    default:
      throw new Error(`${expr.kind} has no text of its own`)
  }
}

function printCall({ fn, args }: Expr & { kind: 'call' }, place: PrintContext): string {
  const texts = args.map(a => printFilter(a, place))
  if (fn === 'and' || fn === 'or') return `(${texts.join(` ${fn} `)})`
  if (INFIX.has(fn)) return `(${texts.join(` ${fn} `)})`
  if (fn === 'not') return `(not ${texts[0]})`
  if (fn === 'negate') return `(-(${texts[0]}))`
  if (fn === 'case')
    return `case(${texts
      .map((text, i) => (i % 2 === 0 ? `${text}:` : `${text},`))
      .join('')
      .slice(0, -1)})`
  return `${fn}(${args.map((a, i) => (a.kind === 'list' ? printArray(a) : texts[i])).join(',')})`
}

/** A collection that is an argument is written as JSON. */
const printArray = (list: Expr & { kind: 'list' }) =>
  `[${list.items.map(i => (i.kind === 'literal' ? (i.type === 'String' && i.value !== null ? JSON.stringify(i.value) : printLiteral(i.value, i.type)) : '')).join(',')}]`

function printLiteral(value: string | number | boolean | null, type: ValueType): string {
  if (value === null) return 'null'
  if (type === 'String') return `'${String(value).replaceAll("'", "''")}'`
  if (type === 'Duration') return `duration'${printDuration(value)}'`
  if (type === 'GeographyPoint') return `geography'SRID=4326;POINT(${value})'`
  if (type === 'GeographyPolygon')
    return `geography'SRID=4326;POLYGON(${String(value)
      .split(';')
      .map(ring => `(${ring})`)
      .join(',')})'`
  return String(value)
}

/** Seconds as a duration of XML Schema. */
export const printDuration = (seconds: string | number | boolean) =>
  `${String(seconds).startsWith('-') ? '-' : ''}PT${String(seconds).replace('-', '')}S`

const variableName = (row: RowName) => `v${row.slice(1)}`

function printSource(source: ColumnSource, place: PrintContext): string {
  if (source.kind === 'key') throw new Error('a record by key has no text here')
  if (source.kind === 'via') return `${printSource(source.from, place)}${source.navigation.name}/`
  if (source.row === place.row) return ''
  return source.row === 'r0' ? '$it/' : `${variableName(source.row)}/`
}

function printCollection(over: Collection, place: PrintContext): string {
  return `${printSource(over.source, place)}${over.kind === 'values' ? over.scalar.name : over.navigation.name}`
}
