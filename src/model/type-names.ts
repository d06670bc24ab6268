import { ADMIN_MODEL, type Entity, type EntityModel, LISTING_MODEL, modelOf, NAMESPACE } from './model.js'

/** The names of the entity types of each model. */
const MODEL_TYPES: ReadonlyMap<EntityModel, ReadonlySet<string>> = new Map(
  [LISTING_MODEL, ADMIN_MODEL].map(model => [
    model,
    new Set([...model.entities.values()].map(e => `${NAMESPACE}.${e.typeName}`)),
  ]),
)

const isModelType = (name: string, of: Entity): boolean => MODEL_TYPES.get(modelOf(of))?.has(name) ?? false

const SHAPES = [
  '',
  'Point',
  'LineString',
  'Polygon',
  'MultiPoint',
  'MultiLineString',
  'MultiPolygon',
  'Collection',
]
/**
 * Types of the standard, including abstract types (CSDL 4.01, 4.4 and 4.5). The language has values of only
 * some of them.
 */
// biome-ignore format: table
const EDM_TYPES: ReadonlySet<string> = new Set([
  'Binary', 'Boolean', 'Byte', 'Date', 'DateTimeOffset', 'Decimal', 'Double', 'Duration', 'Guid', 'Int16', 'Int32', 'Int64', 'SByte', 'Single', 'Stream',
  'String', 'TimeOfDay', ...SHAPES.map(shape => `Geography${shape}`), ...SHAPES.map(shape => `Geometry${shape}`),
  'PrimitiveType', 'ComplexType', 'EntityType', 'Untyped',
].map(name => `Edm.${name}`))

/** Returns true if the standard or the model of the entity has a type of this name. */
export const isTypeName = (name: string, of: Entity): boolean => EDM_TYPES.has(name) || isModelType(name, of)

/**
 * Returns true if a path from the entity contains a type cast segment (OData 4.01 Part 2, 4.11). `.*` matches every type of
 * the namespace.
 */
export const hasTypeCastSegment = (path: string, of: Entity): boolean =>
  path === `${NAMESPACE}.*` || path.split('/').some(name => isModelType(name, of))

/** Returns true if the name is that of the entity's type. */
export const isEntityTypeName = (name: string, typeName: string): boolean =>
  name === `${NAMESPACE}.${typeName}`
