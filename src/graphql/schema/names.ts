import type { Entity, Scalar } from '../../model/model.js'
import type { ValueType } from '../../query/functions.js'
import { hasEvents } from '../../service/tracked-sources.js'

/** The GraphQL scalar for each type of the language. */
// biome-ignore format: table
export const SCALAR_OF: Readonly<Record<ValueType, string>> = {
  Boolean:          'Boolean',
  Int32:            'Int',
  Int64:            'Long',
  Decimal:          'Decimal',
  Double:           'Float',
  String:           'String',
  DateTimeOffset:   'DateTime',
  Date:             'Date',
  TimeOfDay:        'TimeOfDay',
  Duration:         'Duration',
  GeographyPoint:   'GeoPoint',
  GeographyPolygon: 'GeoPolygon',
}

/** The fields of Query for an entity: a record by its key, a connection, and the changes if the log has them. */
export interface RootFieldNames {
  readonly one: string
  readonly many: string
  readonly changes?: string
}

/** Entities whose singular name differs from the entity name. */
const SINGULAR_NAMES: Readonly<Record<string, string>> = { Media: 'MediaItem', Rooms: 'Room' }

const lowerFirst = (name: string) => `${name.charAt(0).toLowerCase()}${name.slice(1)}`
export const upperFirst = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

/** Returns the names of the root fields, such as `property`, `properties` and `propertyChanges`. */
export function rootFieldNamesOf(entity: Entity): RootFieldNames {
  const one = lowerFirst(SINGULAR_NAMES[entity.name] ?? entity.name)
  return {
    one,
    many: one.endsWith('y') ? `${one.slice(0, -1)}ies` : `${one}s`,
    ...(hasEvents(entity) && { changes: `${one}Changes` }),
  }
}

/** The entity and form of a field of Query. */
export interface RootField {
  readonly entity: Entity
  readonly form: keyof RootFieldNames
}

/** Returns the fields of Query for entities, by name. */
export const rootFieldsOf = (entities: readonly Entity[]): ReadonlyMap<string, RootField> =>
  new Map(
    entities.flatMap((entity): readonly (readonly [string, RootField])[] => {
      const { one, many, changes } = rootFieldNamesOf(entity)
      return [
        [one, { entity, form: 'one' }],
        [many, { entity, form: 'many' }],
        ...(changes === undefined ? [] : [[changes, { entity, form: 'changes' }] as const]),
      ]
    }),
  )

/** Names of the types derived from an entity. */
export const connectionTypeNameOf = ({ typeName }: Entity) => `${typeName}Connection`
export const deltaTypeNameOf = ({ typeName }: Entity) => `${typeName}Delta`
export const edgeTypeNameOf = ({ typeName }: Entity) => `${typeName}Edge`
export const orderInputNameOf = ({ typeName }: Entity) => `${typeName}Order`
export const filterInputNameOf = ({ typeName }: Entity) => `${typeName}Filter`
export const collectionFilterInputNameOf = ({ typeName }: Entity) => `${typeName}CollectionFilter`
export const recordInputNameOf = ({ typeName }: Entity) => `${typeName}Input`

/** Returns true for an entity with a version column: its records have an `etag`. */
export const hasEtag = ({ hidden }: Entity) => hidden.has('RecordVersion')

/** Returns true for a field in the schema. Fields that no client can read are not in it. */
export const isExposed = ({ readableBy }: Scalar) => readableBy !== 'nobody'
