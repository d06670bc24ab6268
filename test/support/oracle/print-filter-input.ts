import type { ExprType, FunctionName } from '../../../src/query/functions.js'
import type { Collection, ColumnSource, Expr } from '../../../src/query/plan.js'
import { printDuration } from './print-expression.js'

/** A value as a GraphQL literal and as JSON. */
class InputLeaf {
  constructor(
    readonly literal: string,
    readonly json: unknown,
  ) {}
}
type InputNode = InputLeaf | readonly InputNode[] | { readonly [name: string]: InputNode }
type InputObject = { readonly [name: string]: InputNode }

/** A filter in typed form: as a literal in a document, and as the value of a variable. */
export interface PrintedFilterInput {
  readonly literal: string
  readonly json: unknown
}

/**
 * Prints a condition as a filter input, independently of the code that derives those inputs. `inside`:
 * combinations of conditions on one field are placed inside that field where possible, and not around it.
 */
export function printFilterInput(expr: Expr, nested: boolean): PrintedFilterInput {
  const said = toInputObject(expr, nested)
  return { literal: toLiteral(said), json: toJson(said) }
}

function toLiteral(said: InputNode): string {
  if (said instanceof InputLeaf) return said.literal
  if (isInputList(said)) return `[${said.map(toLiteral).join(', ')}]`
  return `{ ${Object.entries(said)
    .map(([name, value]) => `${name}: ${toLiteral(value)}`)
    .join(', ')} }`
}

function toJson(said: InputNode): unknown {
  if (said instanceof InputLeaf) return said.json
  return isInputList(said)
    ? said.map(toJson)
    : Object.fromEntries(Object.entries(said).map(([name, value]) => [name, toJson(value)]))
}

const isInputList = (said: InputNode): said is readonly InputNode[] => Array.isArray(said)

const SCALAR_NAMES: Readonly<Record<string, string>> = {
  Int32: 'Int',
  Int64: 'Long',
  Double: 'Float',
  DateTimeOffset: 'DateTime',
}
const scalarNameOf = (type: ExprType) => SCALAR_NAMES[type] ?? type
const ARGUMENT_NAMES: Readonly<Record<string, readonly string[]>> = {
  substring: ['start', 'length'],
  case: ['then'],
  'geo.distance': ['to'],
}

/** `sub` and `case` have overloads of several types for the same value. */
function filterFieldOf(fn: FunctionName, args: readonly Expr[]): string {
  const [value, second] = args
  if (
    second &&
    (fn === 'case' || (fn === 'sub' && (value?.type === 'Date' || value?.type === 'DateTimeOffset')))
  )
    return `${fn}${scalarNameOf(second.type)}`
  return fn === 'geo.distance' ? 'geoDistance' : fn === 'geo.intersects' ? 'geoIntersects' : fn
}

function toInputObject(expr: Expr, nested: boolean): InputObject {
  if (expr.kind === 'lambda')
    return wrapCollection(expr.over, { [expr.quantifier]: expr.body ? toInputObject(expr.body, nested) : {} })
  if (expr.kind !== 'call') throw new Error(`${expr.kind} is no condition`)
  const { fn, args } = expr
  const terms = () => args.map(a => toInputObject(a, nested))
  if (fn === 'and' || fn === 'or') return combine(fn, terms(), nested)
  if (fn !== 'not') return predicateToInput(expr)
  const [term] = args
  return term?.kind === 'lambda' && !term.body
    ? wrapCollection(term.over, { isEmpty: new InputLeaf('true', true) })
    : negate(terms()[0] ?? {}, nested)
}

/** Prints a Boolean function of a value. */
function predicateToInput({ fn, args }: Expr & { kind: 'call' }): InputObject {
  const [value, second] = args
  if (!value || !second) throw new Error(`${fn} without arguments`)
  if (value.kind === 'literal') return wrapValue(second, { has: toLeaf(value) })
  if (value.type === 'GeographyPoint' && second.type === 'GeographyPoint')
    return wrapValue(value, { isNull: new InputLeaf(String(fn === 'eq'), fn === 'eq') })
  return wrapValue(value, { [filterFieldOf(fn, args)]: toLeaf(second) })
}

/** The one name of the model that all of them begin with. */
function commonField(terms: readonly InputObject[]): string | undefined {
  const [name] = Object.keys(terms[0] ?? {})
  return name !== undefined && /^[A-Z]/.test(name) && terms.every(t => Object.keys(t).join() === name)
    ? name
    : undefined
}

function combine(fn: 'and' | 'or', terms: readonly InputObject[], nested: boolean): InputObject {
  const name = nested ? commonField(terms) : undefined
  return name === undefined ? { [fn]: terms } : { [name]: combine(fn, terms.map(t => t[name] as InputObject), nested) } // biome-ignore format: one line. Names of the model lead to objects
}

function negate(term: InputObject, nested: boolean): InputObject {
  const name = nested ? commonField([term]) : undefined
  return name === undefined ? { not: term } : { [name]: negate(term[name] as InputObject, nested) } // names of the model lead to objects
}

/** Wraps a condition on a value in a condition on its record. */
function wrapValue(value: Expr, said: InputObject): InputObject {
  switch (value.kind) {
    case 'column':
      return wrapSource(value.source, { [value.scalar.name]: said })
    case 'element':
      return said
    case 'cast':
      return wrapValue(value.arg, { [`as${scalarNameOf(value.type)}`]: said })
    case 'count':
      return wrapCollection(
        value.over,
        value.filter
          ? { countOf: { filter: toInputObject(value.filter, false), is: said } }
          : { count: said },
      )
    case 'call':
      return wrapValue(value.args[0] ?? value, {
        [filterFieldOf(value.fn, value.args)]: withArguments(value, said),
      })
    default:
      throw new Error(`${value.kind} is nothing to ask of`)
  }
}

function withArguments({ fn, args }: Expr & { kind: 'call' }, said: InputObject): InputObject {
  const others = args.slice(1)
  return others.length === 0
    ? said
    : {
        ...Object.fromEntries(others.map((a, i) => [ARGUMENT_NAMES[fn]?.[i] ?? 'value', toLeaf(a)])),
        is: said,
      }
}

const wrapCollection = (over: Collection, said: InputObject) =>
  wrapSource(over.source, { [over.kind === 'values' ? over.scalar.name : over.navigation.name]: said })

function wrapSource(source: ColumnSource, said: InputObject): InputObject {
  return source.kind === 'via' ? wrapSource(source.from, { [source.navigation.name]: said }) : said
}

function toLeaf(expr: Expr): InputNode {
  if (expr.kind === 'list') return expr.items.map(toLeaf)
  if (expr.kind !== 'literal') throw new Error(`${expr.kind} is no literal`)
  const { value, type } = expr
  if (value === null) return new InputLeaf('null', null)
  const quoted = (text: string) => new InputLeaf(JSON.stringify(text), text)
  switch (type) {
    case 'Int32':
    case 'Double':
    case 'Decimal':
      return new InputLeaf(String(value), Number(value))
    case 'Int64':
      return new InputLeaf(String(value), String(value))
    case 'Duration':
      return quoted(printDuration(value))
    case 'GeographyPoint':
      return shape('Point', position(String(value)))
    case 'GeographyPolygon':
      return shape(
        'Polygon',
        String(value)
          .split(';')
          .map(ring => ring.split(',').map(position)),
      )
    default:
      return typeof value === 'boolean' ? new InputLeaf(String(value), value) : quoted(String(value))
  }
}

const shape = (type: string, coordinates: InputNode): InputNode => ({
  type: new InputLeaf(`"${type}"`, type),
  coordinates,
})
const position = (text: string): InputNode => text.split(' ').map(n => new InputLeaf(n, Number(n)))
