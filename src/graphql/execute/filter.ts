import type { JsonValue } from '../../domain/json.js'
import { fail } from '../../errors/problem.js'
import { readNumber } from '../../language/literals-number.js'
import { Budget, type ParseLimits } from '../../language/parser-budget.js'
import type { Entity } from '../../model/model.js'
import type { Ast, LiteralType, Value } from '../../query/ast.js'
import type { ValueType } from '../../query/functions.js'
import { type Argument, FILTERS, type FilterField, type Meaning } from '../schema/filter-inputs.js'
import { readPoint, readPolygon } from '../schema/geojson.js'
import { filterOf } from '../schema/names.js'
import type { Input } from './operation.js'

type Of<K extends Meaning['kind']> = Extract<Meaning, { kind: K }>

const AT = { source: 'filter' }
const NOTHING: Ast = { kind: 'literal', value: null, type: 'Null', at: AT }
const truth = (value: boolean): Ast => ({ kind: 'literal', value, type: 'Boolean', at: AT })

/**
 * The condition that a filter states, as the parser of OData would read the same one; `undefined` if it
 * states none (`{}`). Null is the language's null wherever a value can stand, and nothing that is refused
 * here could mean "all records". Fails with `WrongType` where a condition is missing, `BadLiteral`, or
 * `QueryTooComplex`.
 */
export function readFilter(of: Entity, filter: Input, limits: ParseLimits): Ast | undefined {
  if (Object.keys(filter).length === 0) return undefined
  return new ConditionReader(new Budget({ limits, aliases: new Map() })).condition(
    filterOf(of),
    THIS,
    filter,
    'filter',
  )
}

/** The record that a filter speaks of: a path with no names yet. */
const THIS: Ast = { kind: 'path', names: [], at: AT }
const namesOf = (subject: Ast) => (subject.kind === 'path' ? subject.names : [])

class ConditionReader {
  private lambdas = 0

  constructor(private readonly budget: Budget) {}

  /** All that an input object says of its subject. */
  condition(input: string, subject: Ast, given: unknown, where: string): Ast {
    return this.chain('and', this.tests(input, subject, given, where))
  }

  private tests(input: string, subject: Ast, given: unknown, where: string): readonly Ast[] {
    const entries = Object.entries(this.object(given, where))
    const fields = FILTERS.get(input)?.fields
    return this.budget.nest(AT, () =>
      entries.flatMap(([name, value]) => {
        const field = fields?.get(name)
        if (!field) throw new Error(`No field ${name} in ${input}`)
        return this.read(field, input, subject, value)
      }),
    )
  }

  private read({ name, means }: FilterField, input: string, subject: Ast, value: unknown): readonly Ast[] {
    switch (means.kind) {
      case 'every':
        return [this.combine('and', input, subject, value)]
      case 'some':
        return [this.combine('or', input, subject, value)]
      case 'opposite':
        return [this.call('not', [this.condition(input, subject, value, name)])]
      case 'member':
        return this.tests(
          means.to,
          this.node({ kind: 'path', names: [...namesOf(subject), name], at: AT }),
          value,
          name,
        )
      case 'any':
      case 'all':
        return [this.lambda(means, subject, value)]
      case 'isEmpty':
        return [this.isEmpty(subject, value)]
      case 'isNull':
        return [value === null ? NOTHING : this.call(value ? 'eq' : 'ne', [subject, NOTHING])]
      case 'count':
        return this.tests(means.to, this.node({ kind: 'count', over: namesOf(subject), at: AT }), value, name)
      case 'countOf':
        return this.countOf(means, subject, value)
      case 'test':
        return [this.test(means, subject, value)]
      case 'step':
        return this.step(means, subject, value, name)
      case 'cast':
        return this.tests(
          means.to,
          this.call('cast', [subject, this.node({ kind: 'type', name: `Edm.${means.type}`, at: AT })]),
          value,
          name,
        )
    }
  }

  private combine(fn: 'and' | 'or', input: string, subject: Ast, value: unknown): Ast {
    if (!Array.isArray(value)) return refuse(fn, 'null')
    this.budget.list(value.length, AT)
    return this.chain(
      fn,
      value.map(item => this.condition(input, subject, item, fn)),
    )
  }

  /** One call for all of them; of none, `and` is true and `or` is false. */
  private chain(fn: 'and' | 'or', terms: readonly Ast[]): Ast {
    const [first = truth(fn === 'and'), ...others] = terms
    return others.length === 0 ? first : this.call(fn, [first, ...others])
  }

  private lambda({ kind, to }: Of<'any' | 'all'>, subject: Ast, value: unknown): Ast {
    if (kind === 'any' && isEmpty(value)) return this.any(subject)
    // No field has such a name, so the variable hides none.
    const variable = `$${++this.lambdas}`
    const body = this.condition(to, { kind: 'path', names: [variable], at: AT }, value, kind)
    return this.node({ kind: 'lambda', quantifier: kind, over: namesOf(subject), variable, body, at: AT }, [
      body,
    ])
  }

  private any(subject: Ast): Ast {
    return this.node({ kind: 'lambda', quantifier: 'any', over: namesOf(subject), at: AT })
  }

  private isEmpty(subject: Ast, value: unknown): Ast {
    if (value === null) return NOTHING
    return value ? this.call('not', [this.any(subject)]) : this.any(subject)
  }

  private countOf({ filter: input, to }: Of<'countOf'>, subject: Ast, value: unknown): readonly Ast[] {
    const { filter, is } = this.object(value, 'countOf')
    const body = this.condition(input, THIS, filter, 'filter')
    return this.tests(
      to,
      this.node({ kind: 'count', over: namesOf(subject), filter: body, at: AT }, [body]),
      is,
      'is',
    )
  }

  /** A list that is null has no members to compare with: that is unknown of every record. */
  private test({ fn, argument }: Of<'test'>, subject: Ast, value: unknown): Ast {
    return argument.list && value === null
      ? NOTHING
      : this.call(fn, [subject, this.argument(argument, value)])
  }

  private step(
    { fn, arguments: args, to }: Of<'step'>,
    subject: Ast,
    value: unknown,
    name: string,
  ): readonly Ast[] {
    if (args.length === 0) return this.tests(to, this.call(fn, [subject]), value, name)
    const given = this.object(value, name)
    const values = args.filter(a => a.name in given).map(a => this.argument(a, given[a.name]))
    return this.tests(to, this.call(fn, [subject, ...values]), given['is'], 'is')
  }

  private argument({ list, type }: Argument, value: unknown): Ast {
    if (!list || !Array.isArray(value)) return this.node(toLiteral(value, type))
    this.budget.list(value.length, AT)
    const items = value.map(item => this.node(toLiteral(item, type)))
    return this.node({ kind: 'list', items, at: AT }, items)
  }

  /**
   * Where a condition must stand, null and an empty object are none: they do not mean that all records are
   * wanted.
   */
  private object(value: unknown, where: string): Input {
    if (isEmpty(value)) return refuse(where, 'an empty object')
    return typeof value === 'object' && value !== null ? (value as Input) : refuse(where, 'null') // an object, by its type in the schema
  }

  private call(fn: string, args: readonly Ast[]): Ast {
    return this.node({ kind: 'call', fn, args, at: AT }, args)
  }

  private node(ast: Ast, children: readonly Ast[] = []): Ast {
    return this.budget.node(ast, AT, children)
  }
}

const isEmpty = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const refuse = (where: string, found: string): never =>
  fail({ kind: 'WrongType', expected: `a condition under ${where}`, found, at: AT })

/**
 * The literal that the parser of OData reads for the same value: numbers by their size and form, whatever
 * type their place has.
 */
function toLiteral(value: unknown, type: ValueType): Ast {
  const [literal, own] = value === null ? (['Null', null] as const) : LITERALS[type](value)
  return { kind: 'literal', type: literal, value: own, at: AT }
}

type LiteralReader = (value: unknown) => readonly [LiteralType, Value]

const number: LiteralReader = value => {
  const found = readNumber(String(value))
  return found
    ? [found.type, found.value]
    : fail({
        kind: 'BadLiteral',
        type: 'number',
        text: String(value),
        hint: 'The number is out of range.',
        at: AT,
      })
}
/** Scalars have made the value of these already. */
const as =
  (type: LiteralType): LiteralReader =>
  value => [type, value as Value] // by the type of the argument in the schema
const shape =
  (type: LiteralType, read: (json: JsonValue) => string | undefined): LiteralReader =>
  value => [type, read(value as JsonValue) ?? null] // by the scalar, which has looked at it

// biome-ignore format: table
const LITERALS: Readonly<Record<ValueType, LiteralReader>> = {
  Boolean:          as('Boolean'),
  Int32:            number,
  Int64:            number,
  Decimal:          number,
  Double:           number,
  String:           as('String'),
  DateTimeOffset:   as('DateTimeOffset'),
  Date:             as('Date'),
  TimeOfDay:        as('TimeOfDay'),
  Duration:         as('Duration'),
  GeographyPoint:   shape('GeographyPoint', readPoint),
  GeographyPolygon: shape('GeographyPolygon', readPolygon),
}
