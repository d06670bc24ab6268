import type { GraphQLInputObjectType } from 'graphql'
import { type Entity, type Field, getEntity } from '../../model/model.js'
import {
  CASTS,
  type ExprType,
  FUNCTIONS,
  type FunctionName,
  type Signature,
  type ValueType,
} from '../../query/functions.js'
import { describeFunction } from './descriptions.js'
import { collectionFilterInputNameOf, filterInputNameOf, isExposed, SCALAR_OF, upperFirst } from './names.js'

/** An argument of a function, besides the value that the function applies to. */
export interface FunctionArgument {
  readonly name: string
  readonly type: ValueType
  readonly list: boolean
  readonly optional: boolean
}

/** The meaning of a field of a filter input. `to` names the input of the field's value. */
export type FilterOperator =
  /** Conjunction, disjunction or negation of conditions of the same input. */
  | { readonly kind: 'and' | 'or' | 'not'; readonly to: string }
  /** A field or navigation of a record, by its name. */
  | { readonly kind: 'field'; readonly to: string }
  | { readonly kind: 'any' | 'all'; readonly to: string }
  | { readonly kind: 'isEmpty' | 'isNull' }
  | { readonly kind: 'count'; readonly to: string }
  /** The number of related records that match a filter. */
  | { readonly kind: 'countOf'; readonly filter: string; readonly to: string }
  /** A function with a Boolean result. */
  | { readonly kind: 'predicate'; readonly fn: string; readonly argument: FunctionArgument }
  /** A function with another result. */
  | {
      readonly kind: 'function'
      readonly fn: FunctionName
      readonly arguments: readonly FunctionArgument[]
      readonly to: string
    }
  | { readonly kind: 'cast'; readonly type: ValueType; readonly to: string }

/** A field of a filter input. */
export interface FilterField {
  readonly name: string
  /** The type in the schema, such as `[String]`. */
  readonly type: string
  readonly description: string
  readonly deprecated?: string
  readonly operator: FilterOperator
}

/** A filter input of the schema. */
export interface FilterInput {
  readonly name: string
  readonly description: string
  readonly fields: ReadonlyMap<string, FilterField>
}

/** Operators that are fields of every input: `and`, `or` and `not`. */
const LOGICAL_OPERATORS: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** Argument names. Arguments without an entry are called `value`. */
const ARGUMENT_NAMES: Readonly<Record<string, readonly string[]>> = {
  substring: ['start', 'length'],
  case: ['then'],
  'geo.distance': ['to'],
}

/** Types of values that a filter can apply to. A polygon is only an argument. */
const FILTERABLE_TYPES = (Object.keys(SCALAR_OF) as ValueType[]).filter(type => type !== 'GeographyPolygon') // the keys are value types

const toFilterField = (
  name: string,
  type: string,
  operator: FilterOperator,
  description: string,
): FilterField => ({ name, type, operator, description })
const valueFilterNameOf = (type: ValueType) => `${SCALAR_OF[type]}Filter`
const valueCollectionFilterNameOf = (type: ValueType) => `${SCALAR_OF[type]}CollectionFilter`

function logicalFieldsOf(to: string): readonly FilterField[] {
  return [
    toFilterField('and', `[${to}!]`, { kind: 'and', to }, 'All of them must hold. True for an empty list.'),
    toFilterField(
      'or',
      `[${to}!]`,
      { kind: 'or', to },
      'At least one of them must hold. False for an empty list.',
    ),
    toFilterField('not', to, { kind: 'not', to }, 'The conditions must not hold.'),
  ]
}

function toFilterInput(name: string, description: string, fields: readonly FilterField[]): FilterInput {
  return { name, description, fields: new Map([...logicalFieldsOf(name), ...fields].map(f => [f.name, f])) }
}

/** Returns the filter input of an entity's records. */
const toRecordFilterInput = (of: Entity): FilterInput =>
  toFilterInput(filterInputNameOf(of), `Conditions on a ${of.typeName} record. All of them must hold.`, [
    ...of.scalars.filter(isExposed).map(toRecordFilterField),
    ...of.navigations.map(toRecordFilterField),
  ])

function toRecordFilterField(of: Field): FilterField {
  const filterName = fieldFilterNameOf(of)
  const deprecated = of.kind === 'scalar' ? of.deprecated : undefined
  return {
    ...toFilterField(of.name, filterName, { kind: 'field', to: filterName }, of.description),
    ...(deprecated !== undefined && { deprecated }),
  }
}

function fieldFilterNameOf(of: Field): string {
  if (of.kind === 'scalar')
    return of.collection ? valueCollectionFilterNameOf(of.type) : valueFilterNameOf(of.type)
  return of.collection
    ? collectionFilterInputNameOf(getEntity(of.target))
    : filterInputNameOf(getEntity(of.target))
}

/** Returns the fields that every collection filter has. */
function collectionFieldsOf(item: string): readonly FilterField[] {
  const count = valueFilterNameOf('Int64')
  return [
    toFilterField(
      'any',
      item,
      { kind: 'any', to: item },
      'True for at least one item. An empty object matches every item.',
    ),
    toFilterField(
      'all',
      item,
      { kind: 'all', to: item },
      'True for every item, also if the collection is empty.',
    ),
    toFilterField(
      'isEmpty',
      'Boolean',
      { kind: 'isEmpty' },
      'True: the collection has no items. False: it has some.',
    ),
    toFilterField('count', count, { kind: 'count', to: count }, 'The number of items.'),
  ]
}

function toRecordCollectionFilterInput(of: Entity): FilterInput {
  const [filter, to] = [filterInputNameOf(of), valueFilterNameOf('Int64')]
  return toFilterInput(
    collectionFilterInputNameOf(of),
    `Conditions on related ${of.typeName} records. All of them must hold.`,
    [
      ...collectionFieldsOf(filter),
      toFilterField(
        'countOf',
        `${of.typeName}CountStep`,
        { kind: 'countOf', filter, to },
        'The number of records that match the filter.',
      ),
    ],
  )
}

const toValueCollectionFilterInput = (type: ValueType): FilterInput =>
  toFilterInput(valueCollectionFilterNameOf(type), `Conditions on a collection of ${SCALAR_OF[type]}. All of them must hold.`, [
    ...collectionFieldsOf(valueFilterNameOf(type)),
    toFilterField('has', SCALAR_OF[type], { kind: 'predicate', fn: 'has', argument: toFunctionArgument('has', type, 0, false) }, 'Values of the lookup, separated by commas. The collection must contain all of them.'),
    ...functionFieldsOf(`Collection(${type})`, valueCollectionFilterNameOf(type)),
  ]) // biome-ignore format: one row a field

const toValueFilterInput = (type: ValueType): FilterInput =>
  toFilterInput(
    valueFilterNameOf(type),
    `Conditions on a value of type ${SCALAR_OF[type]}. All of them must hold.`,
    [
      ...(type === 'GeographyPoint'
        ? [
            toFilterField(
              'isNull',
              'Boolean',
              { kind: 'isNull' },
              'True: the position is null. False: it is not.',
            ),
          ]
        : []),
      ...functionFieldsOf(type, valueFilterNameOf(type)),
      ...castFieldsOf(type),
    ],
  )

/**
 * Returns one field for each function whose first parameter has the type. Overloads with different parameters
 * or results have separate fields.
 */
function functionFieldsOf(type: ExprType, owner: string): readonly FilterField[] {
  return (Object.keys(FUNCTIONS) as FunctionName[]) // the keys are function names
    .filter(fn => !LOGICAL_OPERATORS.has(fn))
    .flatMap(fn => {
      const groups = groupOverloads(FUNCTIONS[fn].filter(s => s.args[0] === type))
      return groups.map(overloads => toFunctionField(fn, overloads, owner, groups.length > 1))
    })
}

/**
 * Groups overloads that differ only in the number of arguments, such as `substring` with and without a
 * length.
 */
function groupOverloads(overloads: readonly Signature[]): readonly (readonly Signature[])[] {
  const groups = new Map<string, readonly Signature[]>()
  for (const s of overloads) {
    const groupKey = `${s.args[1]} ${s.returns}`
    groups.set(groupKey, [...(groups.get(groupKey) ?? []), s])
  }
  return [...groups.values()]
}

function toFunctionField(
  fn: FunctionName,
  overloads: readonly Signature[],
  owner: string,
  isOverloaded: boolean,
): FilterField {
  const counts = overloads.map(s => s.args.length)
  const longest = overloads.find(s => s.args.length === Math.max(...counts))
  const args = (longest?.args ?? [])
    .slice(1)
    .map((type, i) => toFunctionArgument(fn, type, i, i + 1 >= Math.min(...counts)))
  const [first] = args
  const name = `${fn.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase())}${isOverloaded && first ? SCALAR_OF[first.type] : ''}`
  const returns = longest?.returns ?? 'Boolean'
  if (returns === 'Boolean' && first && args.length === 1)
    return toFilterField(
      name,
      argumentTypeOf(first),
      { kind: 'predicate', fn, argument: first },
      describeFunction(fn),
    )
  const to = valueFilterNameOf(returns)
  const type = args.length === 0 ? to : `${owner.replace(/Filter$/, '')}${upperFirst(name)}Step`
  return toFilterField(name, type, { kind: 'function', fn, arguments: args, to }, describeFunction(fn))
}

function toFunctionArgument(fn: string, type: ExprType, index: number, optional: boolean): FunctionArgument {
  const item = /^Collection\((\w+)\)$/.exec(type)?.[1]
  return {
    name: ARGUMENT_NAMES[fn]?.[index] ?? 'value',
    type: (item ?? type) as ValueType, // the type in the brackets, by construction of ExprType
    list: item !== undefined,
    optional,
  }
}

/** Returns the type of an argument in the schema. Items of a list can be null. */
export const argumentTypeOf = ({ type, list }: FunctionArgument): string =>
  list ? `[${SCALAR_OF[type]}]` : SCALAR_OF[type]

/** Returns the cast fields, named `as` and the scalar. The result is null if the value does not fit. */
function castFieldsOf(type: ValueType): readonly FilterField[] {
  return FILTERABLE_TYPES.filter(other => other !== type && CASTS[other]?.includes(type)).map(other =>
    toFilterField(
      `as${SCALAR_OF[other]}`,
      valueFilterNameOf(other),
      { kind: 'cast', type: other, to: valueFilterNameOf(other) },
      `Conditions on the value as ${SCALAR_OF[other]}, null if it cannot be converted.`,
    ),
  )
}

/**
 * Returns the filter inputs of entities by name, derived from the model and from FUNCTIONS. The schema prints
 * the inputs, and the reader of filters follows them.
 */
export function filterInputsOf(entities: readonly Entity[]): ReadonlyMap<string, FilterInput> {
  const listTypes = new Set(entities.flatMap(e => e.scalars.filter(s => s.collection).map(s => s.type)))
  const listTargets = new Set(
    entities.flatMap(e => e.navigations.filter(n => n.collection).map(n => getEntity(n.target))),
  )
  return new Map(
    [
      ...entities.map(toRecordFilterInput),
      ...[...listTargets].map(toRecordCollectionFilterInput),
      ...FILTERABLE_TYPES.map(toValueFilterInput),
      ...[...listTypes].map(toValueCollectionFilterInput),
    ].map(f => [f.name, f]),
  )
}

/** Returns true for a filter input: it has `and`, `or` and `not`, and no other input has them. */
export function isFilterInput(type: GraphQLInputObjectType): boolean {
  const fields = type.getFields()
  return [...LOGICAL_OPERATORS].every(name => name in fields)
}
