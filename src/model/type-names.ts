import { ENTITIES, NAMESPACE } from './model.js'

const MODEL_TYPES: ReadonlySet<string> = new Set(
  [...ENTITIES.values()].map(e => `${NAMESPACE}.${e.typeName}`),
)

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

/** Returns true if a type of this name exists. */
export const isTypeName = (name: string): boolean => EDM_TYPES.has(name) || MODEL_TYPES.has(name)

/**
 * Returns true if a path contains a type cast segment (OData 4.01 Part 2, 4.11). `.*` matches every type of
 * the namespace.
 */
export const hasTypeCastSegment = (path: string): boolean =>
  path === `${NAMESPACE}.*` || path.split('/').some(name => MODEL_TYPES.has(name))

/** Returns true if the name is that of the entity's type. */
export const isEntityTypeName = (name: string, typeName: string): boolean =>
  name === `${NAMESPACE}.${typeName}`
