import { ENTITIES, type Entity, entity, type Field } from '../../model/model.js'
import {
  CASTS,
  FUNCTIONS,
  type FunctionName,
  type Signature,
  type Type,
  type ValueType,
} from '../../query/functions.js'
import { collectionFilterOf, filterOf, isReadable, SCALAR_OF, upperFirst } from './names.js'

/** What a function takes behind the value that it is asked of. */
export interface Argument {
  readonly name: string
  readonly type: ValueType
  readonly list: boolean
  readonly optional: boolean
}

/** What a field of a filter input means. `to` is the input that goes on from there. */
export type Meaning =
  /** Both, either, or not what the same input says. */
  | { readonly kind: 'every' | 'some' | 'opposite'; readonly to: string }
  /** A field or navigation of a record, by its name. */
  | { readonly kind: 'member'; readonly to: string }
  | { readonly kind: 'any' | 'all'; readonly to: string }
  | { readonly kind: 'isEmpty' | 'isNull' }
  | { readonly kind: 'count'; readonly to: string }
  /** How many records there are of which a filter is true. */
  | { readonly kind: 'countOf'; readonly filter: string; readonly to: string }
  /** A function that is true or false of the value. */
  | { readonly kind: 'test'; readonly fn: string; readonly argument: Argument }
  /** A function that makes another value. */
  | {
      readonly kind: 'step'
      readonly fn: FunctionName
      readonly arguments: readonly Argument[]
      readonly to: string
    }
  | { readonly kind: 'cast'; readonly type: ValueType; readonly to: string }

/** A field of a filter input. */
export interface FilterField {
  readonly name: string
  /** As the schema has it: `[String]`. */
  readonly type: string
  readonly description?: string
  readonly deprecated?: string
  readonly means: Meaning
}

/** A filter input of the schema. */
export interface FilterInput {
  readonly name: string
  readonly description: string
  readonly fields: ReadonlyMap<string, FilterField>
}

/** These are said by the inputs themselves: `and`, `or` and `not` of each. */
const COMBINING: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** What arguments are called; one that is not named here is the `value`. */
const ARGUMENT_NAMES: Readonly<Record<string, readonly string[]>> = {
  substring: ['start', 'length'],
  case: ['then'],
  'geo.distance': ['to'],
}

/** Types that a value can have when something is asked of it. A polygon is only given. */
const ASKED = (Object.keys(SCALAR_OF) as ValueType[]).filter(type => type !== 'GeographyPolygon') // keys of a record of them

const field = (name: string, type: string, means: Meaning, description?: string): FilterField => ({
  name,
  type,
  means,
  ...(description !== undefined && { description }),
})
const filterOfValue = (type: ValueType) => `${SCALAR_OF[type]}Filter`
const filterOfValues = (type: ValueType) => `${SCALAR_OF[type]}CollectionFilter`

function combining(to: string): readonly FilterField[] {
  return [
    field('and', `[${to}!]`, { kind: 'every', to }, 'True of an empty list.'),
    field('or', `[${to}!]`, { kind: 'some', to }, 'False of an empty list.'),
    field('not', to, { kind: 'opposite', to }),
  ]
}

function makeInput(name: string, description: string, fields: readonly FilterField[]): FilterInput {
  return { name, description, fields: new Map([...combining(name), ...fields].map(f => [f.name, f])) }
}

/** What can be asked of a record. */
const toRecordFilter = (of: Entity): FilterInput =>
  makeInput(filterOf(of), `Conditions on a record of ${of.typeName}: all that are given must hold.`, [
    ...of.scalars.filter(isReadable).map(toMember),
    ...of.navigations.map(toMember),
  ])

function toMember(of: Field): FilterField {
  const to = targetOf(of)
  const deprecated = of.kind === 'scalar' ? of.deprecated : undefined
  return { ...field(of.name, to, { kind: 'member', to }), ...(deprecated !== undefined && { deprecated }) }
}

function targetOf(of: Field): string {
  if (of.kind === 'scalar') return of.collection ? filterOfValues(of.type) : filterOfValue(of.type)
  return of.collection ? collectionFilterOf(entity(of.target)) : filterOf(entity(of.target))
}

/** What can be asked of a collection, whatever it holds. */
function ofCollection(item: string): readonly FilterField[] {
  const count = filterOfValue('Int64')
  return [
    field('any', item, { kind: 'any', to: item }, 'True of one at least. An empty object: there is one.'),
    field('all', item, { kind: 'all', to: item }, 'True of each; of an empty collection too.'),
    field('isEmpty', 'Boolean', { kind: 'isEmpty' }),
    field('count', count, { kind: 'count', to: count }, 'How many there are.'),
  ]
}

function toRecordsFilter(of: Entity): FilterInput {
  const [filter, to] = [filterOf(of), filterOfValue('Int64')]
  return makeInput(
    collectionFilterOf(of),
    `Conditions on related records of ${of.typeName}: all that are given must hold.`,
    [
      ...ofCollection(filter),
      field(
        'countOf',
        `${of.typeName}CountStep`,
        { kind: 'countOf', filter, to },
        'How many there are of which the filter is true.',
      ),
    ],
  )
}

const toValuesFilter = (type: ValueType): FilterInput =>
  makeInput(filterOfValues(type), `Conditions on a collection of ${SCALAR_OF[type]}: all that are given must hold.`, [
    ...ofCollection(filterOfValue(type)),
    field('has', SCALAR_OF[type], { kind: 'test', fn: 'has', argument: argument('has', type, 0, false) }, 'Values of a lookup, with commas between them: all must be there.'),
    ...functionsOf(`Collection(${type})`, filterOfValues(type)),
  ]) // biome-ignore format: one row a field

const toValueFilter = (type: ValueType): FilterInput =>
  makeInput(
    filterOfValue(type),
    `Conditions on a value of type ${SCALAR_OF[type]}: all that are given must hold.`,
    [
      ...(type === 'GeographyPoint' ? [field('isNull', 'Boolean', { kind: 'isNull' })] : []),
      ...functionsOf(type, filterOfValue(type)),
      ...castsOf(type),
    ],
  )

/**
 * One field for each function that takes the type first; for each of its overloads if what they take or make
 * differs.
 */
function functionsOf(type: Type, owner: string): readonly FilterField[] {
  return (Object.keys(FUNCTIONS) as FunctionName[]) // keys of FUNCTIONS
    .filter(fn => !COMBINING.has(fn))
    .flatMap(fn => {
      const groups = groupOverloads(FUNCTIONS[fn].filter(s => s.args[0] === type))
      return groups.map(overloads => toFunction(fn, overloads, owner, groups.length > 1))
    })
}

/** Overloads of which one takes more of the same are one group, `substring` with and without a length. */
function groupOverloads(overloads: readonly Signature[]): readonly (readonly Signature[])[] {
  const groups = new Map<string, readonly Signature[]>()
  for (const s of overloads) {
    const kind = `${s.args[1]} ${s.returns}`
    groups.set(kind, [...(groups.get(kind) ?? []), s])
  }
  return [...groups.values()]
}

function toFunction(
  fn: FunctionName,
  overloads: readonly Signature[],
  owner: string,
  several: boolean,
): FilterField {
  const counts = overloads.map(s => s.args.length)
  const longest = overloads.find(s => s.args.length === Math.max(...counts))
  const args = (longest?.args ?? [])
    .slice(1)
    .map((type, i) => argument(fn, type, i, i + 1 >= Math.min(...counts)))
  const [first] = args
  const name = `${fn.replace(/\.(\w)/, (_, letter: string) => letter.toUpperCase())}${several && first ? SCALAR_OF[first.type] : ''}`
  const returns = longest?.returns ?? 'Boolean'
  if (returns === 'Boolean' && first && args.length === 1)
    return field(name, typeOf(first), { kind: 'test', fn, argument: first })
  const to = filterOfValue(returns)
  const type = args.length === 0 ? to : `${owner.replace(/Filter$/, '')}${upperFirst(name)}Step`
  return field(name, type, { kind: 'step', fn, arguments: args, to })
}

function argument(fn: string, type: Type, index: number, optional: boolean): Argument {
  const item = /^Collection\((\w+)\)$/.exec(type)?.[1]
  return {
    name: ARGUMENT_NAMES[fn]?.[index] ?? 'value',
    type: (item ?? type) as ValueType, // what is in the brackets, by construction of Type
    list: item !== undefined,
    optional,
  }
}

/** The type of an argument in the schema. Null may stand everywhere in a list. */
export const typeOf = ({ type, list }: Argument): string => (list ? `[${SCALAR_OF[type]}]` : SCALAR_OF[type])

/** `asString` and so on: the value as another type, null where it does not fit. */
function castsOf(type: ValueType): readonly FilterField[] {
  return ASKED.filter(other => other !== type && CASTS[other]?.includes(type)).map(other =>
    field(`as${SCALAR_OF[other]}`, filterOfValue(other), {
      kind: 'cast',
      type: other,
      to: filterOfValue(other),
    }),
  )
}

const ALL = [...ENTITIES.values()]
const COLLECTIONS = {
  values: new Set(ALL.flatMap(e => e.scalars.filter(s => s.collection).map(s => s.type))),
  records: new Set(ALL.flatMap(e => e.navigations.filter(n => n.collection).map(n => entity(n.target)))),
}

/**
 * Every filter input, by name: derived from the model and from FUNCTIONS. The schema prints them and the
 * reader of filters follows them, so that neither knows a field that the other does not.
 */
export const FILTERS: ReadonlyMap<string, FilterInput> = new Map(
  [
    ...ALL.map(toRecordFilter),
    ...[...COLLECTIONS.records].map(toRecordsFilter),
    ...ASKED.map(toValueFilter),
    ...[...COLLECTIONS.values].map(toValuesFilter),
  ].map(f => [f.name, f]),
)
