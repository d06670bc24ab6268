import { type JsonValue, renderJson } from '../../domain/json.js'
import type { Phrase } from '../../errors/phrase.js'
import { EXPECTED_TYPE, FOUND, HINTS } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { readNumberLiteral } from '../../language/literals-number.js'
import { ComplexityLimiter, type ParseLimits } from '../../language/parse-limits.js'
import type { Entity } from '../../model/model.js'
import type { Ast, LiteralType, Value } from '../../query/ast.js'
import type { ValueType } from '../../query/functions.js'
import type { FilterField, FilterOperator, FunctionArgument } from '../schema/filter-inputs.js'
import { readGeoJsonPoint, readGeoJsonPolygon } from '../schema/geojson.js'
import { filterInputNameOf, SCALAR_OF } from '../schema/names.js'
import type { SchemaModel } from '../schema/schema-model.js'
import type { InputValues } from './collect-fields.js'

type FilterOperatorOf<K extends FilterOperator['kind']> = Extract<FilterOperator, { kind: K }>

const FILTER_LOCATION = { source: 'filter' }
const NULL_LITERAL: Ast = { kind: 'literal', value: null, type: 'Null', at: FILTER_LOCATION }
const booleanLiteral = (value: boolean): Ast => ({
  kind: 'literal',
  value,
  type: 'Boolean',
  at: FILTER_LOCATION,
})

/** The filter inputs, and the limits on the complexity of a filter or of a text in the OData language. */
export interface FilterParseOptions {
  readonly model: Pick<SchemaModel, 'filterInputs'>
  readonly limits: ParseLimits
}

/**
 * Converts a filter to the expression that the OData parser would return for the same condition, or undefined
 * for `{}`. Null is the null of the language wherever a value is allowed. A missing condition is refused, so
 * that it cannot mean "all records". Fails with `WrongType` for a missing condition, `BadLiteral`, or
 * `QueryTooComplex`.
 */
export function readFilter(
  of: Entity,
  filter: InputValues,
  { model: { filterInputs }, limits }: FilterParseOptions,
): Ast | undefined {
  if (Object.keys(filter).length === 0) return undefined
  const budget = new ComplexityLimiter({ limits, aliases: new Map() })
  return new FilterAstBuilder(filterInputs, budget).toCondition(
    filterInputNameOf(of),
    CURRENT_RECORD,
    filter,
    'filter',
  )
}

/** The record that a filter applies to: a path without names. */
const CURRENT_RECORD: Ast = { kind: 'path', names: [], at: FILTER_LOCATION }
const pathNamesOf = (subject: Ast) => (subject.kind === 'path' ? subject.names : [])

class FilterAstBuilder {
  private lambdaCount = 0

  constructor(
    private readonly filterInputs: SchemaModel['filterInputs'],
    private readonly budget: ComplexityLimiter,
  ) {}

  /** Returns the conjunction of an input object's conditions on its subject. */
  toCondition(inputName: string, subject: Ast, value: unknown, path: string): Ast {
    return this.combineTerms('and', this.toConditions(inputName, subject, value, path))
  }

  private toConditions(inputName: string, subject: Ast, filter: unknown, path: string): readonly Ast[] {
    const entries = Object.entries(this.requireObject(filter, path))
    const fields = this.filterInputs.get(inputName)?.fields
    return this.budget.nested(FILTER_LOCATION, () =>
      entries.flatMap(([name, value]) => {
        const field = fields?.get(name)
        if (!field) throw new Error(`No field ${name} in ${inputName}`)
        return this.toFieldConditions(field, inputName, subject, value)
      }),
    )
  }

  private toFieldConditions(
    { name, operator }: FilterField,
    inputName: string,
    subject: Ast,
    value: unknown,
  ): readonly Ast[] {
    switch (operator.kind) {
      case 'and':
        return [this.combineList('and', inputName, subject, value)]
      case 'or':
        return [this.combineList('or', inputName, subject, value)]
      case 'not':
        return [this.toCall('not', [this.toCondition(inputName, subject, value, name)])]
      case 'field':
      case 'count':
      case 'cast':
        return this.toConditions(operator.to, this.toOperand(operator, subject, name), value, name)
      case 'any':
      case 'all':
        return [this.toLambda(operator, subject, value)]
      case 'isEmpty':
        return [this.toIsEmpty(subject, value)]
      case 'isNull':
        return [value === null ? NULL_LITERAL : this.toCall(value ? 'eq' : 'ne', [subject, NULL_LITERAL])]
      case 'countOf':
        return this.toFilteredCount(operator, subject, value)
      case 'predicate':
        return [this.toPredicate(operator, subject, value)]
      case 'function':
        return this.toFunctionConditions(operator, subject, value, name)
    }
  }

  /** Returns the value that the conditions of an inner filter apply to. */
  private toOperand(operator: FilterOperatorOf<'field' | 'count' | 'cast'>, subject: Ast, name: string): Ast {
    const names = pathNamesOf(subject)
    switch (operator.kind) {
      case 'field':
        return this.countNode({ kind: 'path', names: [...names, name], at: FILTER_LOCATION })
      case 'count':
        return this.countNode({ kind: 'count', over: names, at: FILTER_LOCATION })
      case 'cast': {
        const type = this.countNode({ kind: 'type', name: `Edm.${operator.type}`, at: FILTER_LOCATION })
        return this.toCall('cast', [subject, type])
      }
    }
  }

  private combineList(fn: 'and' | 'or', inputName: string, subject: Ast, value: unknown): Ast {
    if (!Array.isArray(value)) return failMissingCondition(fn, FOUND.null)
    this.budget.checkListLength(value.length, FILTER_LOCATION)
    return this.combineTerms(
      fn,
      value.map(item => this.toCondition(inputName, subject, item, fn)),
    )
  }

  /** Combines the terms into one call. Without terms `and` is true and `or` is false. */
  private combineTerms(fn: 'and' | 'or', terms: readonly Ast[]): Ast {
    const [first = booleanLiteral(fn === 'and'), ...others] = terms
    return others.length === 0 ? first : this.toCall(fn, [first, ...others])
  }

  private toLambda({ kind, to }: FilterOperatorOf<'any' | 'all'>, subject: Ast, value: unknown): Ast {
    if (kind === 'any' && isEmptyObject(value)) return this.toAnyLambda(subject)
    // No field has such a name, so the variable hides none.
    const variable = `$${++this.lambdaCount}`
    const body = this.toCondition(to, { kind: 'path', names: [variable], at: FILTER_LOCATION }, value, kind)
    return this.countNode(
      { kind: 'lambda', quantifier: kind, over: pathNamesOf(subject), variable, body, at: FILTER_LOCATION },
      [body],
    )
  }

  private toAnyLambda(subject: Ast): Ast {
    return this.countNode({
      kind: 'lambda',
      quantifier: 'any',
      over: pathNamesOf(subject),
      at: FILTER_LOCATION,
    })
  }

  private toIsEmpty(subject: Ast, value: unknown): Ast {
    if (value === null) return NULL_LITERAL
    return value ? this.toCall('not', [this.toAnyLambda(subject)]) : this.toAnyLambda(subject)
  }

  private toFilteredCount(
    { filter: inputName, to }: FilterOperatorOf<'countOf'>,
    subject: Ast,
    value: unknown,
  ): readonly Ast[] {
    const { filter, is } = this.requireObject(value, 'countOf')
    const body = this.toCondition(inputName, CURRENT_RECORD, filter, 'filter')
    return this.toConditions(
      to,
      this.countNode({ kind: 'count', over: pathNamesOf(subject), filter: body, at: FILTER_LOCATION }, [
        body,
      ]),
      is,
      'is',
    )
  }

  /** A comparison with a null list is null for every record. */
  private toPredicate({ fn, argument }: FilterOperatorOf<'predicate'>, subject: Ast, value: unknown): Ast {
    return argument.list && value === null
      ? NULL_LITERAL
      : this.toCall(fn, [subject, this.toArgument(argument, value)])
  }

  private toFunctionConditions(
    { fn, arguments: args, to }: FilterOperatorOf<'function'>,
    subject: Ast,
    value: unknown,
    name: string,
  ): readonly Ast[] {
    if (args.length === 0) return this.toConditions(to, this.toCall(fn, [subject]), value, name)
    const argumentValues = this.requireObject(value, name)
    const values = args
      .filter(a => a.name in argumentValues)
      .map(a => this.toArgument(a, argumentValues[a.name]))
    return this.toConditions(to, this.toCall(fn, [subject, ...values]), argumentValues['is'], 'is')
  }

  private toArgument({ list, type }: FunctionArgument, value: unknown): Ast {
    if (!list || !Array.isArray(value)) return this.countNode(toLiteralNode(value, type))
    this.budget.checkListLength(value.length, FILTER_LOCATION)
    const items = value.map(item => this.countNode(toLiteralNode(item, type)))
    return this.countNode({ kind: 'list', items, at: FILTER_LOCATION }, items)
  }

  /**
   * Returns an object that must contain a condition. Null and an empty object are refused, so that they
   * cannot select all records.
   */
  private requireObject(value: unknown, path: string): InputValues {
    if (isEmptyObject(value)) return failMissingCondition(path, FOUND.emptyObject)
    return typeof value === 'object' && value !== null
      ? (value as InputValues)
      : failMissingCondition(path, FOUND.null) // an object, by its type in the schema
  }

  private toCall(fn: string, args: readonly Ast[]): Ast {
    return this.countNode({ kind: 'call', fn, args, at: FILTER_LOCATION }, args)
  }

  private countNode(ast: Ast, children: readonly Ast[] = []): Ast {
    return this.budget.countNode(ast, FILTER_LOCATION, children)
  }
}

const isEmptyObject = (value: unknown) =>
  typeof value === 'object' && value !== null && Object.keys(value).length === 0

const failMissingCondition = (path: string, found: string): never =>
  fail({ kind: 'WrongType', expected: EXPECTED_TYPE.condition(path), found, at: FILTER_LOCATION })

/**
 * Returns the literal that the OData parser reads for the same value. The type of a number depends on its
 * size and form, not on the type of the field.
 */
function toLiteralNode(value: unknown, type: ValueType): Ast {
  const [literalType, literalValue] =
    value === null ? (['Null', null] as const) : LITERAL_READERS[type](value)
  return { kind: 'literal', type: literalType, value: literalValue, at: FILTER_LOCATION }
}

type LiteralReader = (value: unknown) => readonly [LiteralType, Value]

const toNumberLiteral: LiteralReader = value => {
  const found = readNumberLiteral(String(value))
  return found
    ? [found.type, found.value]
    : fail({
        kind: 'BadLiteral',
        type: 'number',
        text: String(value),
        hint: HINTS.outOfRange,
        at: FILTER_LOCATION,
      })
}
/** The scalar has already converted these values. */
const toScalarLiteral =
  (type: LiteralType): LiteralReader =>
  value => [type, value as Value] // by the type of the argument in the schema
const toGeographyLiteral =
  (
    type: 'GeographyPoint' | 'GeographyPolygon',
    read: (json: JsonValue) => string | undefined,
    hint: Phrase,
  ): LiteralReader =>
  value => {
    const json = value as JsonValue // by the scalar, which has checked its shape
    const text = read(json)
    return text === undefined
      ? fail({ kind: 'BadLiteral', type: SCALAR_OF[type], text: renderJson(json), hint, at: FILTER_LOCATION })
      : [type, text]
  }

// biome-ignore format: table
const LITERAL_READERS: Readonly<Record<ValueType, LiteralReader>> = {
  Boolean:          toScalarLiteral('Boolean'),
  Int32:            toNumberLiteral,
  Int64:            toNumberLiteral,
  Decimal:          toNumberLiteral,
  Double:           toNumberLiteral,
  String:           toScalarLiteral('String'),
  DateTimeOffset:   toScalarLiteral('DateTimeOffset'),
  Date:             toScalarLiteral('Date'),
  TimeOfDay:        toScalarLiteral('TimeOfDay'),
  Duration:         toScalarLiteral('Duration'),
  GeographyPoint:   toGeographyLiteral('GeographyPoint', readGeoJsonPoint, HINTS.positionRange),
  GeographyPolygon: toGeographyLiteral('GeographyPolygon', readGeoJsonPolygon, HINTS.polygonRings),
}
