import { fail } from '../../errors/problem.js'
import { parseFilter } from '../../language/parser.js'
import type { ParseContext } from '../../language/parser-budget.js'
import { ENTITIES, type Entity, type Navigation, type Scalar } from '../../model/model.js'
import type { Ast } from '../../query/ast.js'
import { decodePart } from './encoding.js'
import { isKeyOf, type Key, readKey } from './key.js'
import type { Place } from './options.js'

/**
 * One step from a record to what a navigation of it leads to. Only a record behind a single-valued navigation
 * has no key here.
 */
export interface Hop {
  readonly entity: Entity
  readonly key?: Key
  readonly navigation: Navigation
}

/**
 * A place in the model: `entity` is what stands there, `hops` the way to it from an entity set, empty in the
 * set itself.
 */
interface Located {
  readonly hops: readonly Hop[]
  readonly entity: Entity
}

export interface CollectionPath extends Located {
  readonly kind: 'collection'
  readonly form: 'records' | 'count' | 'references' | 'query'
  /** Conditions of `/$filter(...)` segments: all of them hold. */
  readonly filters: readonly Ast[]
}

export interface RecordPath extends Located {
  readonly kind: 'record'
  /** Absent behind a single-valued navigation: the last hop says which record it is. */
  readonly key?: Key
  readonly form: 'record' | 'reference' | 'query'
}

export interface ValuePath extends Located {
  readonly kind: 'value'
  readonly key?: Key
  readonly scalar: Scalar
  /** `raw` is `/$value`; `count` is only of collections. */
  readonly form: 'value' | 'raw' | 'count'
}

/**
 * What a path below the service root names. `entityId` is `$entity`: its record stands in the option `$id`.
 */
export type ResourcePath =
  | { readonly kind: 'service' | 'metadata' | 'batch' | 'entityId' }
  | CollectionPath
  | RecordPath
  | ValuePath

const ROOTS: ReadonlyMap<string, ResourcePath> = new Map<string, ResourcePath>([
  ['$metadata', { kind: 'metadata' }],
  ['$batch', { kind: 'batch' }],
  ['$entity', { kind: 'entityId' }],
])
/** Entity sets, by their names and by their other paths. */
const SETS: ReadonlyMap<string, Entity> = new Map(
  [...ENTITIES.values()].flatMap(e => [e.name, e.alias ?? e.name].map(name => [name, e] as const)),
)

const COLLECTION_ENDS: ReadonlyMap<string, CollectionPath['form']> = new Map([
  ['$count', 'count'],
  ['$ref', 'references'],
  ['$query', 'query'],
])
const RECORD_ENDS: ReadonlyMap<string, RecordPath['form']> = new Map([
  ['$ref', 'reference'],
  ['$query', 'query'],
])

/** Segments that the standard knows and this service does not offer, anywhere in a path. */
const NOT_BUILT = /^(?:\$all|\$crossjoin\([^(),]+(?:,[^(),]+)*\)|\$each|org\.reso\.metadata\.\w+)$/

/**
 * Reads a path below the service root, still percent-encoded, without the query string (Part 2, 4). Names are
 * case-sensitive; slashes at the end and doubled ones do not count. Keys stand in brackets, or as a segment
 * of their own where no navigation has that name. The context gives the aliases of the query string. Fails
 * with `NotFound`, `BadKey`, `BadRequest` (no raw value), the problems of an expression in `/$filter(...)`,
 * or `NotImplemented`.
 */
export function readPath(rawPath: string, context: ParseContext): ResourcePath {
  const [first, ...rest] = readSegments(rawPath)
  if (!first) return { kind: 'service' }
  const start = ROOTS.get(first.text) ?? enter(first, context)
  return rest.reduce<ResourcePath>((path, segment) => follow(path, segment, context), start)
}

/** What the path is for `readQuery`: which options it can take. */
export function placeOf(path: ResourcePath): Place {
  if (path.kind === 'collection')
    return path.form === 'count' || path.form === 'references' ? path.form : 'collection'
  if (path.kind === 'record') return path.form === 'reference' ? 'reference' : 'record'
  return path.kind
}

function enter(segment: Segment, context: ParseContext): ResourcePath {
  const entity = SETS.get(segment.name)
  return entity ? arrive({ hops: [], entity }, segment, context) : missing(segment)
}

/** A collection, or the one record of it whose key stands in the brackets. */
function arrive(place: Located, { brackets }: Segment, context: ParseContext): CollectionPath | RecordPath {
  if (brackets === undefined) return { kind: 'collection', form: 'records', ...place, filters: [] }
  return { kind: 'record', form: 'record', ...place, key: readKey(place.entity, brackets, context) }
}

function follow(path: ResourcePath, segment: Segment, context: ParseContext): ResourcePath {
  const next =
    path.kind === 'collection' && path.form === 'records'
      ? inCollection(path, segment, context)
      : path.kind === 'record' && path.form === 'record'
        ? inRecord(path, segment, context)
        : path.kind === 'value' && path.form === 'value'
          ? inValue(path, segment)
          : undefined
  return next ?? missing(segment)
}

function inCollection(
  path: CollectionPath,
  segment: Segment,
  context: ParseContext,
): ResourcePath | undefined {
  const { hops, entity, filters } = path
  const { text, name, brackets } = segment
  const form = COLLECTION_ENDS.get(text)
  if (form) return { ...path, form }
  if (name === '$filter' && brackets !== undefined)
    return { ...path, filters: [...filters, parseFilter(brackets, context)] }
  const isKey =
    !text.startsWith('$') &&
    !NOT_BUILT.test(text) &&
    entity.fields.get(text)?.kind !== 'navigation' &&
    isKeyOf(entity, text)
  return isKey && filters.length === 0
    ? { kind: 'record', form: 'record', hops, entity, key: text }
    : undefined
}

function inRecord(
  { hops, entity, key, ...path }: RecordPath,
  segment: Segment,
  context: ParseContext,
): ResourcePath | undefined {
  const form = RECORD_ENDS.get(segment.text)
  if (form) return { ...path, hops, entity, ...(key !== undefined && { key }), form }
  if (segment.text === '$value')
    return fail({ kind: 'BadRequest', reason: `a record of ${entity.name} has no raw value` })
  const field = entity.fields.get(segment.name)
  if (field?.kind === 'navigation')
    return navigate({ entity, ...(key !== undefined && { key }), navigation: field }, hops, segment, context)
  if (!field || segment.brackets !== undefined) return undefined
  return { kind: 'value', form: 'value', hops, entity, ...(key !== undefined && { key }), scalar: field }
}

function navigate(
  hop: Hop,
  before: readonly Hop[],
  segment: Segment,
  context: ParseContext,
): ResourcePath | undefined {
  const place: Located = {
    hops: [...before, hop],
    entity: SETS.get(hop.navigation.target) ?? missing(segment),
  }
  if (hop.navigation.collection) return arrive(place, segment, context)
  return segment.brackets === undefined ? { kind: 'record', form: 'record', ...place } : undefined
}

function inValue(path: ValuePath, { text }: Segment): ResourcePath | undefined {
  const { name, collection } = path.scalar
  if (text === '$value')
    return collection
      ? fail({ kind: 'BadRequest', reason: `${name} is a collection, which has no raw value` })
      : { ...path, form: 'raw' }
  if (!collection) return undefined
  if (/^-?\d+$/.test(text)) return fail({ kind: 'NotImplemented', feature: 'single items of a collection' })
  return text === '$count' ? { ...path, form: 'count' } : undefined
}

function missing({ text }: Segment): never {
  return NOT_BUILT.test(text)
    ? fail({ kind: 'NotImplemented', feature: text })
    : fail({ kind: 'NotFound', what: `resource '${text}'` })
}

/** One segment of a path, decoded: `Property('P01')` has the name `Property` and the brackets `'P01'`. */
export interface Segment {
  readonly text: string
  readonly name: string
  readonly brackets?: string
}

/**
 * Cuts a raw path at its slashes, then decodes each part, so that `%2F` stays inside its segment (Part 2, 2).
 * Empty segments do not count.
 */
export function readSegments(rawPath: string): readonly Segment[] {
  const texts: string[] = []
  for (const part of rawPath.split('/')) {
    const text = decodePart(part)
    const last = texts.at(-1)
    if (last !== undefined && isOpenFilter(last)) texts[texts.length - 1] = `${last}/${text}`
    else if (text !== '') texts.push(text)
  }
  return texts.map(toSegment)
}

/**
 * Expressions in a path may hold slashes of their own: `$filter(Rooms/any(...))` goes on up to its last
 * bracket.
 */
function isOpenFilter(text: string): boolean {
  if (!text.startsWith('$filter(')) return false
  const bare = text.replace(/'[^']*(?:'|$)/g, '')
  return bare.split('(').length > bare.split(')').length
}

function toSegment(text: string): Segment {
  const open = text.indexOf('(')
  if (open <= 0) return { text, name: text }
  const name = text.slice(0, open)
  // What is not closed keeps its opening bracket, and so is neither key nor expression.
  return { text, name, brackets: text.endsWith(')') ? text.slice(open + 1, -1) : text.slice(open) }
}
