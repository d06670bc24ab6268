import { FEATURES } from '../../errors/features.js'
import { RESOURCES } from '../../errors/phrases.js'
import { fail } from '../../errors/problem.js'
import { REASONS } from '../../errors/reasons.js'
import { suggestName } from '../../errors/suggest.js'
import type { ParseContext } from '../../language/parse-limits.js'
import { parseFilter } from '../../language/parser.js'
import {
  type Entity,
  type EntityModel,
  getEntity,
  LISTING_MODEL,
  type Navigation,
  type Scalar,
} from '../../model/model.js'
import type { Ast } from '../../query/ast.js'
import { memoize } from '../../query/memoize.js'
import { type EntityKey, isKeyOf, readKey } from './key.js'
import { type PathSegment, readPathSegments } from './path-segments.js'
import type { ResourceKind } from './query-options.js'

/** One navigation of a path. Only the record at the end of a single-valued navigation has no key here. */
export interface NavigationSegment {
  readonly entity: Entity
  readonly key?: EntityKey
  readonly navigation: Navigation
}

/**
 * A location in the model: its entity, and the navigations to it from an entity set. The path is empty in the
 * set itself.
 */
interface ResourceLocation {
  readonly navigationPath: readonly NavigationSegment[]
  readonly entity: Entity
}

export interface CollectionPath extends ResourceLocation {
  readonly kind: 'collection'
  readonly form: 'records' | 'count' | 'references' | 'query'
  /** Conditions of `/$filter(...)` segments. All of them apply. */
  readonly filters: readonly Ast[]
}

export interface RecordPath extends ResourceLocation {
  readonly kind: 'record'
  /** Undefined after a single-valued navigation, which determines the record. */
  readonly key?: EntityKey
  readonly form: 'record' | 'reference' | 'query'
}

export interface ValuePath extends ResourceLocation {
  readonly kind: 'value'
  readonly key?: EntityKey
  readonly scalar: Scalar
  /** `raw` is `/$value`. `count` is only for collections. */
  readonly form: 'value' | 'raw' | 'count'
}

/** A call of a function. Its parameters are not read yet, since their aliases may follow in a body. */
export interface FunctionPath {
  readonly kind: 'function'
  readonly form: 'call' | 'query'
  /** The text in the brackets. */
  readonly parameters: string
}

/**
 * The resource of a path below the service root. `entityId` is `$entity`, whose record is in the option
 * `$id`.
 */
export type ResourcePath =
  | { readonly kind: 'service' | 'metadata' | 'openapi' | 'batch' | 'entityId' }
  | CollectionPath
  | RecordPath
  | ValuePath
  | FunctionPath

/** The function that `FunctionPath` calls (handlers/read-digest.ts). */
export const DIGEST_FUNCTION_NAME = 'Digest'

const ROOT_RESOURCES: ReadonlyMap<string, ResourcePath> = new Map<string, ResourcePath>([
  ['$metadata', { kind: 'metadata' }],
  ['openapi.json', { kind: 'openapi' }],
  ['$batch', { kind: 'batch' }],
  ['$entity', { kind: 'entityId' }],
])
/** Returns the entity sets of a model by their names and alternative paths. */
const entitySetsOf = memoize(function entitySetsOf({ entities }: EntityModel): ReadonlyMap<string, Entity> {
  return new Map(
    [...entities.values()].flatMap(e => [e.name, e.alias ?? e.name].map(name => [name, e] as const)),
  )
})

const COLLECTION_FORMS_BY_SEGMENT: ReadonlyMap<string, CollectionPath['form']> = new Map([
  ['$count', 'count'],
  ['$ref', 'references'],
  ['$query', 'query'],
])
const RECORD_FORMS_BY_SEGMENT: ReadonlyMap<string, RecordPath['form']> = new Map([
  ['$ref', 'reference'],
  ['$query', 'query'],
])

/** Segments of the standard that the service does not implement, anywhere in a path. */
const UNSUPPORTED_SEGMENT = /^(?:\$all|\$crossjoin\([^(),]+(?:,[^(),]+)*\)|\$each|org\.reso\.metadata\.\w+)$/

/**
 * Resolves a path below the service root, percent-encoded and without the query string (Part 2, 4). Names are
 * case-sensitive, and those of `model`. Trailing and repeated slashes are ignored. A key is in brackets, or is a segment if no
 * navigation has that name. The context contains the aliases of the query string. Fails with `NotFound`,
 * `BadKey`, `BadRequest` (no raw value), the problems of an expression in `/$filter(...)`, or
 * `NotImplemented`.
 */
export function readResourcePath(
  rawPath: string,
  context: ParseContext,
  model: EntityModel = LISTING_MODEL,
): ResourcePath {
  const [first, ...rest] = readPathSegments(rawPath, context.limits)
  if (!first) return { kind: 'service' }
  const start = ROOT_RESOURCES.get(first.text) ?? resolveFirstSegment(first, context, model)
  return rest.reduce<ResourcePath>((path, segment) => resolveNextSegment(path, segment, context), start)
}

/** Returns the kind of the resource for `parseQuery`, which determines its options. */
export function resourceKindOf(path: ResourcePath): ResourceKind {
  if (path.kind === 'collection')
    return path.form === 'count' || path.form === 'references' ? path.form : 'collection'
  if (path.kind === 'record') return path.form === 'reference' ? 'reference' : 'record'
  return path.kind
}

function resolveFirstSegment(segment: PathSegment, context: ParseContext, model: EntityModel): ResourcePath {
  const entitySets = entitySetsOf(model)
  const entity = entitySets.get(segment.name)
  const functionNames = model === LISTING_MODEL ? [DIGEST_FUNCTION_NAME] : []
  if (functionNames.includes(segment.name))
    return { kind: 'function', form: 'call', parameters: segment.parenthesized ?? '' }
  return entity
    ? resolveKeyPredicate({ navigationPath: [], entity }, segment, context)
    : failUnknownSegment(segment, [...entitySets.keys(), ...ROOT_RESOURCES.keys(), ...functionNames])
}

/** Returns a collection, or its record with the key in brackets. */
function resolveKeyPredicate(
  location: ResourceLocation,
  { parenthesized }: PathSegment,
  context: ParseContext,
): CollectionPath | RecordPath {
  if (parenthesized === undefined) return { kind: 'collection', form: 'records', ...location, filters: [] }
  return {
    kind: 'record',
    form: 'record',
    ...location,
    key: readKey(location.entity, parenthesized, context),
  }
}

function resolveNextSegment(path: ResourcePath, segment: PathSegment, context: ParseContext): ResourcePath {
  const next =
    path.kind === 'collection' && path.form === 'records'
      ? resolveCollectionSegment(path, segment, context)
      : path.kind === 'record' && path.form === 'record'
        ? resolveRecordSegment(path, segment, context)
        : resolveLeafSegment(path, segment)
  return next ?? failUnknownSegment(segment, path.kind === 'record' ? path.entity.fields.keys() : [])
}

/** Resolves a segment after a value or a function. */
function resolveLeafSegment(path: ResourcePath, segment: PathSegment): ResourcePath | undefined {
  if (path.kind === 'function' && path.form === 'call' && segment.text === '$query')
    return { ...path, form: 'query' }
  return path.kind === 'value' && path.form === 'value' ? resolveValueSegment(path, segment) : undefined
}

function resolveCollectionSegment(
  path: CollectionPath,
  segment: PathSegment,
  context: ParseContext,
): ResourcePath | undefined {
  const { navigationPath, entity, filters } = path
  const { text, name, parenthesized } = segment
  const form = COLLECTION_FORMS_BY_SEGMENT.get(text)
  if (form) return { ...path, form }
  if (name === '$filter' && parenthesized !== undefined)
    return { ...path, filters: [...filters, parseFilter(parenthesized, context)] }
  const isKey =
    !text.startsWith('$') &&
    !UNSUPPORTED_SEGMENT.test(text) &&
    entity.fields.get(text)?.kind !== 'navigation' &&
    isKeyOf(entity, text)
  return isKey && filters.length === 0
    ? { kind: 'record', form: 'record', navigationPath, entity, key: text }
    : undefined
}

function resolveRecordSegment(
  { navigationPath, entity, key, ...path }: RecordPath,
  segment: PathSegment,
  context: ParseContext,
): ResourcePath | undefined {
  const form = RECORD_FORMS_BY_SEGMENT.get(segment.text)
  if (form) return { ...path, navigationPath, entity, ...(key !== undefined && { key }), form }
  if (segment.text === '$value')
    return fail({ kind: 'BadRequest', reason: REASONS.recordHasNoRawValue(entity.name) })
  const field = entity.fields.get(segment.name)
  if (field?.kind === 'navigation')
    return resolveNavigationSegment(
      { entity, ...(key !== undefined && { key }), navigation: field },
      navigationPath,
      segment,
      context,
    )
  if (!field || segment.parenthesized !== undefined) return undefined
  return {
    kind: 'value',
    form: 'value',
    navigationPath,
    entity,
    ...(key !== undefined && { key }),
    scalar: field,
  }
}

function resolveNavigationSegment(
  navigationSegment: NavigationSegment,
  before: readonly NavigationSegment[],
  segment: PathSegment,
  context: ParseContext,
): ResourcePath | undefined {
  const location: ResourceLocation = {
    navigationPath: [...before, navigationSegment],
    entity: getEntity(navigationSegment.navigation.target),
  }
  if (navigationSegment.navigation.collection) return resolveKeyPredicate(location, segment, context)
  return segment.parenthesized === undefined ? { kind: 'record', form: 'record', ...location } : undefined
}

function resolveValueSegment(path: ValuePath, { text }: PathSegment): ResourcePath | undefined {
  const { name, collection } = path.scalar
  if (text === '$value')
    return collection
      ? fail({ kind: 'BadRequest', reason: REASONS.collectionHasNoRawValue(name) })
      : { ...path, form: 'raw' }
  if (!collection) return undefined
  if (/^-?\d+$/.test(text)) return fail({ kind: 'NotImplemented', feature: FEATURES.collectionItem })
  return text === '$count' ? { ...path, form: 'count' } : undefined
}

function failUnknownSegment({ text, name }: PathSegment, knownNames: Iterable<string>): never {
  if (UNSUPPORTED_SEGMENT.test(text)) return fail({ kind: 'NotImplemented', feature: FEATURES.segment(text) })
  const suggestion = suggestName(name, knownNames)
  return fail({
    kind: 'NotFound',
    what: RESOURCES.resource(text),
    ...(suggestion !== undefined && { suggestion }),
  })
}
