import type { FunctionName, Type } from '../../../src/query/functions.js'
import type { Collection, Expr, Source } from '../../../src/query/plan.js'
import { printDuration } from './print-expression.js'

/** A value as a document of GraphQL writes it, and as JSON has it. */
class Leaf {
  constructor(
    readonly literal: string,
    readonly json: unknown,
  ) {}
}
type Said = Leaf | readonly Said[] | { readonly [name: string]: Said }
type SaidObject = { readonly [name: string]: Said }

/** A filter in the typed form: as it stands in a document, and as the value of a variable. */
export interface FilterInputs {
  readonly literal: string
  readonly json: unknown
}

/**
 * A condition as a filter input. It knows nothing of how the service derives those inputs. `inside`:
 * combinations of conditions on one field stand in that field where that is possible, and not around it.
 */
export function printFilterInput(expr: Expr, inside: boolean): FilterInputs {
  const said = say(expr, inside)
  return { literal: toLiteral(said), json: toJson(said) }
}

function toLiteral(said: Said): string {
  if (said instanceof Leaf) return said.literal
  if (isMany(said)) return `[${said.map(toLiteral).join(', ')}]`
  return `{ ${Object.entries(said)
    .map(([name, value]) => `${name}: ${toLiteral(value)}`)
    .join(', ')} }`
}

function toJson(said: Said): unknown {
  if (said instanceof Leaf) return said.json
  return isMany(said)
    ? said.map(toJson)
    : Object.fromEntries(Object.entries(said).map(([name, value]) => [name, toJson(value)]))
}

const isMany = (said: Said): said is readonly Said[] => Array.isArray(said)

const NAMES: Readonly<Record<string, string>> = {
  Int32: 'Int',
  Int64: 'Long',
  Double: 'Float',
  DateTimeOffset: 'DateTime',
}
const nameOf = (type: Type) => NAMES[type] ?? type
const ARGUMENTS: Readonly<Record<string, readonly string[]>> = {
  substring: ['start', 'length'],
  case: ['then'],
  'geo.distance': ['to'],
}

/** `sub` and `case` take several types behind the same value. */
function fieldOf(fn: FunctionName, args: readonly Expr[]): string {
  const [value, second] = args
  if (
    second &&
    (fn === 'case' || (fn === 'sub' && (value?.type === 'Date' || value?.type === 'DateTimeOffset')))
  )
    return `${fn}${nameOf(second.type)}`
  return fn === 'geo.distance' ? 'geoDistance' : fn === 'geo.intersects' ? 'geoIntersects' : fn
}

function say(expr: Expr, inside: boolean): SaidObject {
  if (expr.kind === 'lambda')
    return within(expr.over, { [expr.quantifier]: expr.body ? say(expr.body, inside) : {} })
  if (expr.kind !== 'call') throw new Error(`${expr.kind} is no condition`)
  const { fn, args } = expr
  const terms = () => args.map(a => say(a, inside))
  if (fn === 'and' || fn === 'or') return combine(fn, terms(), inside)
  if (fn !== 'not') return sayTest(expr)
  const [term] = args
  return term?.kind === 'lambda' && !term.body
    ? within(term.over, { isEmpty: new Leaf('true', true) })
    : negate(terms()[0] ?? {}, inside)
}

/** A function that is true or false of a value. */
function sayTest({ fn, args }: Expr & { kind: 'call' }): SaidObject {
  const [value, second] = args
  if (!value || !second) throw new Error(`${fn} without arguments`)
  if (value.kind === 'literal') return around(second, { has: leaf(value) })
  if (value.type === 'GeographyPoint' && second.type === 'GeographyPoint')
    return around(value, { isNull: new Leaf(String(fn === 'eq'), fn === 'eq') })
  return around(value, { [fieldOf(fn, args)]: leaf(second) })
}

/** The one name of the model that all of them begin with. */
function common(terms: readonly SaidObject[]): string | undefined {
  const [name] = Object.keys(terms[0] ?? {})
  return name !== undefined && /^[A-Z]/.test(name) && terms.every(t => Object.keys(t).join() === name)
    ? name
    : undefined
}

function combine(fn: 'and' | 'or', terms: readonly SaidObject[], inside: boolean): SaidObject {
  const name = inside ? common(terms) : undefined
  return name === undefined ? { [fn]: terms } : { [name]: combine(fn, terms.map(t => t[name] as SaidObject), inside) } // biome-ignore format: one line. Names of the model lead to objects
}

function negate(term: SaidObject, inside: boolean): SaidObject {
  const name = inside ? common([term]) : undefined
  return name === undefined ? { not: term } : { [name]: negate(term[name] as SaidObject, inside) } // names of the model lead to objects
}

/** What must be true of a value, said of the record that the value belongs to. */
function around(value: Expr, said: SaidObject): SaidObject {
  switch (value.kind) {
    case 'column':
      return from(value.source, { [value.scalar.name]: said })
    case 'element':
      return said
    case 'cast':
      return around(value.arg, { [`as${nameOf(value.type)}`]: said })
    case 'count':
      return within(
        value.over,
        value.filter ? { countOf: { filter: say(value.filter, false), is: said } } : { count: said },
      )
    case 'call':
      return around(value.args[0] ?? value, { [fieldOf(value.fn, value.args)]: withArguments(value, said) })
    default:
      throw new Error(`${value.kind} is nothing to ask of`)
  }
}

function withArguments({ fn, args }: Expr & { kind: 'call' }, said: SaidObject): SaidObject {
  const others = args.slice(1)
  return others.length === 0
    ? said
    : { ...Object.fromEntries(others.map((a, i) => [ARGUMENTS[fn]?.[i] ?? 'value', leaf(a)])), is: said }
}

const within = (over: Collection, said: SaidObject) =>
  from(over.source, { [over.kind === 'values' ? over.scalar.name : over.navigation.name]: said })

function from(source: Source, said: SaidObject): SaidObject {
  return source.kind === 'via' ? from(source.from, { [source.navigation.name]: said }) : said
}

function leaf(expr: Expr): Said {
  if (expr.kind === 'list') return expr.items.map(leaf)
  if (expr.kind !== 'literal') throw new Error(`${expr.kind} is no literal`)
  const { value, type } = expr
  if (value === null) return new Leaf('null', null)
  const quoted = (text: string) => new Leaf(JSON.stringify(text), text)
  switch (type) {
    case 'Int32':
    case 'Double':
    case 'Decimal':
      return new Leaf(String(value), Number(value))
    case 'Int64':
      return new Leaf(String(value), String(value))
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
      return typeof value === 'boolean' ? new Leaf(String(value), value) : quoted(String(value))
  }
}

const shape = (type: string, coordinates: Said): Said => ({ type: new Leaf(`"${type}"`, type), coordinates })
const position = (text: string): Said => text.split(' ').map(n => new Leaf(n, Number(n)))
